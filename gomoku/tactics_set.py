"""Positions with a forced win of a known length, for tests and measurements: `python -m gomoku.tactics_set --help`.

Games are played by a mild heuristic with noise; a third of their positions are looked at: if the mover wins there by
fours or threats, how long is the shortest win of this kind? The position is kept if all shorter ones were refuted, so
`plies` is exact among wins by fours and by threats of fours. The file is one JSON object:

    format, rules_version, seed
    positions   a list of
        board     81 characters, row by row: X black, O white, . empty
        to_move   1 or -1: who wins
        plies     how many it takes, the winner's last move included
        kind      "vcf": fours alone do it in that time; "vct": they do not
        wins      the first moves known to win in that time
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from alphazero.game import Position
from gomoku import GAME
from gomoku.solver import Solver
from gomoku.vct import ANY, RUNNING

PATH = Path(__file__).parent / "tactics.json"
LENGTHS = (5, 7, 9, 11, 13, 15, 17)
GLANCE = 30_000  # nodes to see whether there is a win at all
REFUTE = 400_000  # nodes to refute one shorter length


@dataclass(frozen=True)
class Tactic:
    board: str
    to_move: int
    plies: int
    kind: str
    wins: list[int]

    def cells(self) -> np.ndarray:
        """int16 [81]."""
        return np.array([{"X": 1, "O": -1, ".": 0}[cell] for cell in self.board], np.int16)

    def position(self) -> Position:
        return GAME.from_board(self.cells().reshape(GAME.rows, GAME.cols), self.to_move)


def load(path: Path = PATH) -> list[Tactic]:
    return [Tactic(**entry) for entry in json.loads(path.read_text("utf-8"))["positions"]]


def search(solver: Solver, side: int, plies: int, nodes: int, only: int = ANY) -> int:
    """Plies of a win of `side` within so many, 0 if there is none, RUNNING if the nodes did not suffice."""
    solver.begin(side, max((plies - 3) // 2, 1), plies, only)
    value = solver.advance(nodes)
    if value == RUNNING:
        solver.stop()
    return value


def examine(position: Position) -> Tactic | None:
    """The position as a tactic, if the mover has a win of one of the lengths and the shorter ones are refuted."""
    cells = position.board.ravel()
    side = 0 if position.to_move == 1 else 1
    solver = Solver(cells, table_bits=18)
    if len(solver.fours(side)) in (1, 3):
        return None
    for threats in range(1, 7):
        solver.begin(side, threats)
        value = solver.advance(GLANCE)
        if value == RUNNING:
            solver.stop()
        if value != 0:
            break
    if value <= 0:
        return None
    for plies in LENGTHS:
        value = search(solver, side, plies, REFUTE)
        if value == RUNNING:
            return None
        if value > 0:
            break
    if value != plies:
        return None
    kind = "vcf" if solver.fours(side, plies) else "vct"
    wins = [cell for cell in position.legal_moves() if search(solver, side, plies, REFUTE // 20, cell) > 0]
    board = "".join({1: "X", -1: "O", 0: "."}[int(cell)] for cell in cells)
    return Tactic(board, position.to_move, plies, kind, wins) if wins else None


def shape_of(position: Position) -> bytes:
    """The same for positions that are one up to symmetry and colour."""
    cells = (position.board.ravel() * position.to_move).astype(np.int8)
    return min(cells[table].tobytes() for table in GAME.symmetries)


def play_game(rng: np.random.Generator) -> list[Position]:
    """The positions of one game: near the stones, for shapes of one's own and against the other's, with noise."""
    position = GAME.start().play(int(rng.choice([30, 31, 40, 41, 49])))
    wildness = 0.5 * 30.0 ** rng.uniform()  # from purposeful to nearly random: long lines of fours need disorder
    game = []
    while position.winner is None:
        game.append(position)
        solver = Solver(position.board.ravel(), table_bits=0)
        side = 0 if position.to_move == 1 else 1
        threats, forced = solver.fives(1 - side)
        if solver.fives(side)[0]:
            break
        if threats:
            position = position.play(forced)
            continue
        legal = position.legal_moves()
        stones = np.array([divmod(cell, GAME.cols) for cell in np.flatnonzero(position.board)])
        away = np.array([np.abs(stones - divmod(cell, GAME.cols)).max(axis=1).min() for cell in legal])
        score = 1.0 * solver.shapes(side)[legal] + 0.8 * solver.shapes(1 - side)[legal] - 2.0 * away
        weights = np.exp((score - score.max()) / wildness)
        position = position.play(int(rng.choice(legal, p=weights / weights.sum())))
    return game


def generate(seed: int, each: int, games: int) -> list[Tactic]:
    """Up to `each` positions of every length, at most half by fours alone where there are others; shorter first."""
    rng = np.random.default_rng(seed)
    found: dict[tuple[int, str], list[Tactic]] = {(plies, kind): [] for plies in LENGTHS for kind in ("vcf", "vct")}
    met = set()
    for number in range(games):
        game = play_game(rng)
        for k in rng.permutation(len(game))[: max(len(game) // 3, 1)]:
            shape = shape_of(game[k])
            if shape in met:
                continue
            met.add(shape)
            tactic = examine(game[k])
            if tactic and len(found[tactic.plies, tactic.kind]) < each:
                found[tactic.plies, tactic.kind].append(tactic)
        if number % 50 == 49:
            counts = {f"{plies} {kind}": len(group) for (plies, kind), group in found.items()}
            print(f"{number + 1} games: {counts}", file=sys.stderr)
        if all(len(group) >= (each + 1) // 2 for group in found.values()):
            break
    chosen = []
    for plies in LENGTHS:
        fours, threats = found[plies, "vcf"], found[plies, "vct"]
        many = max(each // 2, each - len(threats))
        fours = fours[:many]
        chosen += fours + threats[: each - len(fours)]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gomoku.tactics_set", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same positions")
    parser.add_argument("--each", type=int, default=30, help="positions of each length")
    parser.add_argument("--games", type=int, default=4000, help="stop after so many games")
    parser.add_argument("--out", type=Path, default=PATH, help="where to write them")
    options = parser.parse_args()
    tactics = generate(options.seed, options.each, options.games)
    entries = ",\n".join(json.dumps(asdict(tactic)) for tactic in tactics)
    head = f'{{"format": 1, "rules_version": {GAME.rules_version}, "seed": {options.seed}, "positions": [\n'
    options.out.write_text(f"{head}{entries}\n]}}\n", "utf-8")
    counts = Counter(f"{tactic.plies} {tactic.kind}" for tactic in tactics)
    print(json.dumps({"positions": len(tactics), **counts}))


if __name__ == "__main__":
    main()
