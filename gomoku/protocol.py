"""What both ends of the Gomocup protocol share: lines cut out of bytes, coordinates, and boards.

A cell is written x,y: column, then row, both from 0 at the top left. A board is one line a stone, `x,y,field`, where
field 1 is a stone of the engine that is asked and 2 one of its opponent's.
"""

from __future__ import annotations

import re
from itertools import chain, zip_longest

import numpy as np

from alphazero.game import IllegalBoard, Position
from alphazero.settings import short
from gomoku import CELLS, GAME, SIZE

MAX_LINE = 1024  # bytes; the protocol lets either side cut what is longer
OWN, OTHER = 1, 2

_XY = re.compile(r"([0-9]{1,9})\s*,\s*([0-9]{1,9})")
_FIELD = re.compile(r"([0-9]{1,9}\s*,\s*[0-9]{1,9})\s*,\s*([0-9]{1,9})")


class ProtocolError(ValueError):
    """Something the protocol does not allow; the message says what, in one line."""


class Lines:
    """Cuts bytes into lines at CR or LF, drops empty ones, and never holds more than `limit` bytes of one."""

    def __init__(self, limit: int = MAX_LINE):
        self._limit = limit
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes complete, as ASCII; other bytes are written \\x.. ."""
        head, *tail = re.split(rb"[\r\n]", data)
        done = []
        self._rest = (self._rest + head)[: self._limit]
        for part in tail:
            done.append(self._rest)
            self._rest = part[: self._limit]
        texts = (line.decode("ascii", "backslashreplace").strip() for line in done)
        return [text for text in texts if text]


def parse_xy(text: str) -> int:
    """`x,y` as an action."""
    match = _XY.fullmatch(text.strip())
    if not match or not all(int(number) < SIZE for number in match.groups()):
        raise ProtocolError(f"a cell is x,y with both from 0 to {SIZE - 1}, not {short(text)}")
    return int(match[2]) * SIZE + int(match[1])


def write_xy(action: int) -> str:
    row, col = divmod(action, SIZE)
    return f"{col},{row}"


class BoardReader:
    """Takes the lines between BOARD and DONE, one at a time, and makes a position of them."""

    def __init__(self) -> None:
        self._stones: dict[int, int] = {}  # action -> field, in the order given
        self._problem: str | None = None  # the first one; what follows it is read, but not looked at

    def add(self, line: str) -> None:
        if self._problem is None:
            try:
                self._take(line)
            except ProtocolError as error:
                self._problem = f"BOARD: {error}"

    def _take(self, line: str) -> None:
        match = _FIELD.fullmatch(line)
        if not match:
            raise ProtocolError(f"a stone is x,y,field, not {short(line)}")
        action, field = parse_xy(match[1]), int(match[2])
        if field not in (OWN, OTHER):
            raise ProtocolError(f"a field is 1 (own stone) or 2 (the opponent's), not {field}")
        if action in self._stones:
            raise ProtocolError(f"{write_xy(action)} is given twice")
        self._stones[action] = field

    def position(self) -> Position:
        """The position with this engine to move; ProtocolError if no game reaches it, or if the game is over.

        Black began, so an engine that is to move is black if both have as many stones, and white if its opponent has
        one more. The stones of each side are taken in the order given, the two in turns: a manager that lists the
        moves as they were made gets exactly these, one that lists one side first gets a game that leads here.
        """
        if self._problem is not None:
            raise ProtocolError(self._problem)
        own = [action for action, field in self._stones.items() if field == OWN]
        other = [action for action, field in self._stones.items() if field == OTHER]
        if len(other) - len(own) not in (0, 1):
            raise ProtocolError(
                f"BOARD: {len(own)} own stones and {len(other)} of the opponent's; with the engine to move there are "
                "as many of both, or the opponent has one more"
            )
        black, white, to_move = (own, other, 1) if len(own) == len(other) else (other, own, -1)
        cells = np.zeros(CELLS, np.int16)
        cells[black], cells[white] = 1, -1
        try:
            position = GAME.from_board(cells.reshape(SIZE, SIZE), to_move)
        except IllegalBoard as error:
            raise ProtocolError(f"BOARD: {error}") from None
        if position.winner is not None:
            raise ProtocolError("BOARD: the game is over on this board")
        position = GAME.start()  # a board without a five has none on the way to it, so its moves can be replayed
        for action in _in_turns(black, white):
            position = position.play(action)
        return position


def board_lines(position: Position) -> list[str]:
    """The lines between BOARD and DONE for the engine that is to move, in the order of the moves where it is known."""
    board = position.board.ravel()
    moves = list(position.moves)
    if len(moves) != position.plies:  # the game began from a board
        before = [action for action in np.flatnonzero(board).tolist() if action not in moves]
        moves = _in_turns([a for a in before if board[a] == 1], [a for a in before if board[a] == -1]) + moves
    return [f"{write_xy(action)},{OWN if board[action] == position.to_move else OTHER}" for action in moves]


def _in_turns(black: list[int], white: list[int]) -> list[int]:
    return [action for action in chain.from_iterable(zip_longest(black, white)) if action is not None]
