"""What a game is, and what a position is: the only rules API that the engine, the web and the commands use.

A game is a package with an attribute `GAME`, an instance of `Game`. Its rules are three small functions compiled by
Numba (see docs/add-a-game.md). A position is one flat int16 array,

    state = [cell 0, cell 1, ... , TO_MOVE, LAST, WINNER, PLIES]

cells in the game's own signed numbers, the four fields below after them. The search keeps these arrays in its trees;
`Position` is the friendly, immutable face of one of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alphazero.settings import DEFAULT_LEVELS, LEVELS, Level, NetworkShape, SearchSettings, check_whole, short
from alphazero.symmetry import inverses, symmetries
from alphazero.train_settings import TrainSettings

if TYPE_CHECKING:
    from alphazero.proof import Effort, Proof

TO_MOVE, LAST, WINNER, PLIES = -4, -3, -2, -1  # the fields behind the cells, counted from the end of a state
EXTRA = 4
NOTHING, WINS, LOSES, FORCED = 0, 1, 2, 3  # what a game's tactics say
UNDECIDED = 2  # what WINNER holds while the game goes on; +1, -1 and 0 (draw) end it

PROJECT = Path(__file__).resolve().parent.parent


class IllegalMove(ValueError):
    """A move the rules do not allow; the message says why and what is allowed."""


class IllegalBoard(ValueError):
    """A board that is no position of the game; the message says why."""


class UnknownGame(ValueError):
    """No such game; the message lists those there are."""


@dataclass(frozen=True, eq=False)
class Game:
    """The rules of one game and the settings that suit it. Cells and actions are numbered row by row from 0."""

    name: str
    title: str
    rows: int
    cols: int
    rules_version: int
    symbols: dict[int, str]  # every value a cell can have -> how it is written
    # play(cells, player, action, plies) -> winner: changes `cells` in place; `plies` moves went before.
    play: Callable[..., int]
    # legal(cells, player, plies, mask): writes True or False for every action.
    legal: Callable[..., None]
    # encode(cells, player, last, planes): writes float32 [planes, cells], zeros before, from the mover's side.
    encode: Callable[..., None]
    # check_board(cells, to_move) -> (plies, winner) or raises IllegalBoard; see from_board.
    check_board: Callable[[np.ndarray, int], tuple[int, int]]
    network: NetworkShape
    # explain_illegal(cells, player, action) -> why this cell may not be played, in words, after "C3 ".
    explain_illegal: Callable[[np.ndarray, int, int], str] = lambda cells, player, action: (
        "is taken; play an empty cell." if cells[action] else "may not be played now."
    )
    players: dict[int, str] = field(default_factory=lambda: {1: "First", -1: "Second"})  # what a person calls them
    # For whoever draws the board, both optional. waves(cells, player, action, plies) -> the boards between a move and
    # its result, each with the cells that burst next; winning_cells(cells, winner) -> what to mark when it is over.
    waves: Callable[[np.ndarray, int, int, int], list[tuple[np.ndarray, list[int]]]] = lambda *move: []
    winning_cells: Callable[[np.ndarray, int], list[int]] = lambda cells, winner: []
    search: SearchSettings = field(default_factory=SearchSettings)
    levels: dict[str, Level] = field(default_factory=lambda: dict(DEFAULT_LEVELS))
    training: TrainSettings = field(default_factory=TrainSettings)

    def __post_init__(self) -> None:
        """Whoever writes a game hears at once what is missing, in words."""
        check_whole(f"{self.name}: rows", self.rows, 1, 26)
        check_whole(f"{self.name}: cols", self.cols, 1, 26)
        check_whole(f"{self.name}: rules_version", self.rules_version, 1, 10**6)
        for rule in ("play", "legal", "encode"):
            if not hasattr(getattr(self, rule), "py_func"):
                raise ValueError(f"{self.name}: {rule} must be compiled; put @njit(cache=True) above it")
        if 0 not in self.symbols or min(self.symbols) >= 0 or max(self.symbols) <= 0:
            raise ValueError(f"{self.name}: symbols must name 0 (empty) and cell values of both players")
        if set(self.players) != {1, -1}:
            raise ValueError(f"{self.name}: players must name 1 and -1")
        if list(self.levels) != list(LEVELS):
            raise ValueError(f"{self.name}: levels must be {', '.join(LEVELS)}, in this order")

    @property
    def num_actions(self) -> int:
        return self.rows * self.cols

    @property
    def state_size(self) -> int:
        return self.num_actions + EXTRA

    @property
    def symmetries(self) -> np.ndarray:
        """int64 [8 or 4, cells]: where each cell goes under each symmetry of the board."""
        return symmetries(self.rows, self.cols)

    @property
    def inverses(self) -> np.ndarray:
        return inverses(self.rows, self.cols)

    @cached_property
    def prove(self) -> Callable[[Position, Effort], Proof] | None:
        """What the game can prove about its positions: `prove` of its module `prover`, if it has one."""
        return self._own("prover", "prove")

    @cached_property
    def tactics(self) -> Any:
        """What the game sees at a glance, compiled: `tactics` of its module `tactics`, if it has one.

        tactics(cells, player, nodes) -> (result, action, plies), result one of NOTHING, WINS, LOSES (within so many
        plies, for the player to move) and FORCED (`action` is the only move that does not lose).
        """
        return self._own("tactics", "tactics")

    def _own(self, module: str, name: str) -> Any:
        part = self.part(module)
        return None if part is None else getattr(part, name)

    def part(self, module: str) -> Any:
        """A module of this name in the game's package, or None; a game in a single file has no parts."""
        path = f"{self.name}.{module}"
        try:
            found = importlib.util.find_spec(path)
        except ModuleNotFoundError:
            return None
        return importlib.import_module(path) if found else None

    def start(self) -> Position:
        """The empty board, +1 to move."""
        return Position(self, self._state(np.zeros(self.num_actions, np.int16), 1, 0, UNDECIDED))

    def from_board(self, board: Any, to_move: int = 1) -> Position:
        """The position with this board [rows, cols] and player to move; IllegalBoard says what is wrong with it.

        What a board does not show is taken as plainly as possible: no last move, the fewest plies it can have taken.
        """
        cells = self._cells(board)
        if isinstance(to_move, bool) or not isinstance(to_move, int | np.integer) or to_move not in (1, -1):
            raise IllegalBoard(f"The player to move must be 1 (first) or -1, not {short(to_move)}.")
        plies, winner = self.check_board(cells, int(to_move))
        return Position(self, self._state(cells, int(to_move), plies, winner))

    def _cells(self, board: Any) -> np.ndarray:
        shape = f"{self.rows} rows of {self.cols} whole numbers"
        try:
            array = np.asarray(board)
        except (ValueError, TypeError):  # ragged lists
            raise IllegalBoard(f"A {self.title} board is {shape}; the rows given differ in length.") from None
        if array.shape != (self.rows, self.cols):
            raise IllegalBoard(f"A {self.title} board is {shape}; this one has the shape {list(array.shape)}.")
        allowed = sorted(self.symbols)
        if array.dtype == bool or not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
            cell = next((c for c in array.ravel().tolist() if type(c) is not int or c not in allowed), array.flat[0])
            raise IllegalBoard(
                f"A {self.title} board is {shape} from {allowed[0]} to {allowed[-1]}; this one has {str(cell)[:40]!r}."
            )
        if not np.isin(array, allowed).all():
            row, col = np.argwhere(~np.isin(array, allowed))[0]
            raise IllegalBoard(
                f"Row {row + 1}, column {col + 1} holds {array[row, col]}; "
                f"{self.title} cells hold whole numbers from {allowed[0]} to {allowed[-1]}."
            )
        return array.astype(np.int16).ravel()

    def _state(self, cells: np.ndarray, to_move: int, plies: int, winner: int) -> np.ndarray:
        return np.concatenate([cells, np.array([to_move, -1, winner, plies])]).astype(np.int16)

    def __reduce__(self) -> tuple[Any, ...]:
        return get_game, (self.name,)  # compiled rules do not pickle; the name is enough

    def __repr__(self) -> str:
        return f"<game {self.name}, {self.rows}x{self.cols}, rules version {self.rules_version}>"


def count_stones(cells: np.ndarray, to_move: int) -> int:
    """Stones on a board where each move adds one and +1 begins; IllegalBoard if it can't be to_move's turn."""
    first, second = int((cells > 0).sum()), int((cells < 0).sum())
    if first - second != (to_move == -1):
        raise IllegalBoard(
            f"There are {first} of the first player's and {second} of the second's: the first (1) begins, so with 1 to "
            "move they are equal, and with -1 to move the first has one more."
        )
    return first + second


class Position:
    """One position of one game. Immutable; `play` gives a new one."""

    def __init__(self, game: Game, state: np.ndarray, origin: np.ndarray | None = None, moves: tuple[int, ...] = ()):
        self._game = game
        self._state = state
        self._origin = state if origin is None else origin  # where `moves` begins
        self._moves = moves

    @property
    def game(self) -> Game:
        return self._game

    @property
    def moves(self) -> tuple[int, ...]:
        """The actions played since the start, or since the board given to from_board."""
        return self._moves

    @property
    def state(self) -> np.ndarray:
        """A copy of the raw int16 state (see the module's head)."""
        return self._state.copy()

    @property
    def board(self) -> np.ndarray:
        """int16 [rows, cols], the caller's own copy."""
        return self._state[:-EXTRA].reshape(self.game.rows, self.game.cols).copy()

    @property
    def to_move(self) -> int:
        return int(self._state[TO_MOVE])

    @property
    def winner(self) -> int | None:
        """None while the game goes on, else +1, -1 or 0 for a draw."""
        winner = int(self._state[WINNER])
        return None if winner == UNDECIDED else winner

    @property
    def plies(self) -> int:
        return int(self._state[PLIES])

    @property
    def last_action(self) -> int | None:
        return int(self._state[LAST]) if self._state[LAST] >= 0 else None

    @cached_property
    def _legal_mask(self) -> np.ndarray:
        mask = np.zeros(self.game.num_actions, np.bool_)
        if self.winner is None:
            self.game.legal(self._state[:-EXTRA], self.to_move, self.plies, mask)
        return mask

    def legal_moves(self) -> list[int]:
        """The actions allowed here, in ascending order; none once the game is over."""
        return [int(action) for action in np.flatnonzero(self._legal_mask)]

    def play(self, action: int) -> Position:
        """The position after this move; IllegalMove says why it may not be played."""
        action = self._check_action(action)
        state = self._state.copy()
        winner = self.game.play(state[:-EXTRA], self.to_move, action, self.plies)
        state[TO_MOVE] = -self.to_move
        state[LAST] = action
        state[WINNER] = winner
        state[PLIES] = self.plies + 1
        return Position(self.game, state, self._origin, (*self.moves, action))

    def _check_action(self, action: int) -> int:
        count = self.game.num_actions
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if isinstance(action, bool) or not 0 <= number < count:
            raise IllegalMove(f"A move is a cell number from 0 to {count - 1}, not {short(action)}.")
        if self.winner is not None:
            raise IllegalMove("The game is over; no more moves can be played.")
        if not self._legal_mask[number]:
            why = self.game.explain_illegal(self._state[:-EXTRA], self.to_move, number)
            raise IllegalMove(f"{self.cell_name(number)} (cell {number}) {why}")
        return number

    def cell_name(self, action: int) -> str:
        """A cell as a person says it: column letter, then row number from the top; cell 0 is A1."""
        check_whole("action", action, 0, self.game.num_actions - 1)
        row, col = divmod(action, self.game.cols)
        return f"{chr(ord('A') + col)}{row + 1}"

    def transform(self, symmetry: int) -> Position:
        """The same position seen through symmetry number `symmetry`, its moves with it."""
        check_whole("symmetry", symmetry, 0, len(self.game.symmetries) - 1)
        table = self.game.symmetries[symmetry]
        return Position(
            self.game,
            _transform_state(self._state, table),
            _transform_state(self._origin, table),
            tuple(int(table[action]) for action in self.moves),
        )

    def planes(self) -> np.ndarray:
        """What the network sees: float32 [planes, rows, cols], from the side of the player to move."""
        game = self.game
        planes = np.zeros((game.network.planes, game.num_actions), np.float32)
        game.encode(self._state[:-EXTRA], self.to_move, int(self._state[LAST]), planes)
        return planes.reshape(-1, game.rows, game.cols)

    def moves_since(self, earlier: Position) -> tuple[int, ...] | None:
        """The moves that lead from `earlier` to here, or None if this is no later position of the same game."""
        same_start = self.game is earlier.game and np.array_equal(self._origin, earlier._origin)
        count = len(earlier.moves)
        return self.moves[count:] if same_start and self.moves[:count] == earlier.moves else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self.game is other.game and np.array_equal(self._state, other._state)

    def __hash__(self) -> int:
        return hash((self.game.name, self._state.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Position, (self.game, self._state, self._origin, self.moves)

    def __repr__(self) -> str:
        return f"<{self.game.name} position after {self.plies} plies>"

    def __str__(self) -> str:
        from alphazero.text import draw

        return draw(self)


def _transform_state(state: np.ndarray, table: np.ndarray) -> np.ndarray:
    moved = state.copy()
    moved[table] = state[:-EXTRA]
    if state[LAST] >= 0:
        moved[LAST] = table[state[LAST]]
    return moved


def get_game(name: str) -> Game:
    """The game of this name: the attribute `GAME` of the package called so."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise UnknownGame(f"There is no game {short(name)}. Games here: {', '.join(game_names())}.")
    return _load_game(name)


@cache
def _load_game(name: str) -> Game:
    if not _defines_game(name):
        raise UnknownGame(f"There is no game {name!r}. Games here: {', '.join(game_names())}.")
    game = importlib.import_module(name).GAME
    if not isinstance(game, Game):
        raise UnknownGame(f"{name}.GAME must be an alphazero.Game, not {type(game).__name__}.")
    if game.name != name:
        raise UnknownGame(f"{name}.GAME calls itself {game.name!r}; the two names must be the same.")
    return game


def game_names() -> list[str]:
    """The games that stand beside the engine in this project."""
    return sorted(folder.parent.name for folder in PROJECT.glob("*/__init__.py") if _has_game(folder))


def _defines_game(name: str) -> bool:
    # Names come from checkpoints and from the network: look into the source before importing, so that nothing but a
    # game is ever imported because somebody asked for it.
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and _has_game(Path(spec.origin))


def _has_game(source: Path) -> bool:
    try:
        return source.suffix == ".py" and re.search(r"^GAME\b", source.read_text("utf-8"), re.MULTILINE) is not None
    except (OSError, UnicodeDecodeError):
        return False
