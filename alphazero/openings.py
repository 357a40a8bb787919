"""Openings for matches: moves from the start of a game that are made before the players take over.

An opening is a tuple of actions. Every one is played twice with colours swapped, so it need not be fair, but it must
leave the game open: not over, and when it was sampled, not won with the next move either.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alphazero.game import EXTRA, Game, IllegalMove, Position
from alphazero.settings import check_whole
from alphazero.text import parse_cell

Opening = tuple[int, ...]

DEFAULT_PAIRS = 50
# So many random lines in a row that are all known: there is nothing left that sampling would find in reasonable time.
GIVE_UP_AFTER = 1000


def empty(count: int = 1) -> list[Opening]:
    """No moves at all."""
    return [()] * count


def sampled(game: Game, plies: int, count: int, seed: int) -> list[Opening]:
    """`count` openings of `plies` random legal moves; the same ones for the same seed.

    Their positions are distinct, also up to the symmetries of the board, as long as there are enough; then the list
    repeats itself. More of them begin with the same ones.
    """
    check_whole("plies", plies, 0, 200)
    check_whole("count", count, 1, 1_000_000)
    rng = np.random.default_rng(seed)
    found: dict[bytes, Opening] = {}
    misses = 0
    while len(found) < count and misses < GIVE_UP_AFTER:
        position = _random_line(game, plies, rng)
        key = None if position is None else position_key(position)
        if position is None or key is None or key in found:
            misses += 1
        else:
            misses = 0
            found[key] = position.moves
    if not found:
        raise ValueError(f"no {game.title} game seems to be open after {plies} random plies; take fewer")
    return repeat(list(found.values()), count)


def _random_line(game: Game, plies: int, rng: np.random.Generator) -> Position | None:
    position = game.start()
    for _ in range(plies):
        position = position.play(int(rng.choice(position.legal_moves())))
        if position.winner is not None:
            return None
    # Won with the next move is not open either: both games of the pair would be decided before anybody has chosen. Of
    # Chain Reaction's 85 openings of two plies 12 are so, since plies 3 and 4 are forced.
    won = any(position.play(move).winner == position.to_move for move in position.legal_moves())
    return None if won else position


def position_key(position: Position) -> bytes:
    """Equal for positions whose boards are the same but for a symmetry."""
    cells = position.state[:-EXTRA]
    return min(cells[table].tobytes() for table in position.game.symmetries) + bytes([position.to_move & 0xFF])


def repeat(openings: list[Opening], count: int) -> list[Opening]:
    """The first `count`, from the front again when there are fewer."""
    return [openings[number % len(openings)] for number in range(count)]


def read_file(game: Game, path: Path | str) -> list[Opening]:
    """The openings of a text file, one a line: cells such as `E5 D4` or `40 30`. `#` begins a comment.

    Empty lines and lines of comment alone are skipped. ValueError names file, line and what is wrong with it.
    """
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text file"
        raise ValueError(f"openings must be empty, sampled:K or a file; {path} can't be read: {reason}") from None
    openings = []
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if words:
            try:
                openings.append(replay(game, tuple(parse_cell(game, word) for word in words)).moves)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
    if not openings:
        raise ValueError(f"{path} holds no opening; write one a line, such as {_example(game)}")
    return openings


def replay(game: Game, opening: Opening) -> Position:
    """The position after an opening; ValueError if a move is illegal or the game over."""
    position = game.start()
    for action in opening:
        position = position.play(action)
    if position.winner is not None:
        raise IllegalMove("The game is over after these moves; an opening must leave it open.")
    return position


def _example(game: Game) -> str:
    position = game.start()
    return position.cell_name(position.legal_moves()[0])


def from_text(game: Game, text: str, pairs: int | None, seed: int) -> list[Opening]:
    """The openings a command names: `empty`, `sampled:K` or a file; `pairs` of them.

    Without `pairs`, as many as a file holds, or DEFAULT_PAIRS. The empty board is repeated, and so is a short file.
    """
    if pairs is not None:
        check_whole("pairs", pairs, 1, 1_000_000)
    kind, sign, plies = text.partition(":")
    if text == "empty":
        return empty(pairs or DEFAULT_PAIRS)
    if kind == "sampled" and sign:
        check_whole("the K of sampled:K", int(plies) if plies.isdecimal() else plies, 0, 200)
        return sampled(game, int(plies), pairs or DEFAULT_PAIRS, seed)
    openings = read_file(game, text)
    return repeat(openings, pairs or len(openings))
