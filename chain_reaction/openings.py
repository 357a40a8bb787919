"""All openings of two moves: who wins after each, as a table in JSON and as a picture."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from alphazero.game import EXTRA, PROJECT, Position
from alphazero.proof import Effort
from chain_reaction import GAME, SIZE
from chain_reaction.prover import search
from chain_reaction.table import new_table

TABLE = PROJECT / "checkpoints" / "chain_reaction" / "openings.json"
FORMAT = 1
FIRST_CELLS = (0, 1, 2, 6, 7, 12)  # one of each kind under the symmetries: corner, edge, middle of the edge, inside
NAMES = {1: "red", -1: "blue"}
GROWTH = 8  # the easy ones first: each round spends so many times more on an opening than the last


def all_openings() -> Iterator[Position]:
    """One position after two moves of every kind under the symmetries."""
    seen = set()
    for first in FIRST_CELLS:
        for answer in range(GAME.num_actions):
            if answer != first:
                position = GAME.start().play(first).play(answer)
                if kind(position) not in seen:
                    seen.add(kind(position))
                    yield position


def kind(position: Position) -> bytes:
    """The same for all symmetries of a position."""
    cells = position.state[:-EXTRA]
    return min(cells[table].tobytes() for table in GAME.symmetries)


def fill(path: Path, nodes: int, megabytes: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Search all openings that are open, `nodes` positions at most each; the file is written after each one."""
    rows = {tuple(row["moves"]): row for row in read(path)["openings"]} if path.exists() else {}
    positions = list(all_openings())
    for position in positions:
        rows.setdefault(_names(position), _row(position, None, None, 0))
    budget = min(nodes, 100_000)
    while True:
        for position in positions:
            row = rows[_names(position)]
            if row["winner"] is None and row["nodes"] < budget:
                rows[_names(position)] = row = _search(position, budget, megabytes)
                say(f"{' '.join(row['moves'])}: {row['winner'] or 'open'} after {row['nodes']:,} positions")
                _write(path, [rows[_names(position)] for position in positions])
        if budget == nodes:
            break
        budget = min(nodes, budget * GROWTH)
    winners = [row["winner"] for row in rows.values()]
    return {
        "openings": len(rows),
        **{name: winners.count(name) for name in NAMES.values()},
        "open": winners.count(None),
    }


def _search(position: Position, nodes: int, megabytes: int) -> dict[str, Any]:
    proof = search(position, Effort(nodes), new_table(nodes, megabytes))
    winner = {"win": position.to_move, "loss": -position.to_move, None: None}[proof.result]
    return _row(position, None if winner is None else NAMES[winner], proof.plies, proof.nodes)


def _row(position: Position, winner: str | None, plies: int | None, nodes: int) -> dict[str, Any]:
    """plies: the winner needs no more, counted from after the opening; nodes: positions searched."""
    return {"moves": list(_names(position)), "winner": winner, "plies": plies, "nodes": nodes}


def _names(position: Position) -> tuple[str, ...]:
    return tuple(position.cell_name(action) for action in position.moves)


def read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
        usable = data["format"] == FORMAT and data["rules_version"] == GAME.rules_version
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no table of openings: {error}") from None
    if not usable:
        raise ValueError(f"{path} belongs to another version; remove it to begin anew")
    return data


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    head = f'"format": {FORMAT}, "game": "chain_reaction", "rules_version": {GAME.rules_version}'
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(f'{{{head}, "openings": [\n{lines}\n]}}\n', "utf-8")
    os.replace(part, path)


CELL, GAP = 34, 26  # pixels
STYLE = """
text { font: 11px system-ui, sans-serif; fill: #334; text-anchor: middle }
.cell { fill: none; stroke: #99a; stroke-width: 1 }
.start { fill: #d43a3a }
.blue { fill: #2f6fde }
.red { fill: none; stroke: #d43a3a; stroke-width: 2 }
.open { fill: #99a }
.on { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #dde } .cell { stroke: #667 } .on { fill: #fff } }
"""


def draw(data: dict[str, Any], path: Path) -> None:
    """Six boards, one for each first move; every other cell says who wins if Blue answers there."""
    results = {kind(position): row for position, row in zip(all_openings(), data["openings"], strict=True)}
    side = SIZE * CELL
    width, height = 3 * side + 4 * GAP, 2 * (side + GAP) + GAP + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>Who wins 5x5 Chain Reaction after each first move of Red and each answer of Blue</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, first in enumerate(FIRST_CELLS):
        left, top = GAP + number % 3 * (side + GAP), GAP + number // 3 * (side + GAP)
        name = GAME.start().cell_name(first)
        parts.append(f'<text x="{left + side / 2}" y="{top - 8}">Red {name}</text>')
        for cell in range(GAME.num_actions):
            x, y = left + cell % SIZE * CELL, top + cell // SIZE * CELL
            parts.append(f'<rect class="cell" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>')
            row = None if cell == first else results[kind(GAME.start().play(first).play(cell))]
            parts.append(_mark(x + CELL / 2, y + CELL / 2, row))
    legend: list[tuple[int, dict[str, Any] | None, str]] = [
        (40, None, "Red's first move"),
        (165, {"winner": "blue", "plies": "n"}, "Blue wins within n plies"),
        (340, {"winner": "red", "plies": "n"}, "Red wins within n plies"),
        (515, {"winner": None}, "not known"),
    ]
    for x, row, words in legend:
        text = f'<text x="{x + 18}" y="{height - 12}" style="text-anchor: start">{words}</text>'
        parts.append(_mark(x, height - 16, row) + text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*parts, "</svg>", ""]), "utf-8")


def _mark(x: float, y: float, row: dict[str, Any] | None) -> str:
    """What stands in a cell: shapes differ as well as colours."""
    if row is None:
        dots = "".join(
            f'<circle class="start" cx="{x + dx}" cy="{y + dy}" r="5"/>' for dx, dy in ((-6, 4), (6, 4), (0, -6))
        )
        return f"<g>{dots}</g>"
    if row["winner"] is None:
        return f'<circle class="open" cx="{x}" cy="{y}" r="3"/>'
    number = f'<text class="{"on" if row["winner"] == "blue" else ""}" x="{x}" y="{y + 4}">{row["plies"]}</text>'
    if row["winner"] == "blue":
        return f'<circle class="blue" cx="{x}" cy="{y}" r="12"/>{number}'
    return f'<rect class="red" x="{x - 11}" y="{y - 11}" width="22" height="22" rx="3"/>{number}'
