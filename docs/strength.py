"""`python docs/strength.py` writes docs/strength.md, its curves and the model cards out of what stands in checkpoints/.

The figures come from `python benchmarks/evidence.py GAME`; nothing here is typed in by hand but the sentences.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

from alphazero import get_game, load_checkpoint
from alphazero.axes import Axis, Point
from alphazero.charts import Frame, Series, line_chart, style
from alphazero.checkpoint import CHECKPOINTS
from alphazero.export import model_card
from alphazero.game import PROJECT

GAMES = ("gomoku", "chain_reaction", "tictactoe")
PAGE = PROJECT / "docs" / "strength.md"
HEAD = """# How strong the networks are
Made by `python docs/strength.py` of `checkpoints/*/evidence.json`, and that by `python benchmarks/evidence.py GAME`.
Networks and search alone, without solvers, unless it says so. Games are in colour-swapped pairs from sampled openings;
intervals are of 95 %, over pairs. What was tried to get there is in the [training log](training-log.md).
"""


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def record(tally: dict[str, Any]) -> str:
    return f"{tally['wins']}, {tally['draws']}, {tally['losses']}"


def matches(entries: dict[str, Any]) -> list[str]:
    rows = ["| against | won, drawn, lost | moving first | moving second | score | Elo |", "| --- |" + " --- |" * 5]
    for name, entry in entries.items():
        if "by_colour" not in entry:
            continue
        first, second = (record(entry["by_colour"][side]) for side in ("first", "second"))
        rows.append(f"| {name} | {record(entry)} | {first} | {second} | {entry['score']:.1%} | {elo(entry)} |")
    commands = [entry["command"] for entry in entries.values() if "by_colour" in entry]
    return [*rows, "", "```", *commands, "```"] if commands else []


def elo(tally: dict[str, Any]) -> str:
    low, high = tally["elo_low"], tally["elo_high"]
    if tally["elo"] is None:
        return f"at least {low:+.0f}" if low is not None else f"at most {high:+.0f}" if high is not None else "unknown"
    return f"{tally['elo']:+.0f} ({low:+.0f} to {high:+.0f})"


def levels(entries: dict[str, Any]) -> list[str]:
    if "levels" not in entries:
        return []
    entry = entries["levels"]
    met = {frozenset((match["a"], match["b"])): match for match in entry["matches"]}
    rows = [
        "",
        "The levels, each against each; master has 1600 simulations in matches and its solvers, not three seconds:",
        "",
        "| level | Elo | score | won, drawn, lost against the level below |",
        "| --- | --- | --- | --- |",
    ]
    below = None
    for rating in sorted(entry["ratings"], key=lambda rating: rating["elo"]):
        margin = (rating["elo_high"] - rating["elo_low"]) / 2
        level = "master" if rating["name"].startswith("net+") else rating["name"].removeprefix("level:")
        row = f"| {level} | {rating['elo']:+.0f} ± {margin:.0f} | {rating['score']:.1%} |"
        rows.append(f"{row} {won(met[frozenset((below, rating['name']))], rating['name']) if below else ''} |")
        below = rating["name"]
    return [*rows, "", f"`{entry['command']}`"]


def won(match: dict[str, Any], who: str) -> str:
    """What `who` won, drew and lost, whichever side of the match that is."""
    ours, theirs = ("wins", "losses") if match["a"] == who else ("losses", "wins")
    return f"{match[ours]}, {match['draws']}, {match[theirs]}"


def forced_wins(entries: dict[str, Any]) -> list[str]:
    found = {name: entry for name, entry in entries.items() if name.startswith("forced wins")}
    if not found:
        return []
    rows = ["", "Forced wins of 5 to 17 plies that it finds, of the 210 in gomoku/tactics.json:", ""]
    rows += ["| | simulations | found | proven |", "| --- | --- | --- | --- |"]
    for name, entry in found.items():
        who = "level master's solvers" if "solvers" in name else "network and search"
        for key, at in entry.items():
            if key.startswith("at_"):
                rows.append(f"| {who} | {key[3:]} | {at['found']} ({at['share']:.1%}) | {at['proven']} |")
    return rows


def others(entries: dict[str, Any]) -> list[str]:
    said = []
    if "complete tree" in entries:
        tree = entries["complete tree"]
        said.append(
            f"At 50 simulations it was asked about all {tree['positions']:,} positions (with their last moves) that "
            f"can come up: {tree['worse_moves']} of its moves gave anything away."
        )
    if "seconds a move" in entries:
        took = entries["seconds a move"]
        said.append(
            f"A move at the default level took {took['mean']:.2f} s on average, {took['longest']:.2f} s at most."
        )
    return ["", " ".join(said)] if said else []


def learnt(entries: dict[str, Any], lines: list[dict[str, Any]]) -> list[str]:
    """How near the network comes to the search, on games that it has not learnt from."""
    said = []
    if "held-out games" in entries:
        entry = entries["held-out games"]
        kl, search, outcome = (
            plus_minus(entry[name]) for name in ("policy_kl", "value_mse_search", "value_mse_outcome")
        )
        said += [
            "",
            f"On {entry['games']} new games against itself at {entry['simulations']} simulations "
            f"({entry['positions']:,} positions): KL from the search's policy to the network's {kl}, squared error "
            f"of the value {search} to the search's and {outcome} to the outcome.",
            "",
            f"`{entry['command']}`",
        ]
    known = [line for line in lines if line.get("policy_kl") is not None]
    if known:
        last = known[-1]
        said += [
            "",
            f"On held-out games of its last iteration ({last['iteration']}), against the sharper policy that "
            f"{last['simulations']} simulations under a Gumbel root teach: KL {last['policy_kl']:.3f}, mean squared "
            f"error of the value {last['value_mse_search']:.3f} to the search's and {last['value_mse_outcome']:.3f} to "
            "the outcome.",
        ]
    return said


def promotions(lines: list[dict[str, Any]]) -> list[str]:
    """How the networks of the run followed each other."""
    promoted = [line for line in lines if line["promoted"] and line["gate"]]
    tested = sum(line["gate"]["verdict"].startswith("accepted") for line in promoted)
    how = f"{tested} of {len(promoted)} after a sequential test" if tested else "all without a test"
    return ["", f"Networks that took the place of the one before: {how}; `gate` in metrics.jsonl has the matches."]


def first_hour(lines: list[dict[str, Any]]) -> list[str]:
    """What whoever trains from nothing can expect to see."""
    early = [line for line in lines if line.get("run", 1) == 1 and line["cpu_hours"] <= 1.05]
    if not early or early[-1]["cpu_hours"] < 0.5:
        return []
    rows = [
        "",
        "The first hour, from nothing:",
        "",
        "| iteration | games | CPU-hours | Elo |",
        "| --- | --- | --- | --- |",
    ]
    seen = [*early[:-1:4], early[-1]]
    return rows + [f"| {x['iteration']} | {x['games']:,} | {x['cpu_hours']:.2f} | {x['elo']:+.0f} |" for x in seen]


def plus_minus(found: dict[str, float]) -> str:
    return f"{found['mean']:.3f} ± {found['margin']:.3f}"


def curve(game: str, lines: list[dict[str, Any]]) -> str | None:
    """The run's own Elo over its CPU-hours, as a picture that stands alone."""
    points = [Point(line["cpu_hours"], line["elo"]) for line in lines if line.get("elo") is not None]
    if len(points) < 2:
        return None
    frame = Frame(
        f"{game}: Elo over CPU-hours",
        "The sum of the gains that the gate accepted.",
        Axis("CPU-hours", zero=True),
        Axis("Elo over untrained", zero=True),
        width=640,
    )
    svg = line_chart(frame, [Series("Elo", [Point(0, 0), *points], shape="step")])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" width="{frame.width}"'
    return svg.replace("<svg", head, 1).replace("<title", f"<style>{style()}</style><title", 1) + "\n"


def write() -> dict[Path, str]:
    """All files that this makes, and what is in them."""
    page, files = [HEAD], {}
    for name in GAMES:
        folder = CHECKPOINTS / name
        evidence = read(folder / "evidence.json")
        entries = evidence.get("entries", {})
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
        training = read(folder / "config.json")["training"]
        page.append(f"## {get_game(name).title}")
        page.append(
            f"{training['iterations']} iterations, {training['games']:,} games, {training['cpu_hours']:.1f} CPU-hours."
        )
        computed_in = {
            entry["computed_in"].removeprefix("openvino ") for entry in entries.values() if "computed_in" in entry
        }
        if computed_in:
            unknown = [f'"{name}"' for name, entry in entries.items() if "computed_in" not in entry]
            but = f", but for {' and '.join(unknown)}, played on another machine" if unknown else ""
            page[-1] += f" What follows was computed in {' and '.join(sorted(computed_in))}{but}."
        page += ["", *matches(entries), *forced_wins(entries), *others(entries), *learnt(entries, lines)]
        page += levels(entries)
        if picture := curve(name, lines):
            files[PROJECT / "docs" / "images" / f"elo-{name}.svg"] = picture
            page += [
                "",
                f"![Elo over CPU-hours](images/elo-{name}.svg)",
                "",
                "A step is a gate passed; the sum overstates.",
            ]
        page += [*promotions(lines), *first_hour(lines)]
        page.append("")
        files[folder / "README.md"] = model_card(load_checkpoint(folder))
    return {PAGE: "\n".join(page).rstrip() + "\n", **files}


def main() -> None:
    for path, text in write().items():
        path.write_text(text, "utf-8")
        print(f"wrote {path.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
