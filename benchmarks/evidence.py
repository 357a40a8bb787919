"""How strong the shipped networks are: `python benchmarks/evidence.py chain_reaction` plays and writes evidence.json.

Every entry of checkpoints/GAME/evidence.json holds the command that repeats it and what that printed. Entries belong to
one network: other weights begin a new file. What is there already is not played again, unless its command has changed,
so a run that was cut short goes on with the same command. `python docs/strength.py` makes docs/strength.md of it all.

Prints one JSON object last: each entry's name and its score (or what else it is about).
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np

from alphazero import LEVELS, Position, get_game, load_checkpoint, load_player
from alphazero.checkpoint import CHECKPOINTS, CONFIG, write_atomically
from alphazero.game import PROJECT
from alphazero.model import Model

EVIDENCE = "evidence.json"
KEPT = ("openings", "wins", "draws", "losses", "by_colour", "games", "score", "elo", "elo_low", "elo_high")
# Level master thinks by the clock; here it has 1600 simulations, less than in three seconds, and its solvers.
MASTER = "net+@1600"
MATCHES = {  # name -> arguments of the arena
    "chain_reaction": {
        **{f"{one}, openings": f"net@200 {one} --pairs 50 --openings sampled:2" for one in ("random", "greedy")},
        "rollout@1000, openings": "net@200 rollout@1000 --pairs 50 --openings sampled:2",
        "alphabeta@4, openings": "net@200 alphabeta@4 --pairs 70 --openings sampled:2",
        "alphabeta@6, openings": "net@200 alphabeta@6 --pairs 70 --openings sampled:2",
        **{
            f"alphabeta@8, {sims} simulations, openings": f"net@{sims} alphabeta@8 --pairs 35 --openings sampled:2"
            for sims in (100, 400, 1600)
        },
        **{
            f"{one}, empty board": f"net@200 {one} --pairs 20 --openings empty"
            for one in ("random", "greedy", "rollout@1000", "alphabeta@4", "alphabeta@6")
        },
    },
    "gomoku": {
        "rollout@1000, openings": "net@400 rollout@1000 --pairs 50 --openings sampled:3",
        "rollout@5000, openings": "net@400 rollout@5000 --pairs 30 --openings sampled:3",
        "rollout@5000, empty board": "net@400 rollout@5000 --pairs 5 --openings empty",
        **{
            f"{one}, {sims} simulations, openings": f"net@{sims} {one} --pairs 40 --openings sampled:3"
            for one, sims in (("alphabeta@4", 100), ("alphabeta@4", 400), ("alphabeta@6", 100), ("alphabeta@6", 400))
        },
        "alphabeta@6, empty board": "net@400 alphabeta@6 --pairs 10 --openings empty",
    },
    "tictactoe": {"perfect": "net@50 perfect --pairs 50 --openings sampled:2"},
}
HELD_OUT = {"chain_reaction": 200, "gomoku": 400, "tictactoe": 50}  # simulations of the games to compare with
# The levels' round robin: pairs of games, and the plies of their openings. In Chain Reaction master's prover thinks for
# 46 s a game, so there master meets hard alone.
LEVEL_MATCHES = {"chain_reaction": (20, 6), "gomoku": (20, 3), "tictactoe": (150, 2)}
MASTER_ALONE = {"chain_reaction": f"{MASTER} level:hard --pairs 20 --openings sampled:6"}


class Evidence:
    """The file of one game, written after every entry."""

    def __init__(self, game: str):
        self.path = CHECKPOINTS / game / EVIDENCE
        weights = json.loads((CHECKPOINTS / game / CONFIG).read_text("utf-8"))["weights_sha256"]
        self.computed_in = Model.of(load_checkpoint(CHECKPOINTS / game)).make_evaluator().name
        self.data: dict[str, Any] = {"game": game, "weights_sha256": weights, "entries": {}}
        if self.path.is_file():
            there = json.loads(self.path.read_text("utf-8"))
            if there["weights_sha256"] == weights:
                self.data = there

    def add(self, name: str, command: str, find: Any) -> None:
        if self.data["entries"].get(name, {}).get("command") == command:
            return
        print(f"{name}: {command}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        found = find()
        about = {"command": command, "computed_in": self.computed_in}
        self.data["entries"][name] = {**about, **found, "seconds": round(time.monotonic() - begin)}
        write_atomically(self.path, (json.dumps(self.data, indent=1, ensure_ascii=False) + "\n").encode())


def last_object(command: str) -> dict[str, Any]:
    """Run one of the project's own commands; the JSON object on its last line."""
    words = [sys.executable, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def match(command: str) -> dict[str, Any]:
    result = last_object(command)
    return {name: result[name] for name in KEPT}


def levels(command: str) -> dict[str, Any]:
    result = last_object(command)
    kept = ("a", "b", *KEPT[1:])
    return {
        "openings": result["openings"],
        "ratings": result["ratings"],
        "matches": [{name: one[name] for name in kept} for one in result["matches"]],
    }


def seconds_a_move(game: str) -> dict[str, Any]:
    """Of the default level, over a game against itself."""
    player, position, taken = load_player(game), get_game(game).start(), []
    player.warm_up()
    while position.winner is None and len(taken) < 60:
        result = player.search(position)
        taken.append(result.seconds)
        position = position.play(result.action)
    return {"mean": round(sum(taken) / len(taken), 3), "longest": round(max(taken), 3), "moves": len(taken)}


def tree_of_tictactoe() -> dict[str, Any]:
    """Every reachable position, at 50 simulations: moves that turn a win or a draw into less."""
    from tictactoe.agents import value_to_move

    def outcome(position: Position) -> int:
        """1, 0 or -1 for the player to move; value_to_move also says how quickly."""
        return int(np.sign(value_to_move(position)))

    game, player = get_game("tictactoe"), load_player("tictactoe", simulations=50, seed=0)
    seen, todo, searches = set(), [game.start()], []
    while todo:
        position = todo.pop()
        if position.winner is None and position not in seen:
            seen.add(position)
            todo += [position.play(move) for move in position.legal_moves()]
            searches.append((position, player.search(position).action))
    lost = [
        position.board.tolist() for position, action in searches if -outcome(position.play(action)) < outcome(position)
    ]
    return {"positions": len(searches), "worse_moves": len(lost), "examples": lost[:5]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game", choices=sorted(MATCHES))
    game = parser.parse_args().game
    evidence = Evidence(game)
    this = f"python benchmarks/evidence.py {game}"
    evidence.add("seconds a move", this, lambda: seconds_a_move(game))
    if game == "tictactoe":
        evidence.add("complete tree", this, tree_of_tictactoe)
    if game == "gomoku":
        for level in (None, "master"):
            command = "python benchmarks/forced_wins.py" + (f" --level {level} --simulations 400" if level else "")
            evidence.add(f"forced wins{', with solvers' if level else ''}", command, lambda c=command: last_object(c))
    command = f"python benchmarks/held_out.py {game} --simulations {HELD_OUT[game]}"
    evidence.add("held-out games", command, lambda c=command: last_object(c))
    for name, arguments in MATCHES[game].items():
        command = f"python -m alphazero arena {game} {arguments} --json"
        evidence.add(name, command, lambda c=command: match(c))
    pairs, plies = LEVEL_MATCHES[game]
    if game in MASTER_ALONE:
        alone = f"python -m alphazero arena {game} {MASTER_ALONE[game]} --json"
        evidence.add("level master against hard, openings", alone, lambda: match(alone))
    players = " ".join([*(f"level:{name}" for name in LEVELS[:-1]), *([] if game in MASTER_ALONE else [MASTER])])
    command = f"python -m alphazero arena {game} {players} --pairs {pairs} --openings sampled:{plies} --json"
    evidence.add("levels", command, lambda: levels(command))
    entries = evidence.data["entries"]
    print(json.dumps({name: entry.get("score", "see file") for name, entry in entries.items()}))


if __name__ == "__main__":
    main()
