"""Solve 5x5 Chain Reaction: prove that Blue, who moves second, wins, and write down how.

python -m chain_reaction.solve                  prove it, write checkpoints/chain_reaction/blue-wins.npz
python -m chain_reaction.solve --start "C3 B2"  who wins after these moves?
python -m chain_reaction.solve --openings       the same for all openings of two moves, and a picture of them
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from alphazero.game import PROJECT, IllegalMove, Position
from alphazero.proof import Effort
from chain_reaction import GAME, openings, strategy
from chain_reaction.dfpn import Search, kernels, lookup
from chain_reaction.prover import search
from chain_reaction.table import CELLS, new_table

NODES = 2_000_000
MEGABYTES = 512
ROUNDS = 2
TRY = 100  # positions that a shorter win may take to be found


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    began = time.perf_counter()
    try:
        if options.openings:
            figures = openings.fill(options.table, options.nodes, options.memory, _say)
            openings.draw(openings.read(options.table), options.picture)
        elif options.start is not None:
            figures = _prove(_replay(options.start), options.nodes, options.memory)
        else:
            figures = _solve(options.out, options.nodes, options.memory, options.rounds)
    except KeyboardInterrupt:
        _say("stopped")
        return 130
    except (OSError, ValueError) as error:
        _say(f"error: {error}")
        return 2
    print(json.dumps({**figures, "seconds": round(time.perf_counter() - began, 2)}))
    return 0


def _solve(out: Path, nodes: int, megabytes: int, rounds: int) -> dict[str, Any]:
    """Prove that Blue wins from the empty board; write the shortest strategy of all rounds."""
    table = new_table(nodes, megabytes)
    first = Search(np.zeros(CELLS, np.int16), -1, table)
    while first.nodes < nodes and not first.run(min(100_000, nodes - first.nodes)):
        _say(f"{first.nodes:,} positions searched")
    if first.result()[0] != 1:
        raise ValueError(f"no proof within {first.nodes:,} positions; give it more with --nodes")
    _say(f"Blue wins within {first.result()[1]} plies; {first.nodes:,} positions searched")
    best, longest, spent = None, 0, first.nodes
    for number in range(rounds + 1):
        strategy.tighten(table)
        found = strategy.extract(table)
        if found is None:
            break  # the table is full and had to drop proofs
        moves, proof = found
        plies = lookup(proof, np.zeros(CELLS, np.int16), -1)[1]
        _say(f"round {number}: {len(moves):,} moves of Blue, the longest game {plies} plies")
        if best is None or (plies, len(moves)) < (longest, len(best)):
            best, longest = moves, plies
        if number < rounds:
            spent += _try_other_moves(proof, table)
    if best is None:
        raise ValueError("the table had no room for the whole proof; give it more with --memory")
    strategy.save(best, out)
    strategy.load(out)
    return {
        "winner": "blue",
        "plies": longest,
        "moves": len(best),
        "bytes": out.stat().st_size,
        "nodes_to_prove": first.nodes,
        "nodes_to_shorten": spent - first.nodes,
    }


def _try_other_moves(proof: np.ndarray, table: np.ndarray) -> int:
    """Look shortly at all other moves of Blue on his strategy, and keep what is proven; the positions it took."""
    nodes = 0
    cells = np.zeros(CELLS, np.int16)
    for entry in proof[proof["work"] > 0]:
        mover = kernels()["unpack"](entry["board"], entry["rest"], cells)
        plies = min(np.count_nonzero(cells), 2)
        for action in range(CELLS) if mover > 0 else ():
            if cells[action] > 0 if plies == 2 else cells[action] == 0:
                after = cells.copy()
                if GAME.play(after, 1, action, plies) != 1 and lookup(table, after, -1)[0] == 0:
                    trial = Search(after, -1, table)
                    trial.run(TRY)
                    nodes += trial.nodes
    return nodes


def _prove(position: Position, nodes: int, megabytes: int) -> dict[str, Any]:
    if position.winner is not None:
        raise ValueError("the game is over after these moves")
    proof = search(position, Effort(nodes), new_table(nodes, megabytes))
    mover = position.to_move
    winner = {"win": mover, "loss": -mover, None: None}[proof.result]
    return {
        "to_move": openings.NAMES[mover],
        "winner": None if winner is None else openings.NAMES[winner],
        "plies": proof.plies,
        "line": " ".join(position.cell_name(action) for action in proof.line),
        "moves": {position.cell_name(action): result for action, result in proof.moves.items()},
        "nodes": proof.nodes,
    }


def _replay(text: str) -> Position:
    position = GAME.start()
    for word in text.split():
        col, row = "ABCDE".find(word[:1].upper()), word[1:]
        if col < 0 or row not in ("1", "2", "3", "4", "5"):
            raise ValueError(f"--start is a list of cells from A1 to E5, such as 'C3 B2'; {word!r} is none")
        try:
            position = position.play((int(row) - 1) * GAME.cols + col)
        except IllegalMove as error:
            raise ValueError(f"--start: {error}") from None
    return position


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _at_least(least: int) -> Any:
    def read(text: str) -> int:
        number = int(text.replace("_", "").replace(",", ""))
        if number < least:
            raise argparse.ArgumentTypeError(f"must be {least} or more")
        return number

    read.__name__ = "whole number"  # what argparse calls it in a message
    return read


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chain_reaction.solve",
        description="Prove that Blue, who moves second, wins 5x5 Chain Reaction, and write down how. "
        "The last line is one JSON object of figures.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--start", metavar="CELLS", help="only say who wins after these moves, such as 'C3 B2'")
    what.add_argument("--openings", action="store_true", help="who wins after each first move and each answer")
    parser.add_argument("--nodes", type=_at_least(1), default=NODES, help="positions to search at most (%(default)s)")
    parser.add_argument("--memory", type=_at_least(1), default=MEGABYTES, help="megabytes (%(default)s)")
    parser.add_argument(
        "--rounds", type=_at_least(0), default=ROUNDS, help="rounds of looking for shorter wins (%(default)s)"
    )
    parser.add_argument("--out", type=Path, default=strategy.BLUE_WINS, help="where Blue's strategy is written")
    parser.add_argument("--table", type=Path, default=openings.TABLE, help="where the openings stand (JSON)")
    parser.add_argument(
        "--picture",
        type=Path,
        default=PROJECT / "docs" / "images" / "chain-reaction-solved.svg",
        help="where the picture of the openings is written (SVG)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
