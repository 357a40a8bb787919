"""A winning strategy as a list of moves: how it is taken from proofs, written, read and checked.

Walk through the game from a start, trying every move of the defender but only one of the attacker, and skip positions
that were met before, turned or mirrored ones included. The attacker's moves in the order of this walk are the whole
strategy; positions need not be stored. Whoever reads the list has to walk, too, and so finds every gap and every
circle in it: a damaged file can be refused, but it can't prove anything false.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from alphazero.game import PROJECT
from alphazero.kernel import bind
from chain_reaction import GAME, PLY_LIMIT, dfpn
from chain_reaction.dfpn import FRAME, INFINITE, REPEATS
from chain_reaction.table import CELLS, ENTRY, new_table

BLUE_WINS = PROJECT / "checkpoints" / "chain_reaction" / "blue-wins.npz"
FORMAT = 1
MAX_MOVES = 1 << 16

# Stand-ins for what `bind` puts in their place.
rules_play: Any = None
phase: Any = None
find: Any = None
store: Any = None
unpack: Any = None
enter: Any = None
sum_up: Any = None
choose: Any = None
open_node: Any = None
step_into: Any = None


class StrategyError(ValueError):
    """A strategy file that can't be used; the message names it and says why."""


def _choose(source, frame):
    """The number of the attacker's move that the proofs in `source` make shortest, or -1."""
    best, least = -1, np.int64(REPEATS)
    for k in range(frame.count):
        plies = np.int64(REPEATS)
        if frame.fixed[k]:
            if frame.pn[k] == 0:
                plies = np.int64(0)
        else:
            place = find(source, frame.boards[k], frame.rests[k])
            if place >= 0 and source[place].pn == 0:
                plies = np.int64(source[place].plies)
        if plies < least:
            best, least = k, plies
    return best


def _open_node(source, moves, used, frame, scratch, mask):
    """Write the moves of a position, for the attacker only the one of the strategy; False if that has none."""
    enter(frame, scratch, mask)
    frame.start = 0
    frame.plies[:] = 0
    if frame.mover < 0:
        return True
    if used >= len(moves):
        return False
    if len(source) > 0:
        best = choose(source, frame)
        if best < 0:
            return False
        moves[used] = best
    k = moves[used]
    if k >= frame.count:
        return False
    frame.count, frame.moves[0], frame.fixed[0], frame.pn[0] = 1, frame.moves[k], frame.fixed[k], frame.pn[k]
    frame.boards[0], frame.rests[0] = frame.boards[k], frame.rests[k]
    return True


def _step_into(frames, depth, k):
    """Make frames[depth + 1] the position after this move; False if the walk would go in a circle or too far."""
    if depth + 1 == len(frames):
        return False
    frame, child = frames[depth], frames[depth + 1]
    for before in range(depth):
        if frames[before].board == frame.boards[k] and frames[before].rest == frame.rests[k]:
            return False
    child.cells[:] = frame.cells
    rules_play(child.cells, np.int64(frame.mover), frame.moves[k], phase(frame.cells))
    child.board, child.rest, child.mover, child.count = frame.boards[k], frame.rests[k], -frame.mover, -1
    return True


def _walk(source, moves, proof, frames):
    """Walk a strategy from frames[0]; every position on it goes into `proof` with its bound.

    With a `source` the attacker's moves are chosen by the proofs in it and written to `moves`, without one they are
    read. Returns (moves used, positions, the depth where the walk broke off or -1 if it is complete).
    """
    scratch = np.empty(CELLS, np.int16)
    mask = np.empty(CELLS, np.bool_)
    used, positions, depth = 0, 0, 0
    while depth >= 0:
        frame = frames[depth]
        if frame.count < 0:
            if not open_node(source, moves, used, frame, scratch, mask):
                return used, positions, depth
            used += frame.mover > 0
        k = frame.start  # the move to be looked at next
        if k == frame.count:
            plies = 0
            for k in range(frame.count):
                plies = max(plies, frame.plies[k])
            store(proof, frame.board, frame.rest, 0, INFINITE, plies + 1, 1)
            positions += 1
            depth -= 1
        elif frame.fixed[k]:
            if frame.pn[k] > 0:  # the defender has won
                return used, positions, depth
            frame.start += 1
        else:
            place = find(proof, frame.boards[k], frame.rests[k])
            if place >= 0:
                frame.plies[k] = proof[place].plies
                frame.start += 1
            elif step_into(frames, depth, k):
                depth += 1
            else:
                return used, positions, depth
    return used, positions, depth


def _relax(table, frame):
    """Tighten the bounds of all proofs in the table by what it now holds; how many changed."""
    scratch = np.empty(CELLS, np.int16)
    mask = np.empty(CELLS, np.bool_)
    changed = 0
    for index in range(len(table)):
        entry = table[index]
        if entry.work == 0 or entry.pn > 0:
            continue
        frame.mover = unpack(entry.board, entry.rest, frame.cells)
        enter(frame, scratch, mask)
        pn, _, plies, _, _ = sum_up(table, frame)
        if pn == 0 and plies < entry.plies:
            entry.plies = plies
            changed += 1
    return changed


@cache
def kernels() -> dict[str, Any]:
    return bind([_choose, _open_node, _step_into, _walk, _relax], dfpn.kernels(), "chain_reaction_strategy")


def _walk_from_start(source: np.ndarray, moves: np.ndarray) -> tuple[int, np.ndarray | None]:
    """(moves used, table of all positions on the strategy or None if it has a fault). Blue attacks."""
    size = 8 * len(moves)
    while True:
        frames = np.zeros(PLY_LIMIT, FRAME)
        dfpn.kernels()["begin"](frames[0], np.zeros(CELLS, np.int16), -1)
        proof = new_table(size, 1 << 12)
        used, positions, depth = kernels()["walk"](source, moves, proof, frames)
        if depth >= 0:
            return used, None
        if np.count_nonzero(proof["work"]) == positions:
            return used, proof
        size *= 2  # a full bucket had to drop one


def extract(table: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(moves, proof) of Blue's strategy from the empty board by the proofs in a table; None if some are missing.

    moves uint8 [n]: numbers among the legal moves in ascending order. proof: a table of all positions, won for Blue.
    """
    moves = np.zeros(MAX_MOVES, np.uint8)
    used, proof = _walk_from_start(table, moves)
    return None if proof is None else (moves[:used].copy(), proof)


def tighten(table: np.ndarray) -> None:
    """Lower the bounds of all proofs in the table as far as it knows shorter ones."""
    frame = np.zeros(1, FRAME)
    while kernels()["relax"](table, frame[0]):
        pass


def save(moves: np.ndarray, path: Path) -> None:
    """Write a strategy: an npz file of three arrays. It appears whole or not at all, the same bytes every time."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, format=FORMAT, rules_version=GAME.rules_version, moves=moves)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(buffer.getvalue())
    os.replace(part, path)


def load(path: Path) -> np.ndarray:
    """The table of all positions on a strategy of Blue, after walking through it; StrategyError if it has a fault."""
    try:
        with np.load(path, allow_pickle=False) as file:
            version, rules, moves = int(file["format"]), int(file["rules_version"]), file["moves"]
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise StrategyError(f"{path} is no strategy file, or damaged: {error}") from None
    if version != FORMAT or rules != GAME.rules_version:
        raise StrategyError(f"{path} has format {version} for rules {rules}; needed are {FORMAT}, {GAME.rules_version}")
    if moves.dtype != np.uint8 or moves.ndim != 1 or not 0 < len(moves) <= MAX_MOVES:
        raise StrategyError(f"{path} holds no list of moves")
    used, proof = _walk_from_start(np.zeros(0, ENTRY), moves)
    if proof is None or used != len(moves):
        raise StrategyError(f"{path} is damaged: move {used} of {len(moves)} does not lead to a win")
    return proof
