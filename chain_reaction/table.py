"""What a solver of Chain Reaction remembers: exact keys of positions, and a table of proof and disproof numbers.

Positions are seen from the attacker, whose atoms are positive: `mover` is 1 when he is to move, -1 when the defender
is. So one key stands for a position, its mirror images and turns, and the same with colours swapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chain_reaction import GAME, SIZE

CELLS = SIZE * SIZE
BUCKET = 4  # places where an entry may stand

# One position that has been expanded. The key is exact: `board` and `rest` hold it whole.
ENTRY = np.dtype(
    [
        ("board", np.uint64),
        ("pn", np.uint32),
        ("dn", np.uint32),
        ("work", np.uint32),  # nodes spent below it; 0 is an empty place
        ("rest", np.uint16),
        ("plies", np.uint16),  # once pn is 0: the attacker wins within so many
    ]
)


def _turned_rows() -> np.ndarray:
    """uint64 [8, rows, 32]: where a row of five bits goes under each symmetry, as bits of the whole board."""
    table = np.zeros((len(GAME.symmetries), SIZE, 1 << SIZE), np.uint64)
    for number, symmetry in enumerate(GAME.symmetries):
        for row in range(SIZE):
            for bits in range(1 << SIZE):
                cells = [row * SIZE + col for col in range(SIZE) if bits >> col & 1]
                table[number, row, bits] = sum(1 << int(symmetry[cell]) for cell in cells)
    return table


TURNED = _turned_rows()

# Stand-ins for what `bind` puts in their place.
turn: Any = None
pack: Any = None
find: Any = None


def _turn(plane, number):
    """25 bits, one a cell, seen through a symmetry."""
    turned = np.uint64(0)
    for row in range(SIZE):
        turned |= TURNED[number, row, (plane >> np.uint64(SIZE * row)) & np.uint64(31)]
    return turned


def _pack(cells, mover):
    """The exact key (board, rest) of a position, the same for all its symmetries."""
    low, high, own = np.uint64(0), np.uint64(0), np.uint64(0)
    for cell in range(CELLS):
        atoms = abs(cells[cell])
        low |= np.uint64(atoms & 1) << np.uint64(cell)
        high |= np.uint64(atoms >> 1) << np.uint64(cell)
        own |= np.uint64(cells[cell] > 0) << np.uint64(cell)
    best_low, best_rest = turn(low, 0), np.uint64(1) << np.uint64(60)
    for number in range(8):
        turned = turn(low, number)
        if turned <= best_low:
            rest = turn(high, number) | turn(own, number) << np.uint64(CELLS)
            if turned < best_low or rest < best_rest:
                best_low, best_rest = turned, rest
    board = best_low | best_rest << np.uint64(CELLS)
    rest = best_rest >> np.uint64(64 - CELLS) | np.uint64(mover > 0) << np.uint64(15)
    return board, np.uint16(rest)


def _unpack(board, rest, cells):
    """Write the canonical position that belongs to a key; returns its mover."""
    for cell in range(CELLS):
        bit = np.uint64(cell)
        atoms = np.int64(board >> bit & np.uint64(1)) + 2 * np.int64(board >> (bit + np.uint64(CELLS)) & np.uint64(1))
        place = cell + 2 * CELLS
        own = board >> np.uint64(place) if place < 64 else np.uint64(rest) >> np.uint64(place - 64)
        cells[cell] = atoms if own & np.uint64(1) else -atoms
    return 1 if rest >> 15 else -1


def _find(table, board, rest):
    """Where this position stands in the table; if it does not, -1 less the first place where it might."""
    mixed = (board ^ np.uint64(rest) << np.uint64(40)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    first = np.int64(mixed >> np.uint64(32)) & (len(table) - BUCKET)
    for place in range(first, first + BUCKET):
        entry = table[place]
        if entry.work > 0 and entry.board == board and entry.rest == rest:
            return place
    return -1 - first


def _store(table, board, rest, pn, dn, plies, work):
    """Keep a result. In a full bucket the one that cost least goes, and one that is no proof before one that is."""
    place = find(table, board, rest)
    if place >= 0:
        work += table[place].work
    else:
        first = -1 - place
        place = first
        for other in range(first, first + BUCKET):
            entry, worst = table[other], table[place]
            proven, worst_proven = entry.work > 0 and entry.pn == 0, worst.work > 0 and worst.pn == 0
            if proven < worst_proven or (proven == worst_proven and entry.work < worst.work):
                place = other
    entry = table[place]
    entry.board, entry.rest, entry.pn, entry.dn, entry.plies = board, rest, pn, dn, plies
    entry.work = min(work, 0xFFFFFFFF)


def _look(table, cells, mover):
    """(pn, dn, plies) that the table has for a position; pn is -1 if it has none."""
    board, rest = pack(cells, mover)
    place = find(table, board, rest)
    if place < 0:
        return -1, -1, 0
    entry = table[place]
    return np.int64(entry.pn), np.int64(entry.dn), np.int64(entry.plies)


TEMPLATES = [_turn, _pack, _unpack, _find, _store, _look]


def new_table(entries: int, megabytes: int) -> np.ndarray:
    """An empty table with room for so many entries, or for as many as fit into the memory, whichever is less.

    The system hands out the memory as it is written to, so a table that stays almost empty costs little.
    """
    most = 1 << ((megabytes << 20) // ENTRY.itemsize).bit_length() - 1
    wanted = 1 << max(2 * entries, BUCKET).bit_length()
    return np.zeros(min(wanted, most), ENTRY)
