"""Players: a network, a search and a strength, behind one method. Most programs need nothing else."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from alphazero import hub
from alphazero.checkpoint import CHECKPOINTS, CONFIG, Checkpoint, CheckpointError, load_checkpoint
from alphazero.engine import Engine, Ticket, default_engine
from alphazero.game import Game, Position, UnknownGame, get_game
from alphazero.lane import Outcome
from alphazero.model import Model
from alphazero.pool import DRAW, LOSS, OPEN, WIN
from alphazero.root import Root
from alphazero.settings import DEFAULT_LEVEL, Budget, Level, SearchSettings, check_type, check_whole, short

PROVEN = {OPEN: None, WIN: "win", LOSS: "loss", DRAW: "draw"}


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found. Arrays [actions] over all cells; values are value_to_move of the position searched."""

    action: int
    probs: np.ndarray  # what the search thinks of each move: shares of the visits, proven mistakes 0; sums to 1
    value_to_move: float  # -1 (lost) to 1 (won) for the player to move
    visits: np.ndarray
    priors: np.ndarray  # the bare network's opinion, over legal moves
    action_values: np.ndarray  # value_to_move after each move, still from the mover's side; NaN where never tried
    proven: str | None  # "win", "loss" or "draw" for the side to move
    proven_plies: int | None  # the proven end comes within so many plies
    proven_moves: dict[int, str]  # moves whose result is certain, from the mover's side
    line: list[int]  # expected play, beginning with the best move
    simulations: int
    seconds: float
    stopped: str  # "simulations", "seconds", "proven", "memory", or "running" for a glance at a search under way
    position: Position = field(repr=False)
    outcome: Outcome = field(repr=False)  # for the engine: the tree to go on with
    symmetry: int = field(repr=False)


class Thinking:
    """A player's search under way: `result()`, `await`, `peek()` and `cancel()`."""

    def __init__(self, ticket: Ticket, finish: Any):
        self._ticket = ticket
        self._finish = finish

    def result(self, timeout: float | None = None) -> SearchResult:
        return self._finish(self._ticket.result(timeout))

    def __await__(self) -> Generator[Any, None, SearchResult]:
        outcome = yield from self._ticket.__await__()
        return self._finish(outcome)

    def peek(self) -> SearchResult | None:
        """What it thinks so far; None before there is anything."""
        outcome = self._ticket.peek()
        return None if outcome is None else self._finish(outcome)

    def cancel(self) -> bool:
        return self._ticket.cancel()

    def done(self) -> bool:
        return self._ticket.done()


class Player:
    """Thread-safe. Players of one model share its batches; all players of a process share the engine."""

    def __init__(
        self,
        model: Model,
        *,
        level: str | None = None,
        simulations: int | None = None,
        seconds: float | None = None,
        temperature: float | None = None,
        settings: SearchSettings | None = None,
        seed: int | None = None,
        engine: Engine | None = None,
    ):
        check_type("model", model, Model)
        if engine is not None:
            check_type("engine", engine, Engine)
        self.model = model
        self.game: Game = model.game
        self._settings = settings or model.game.search
        self._seed = _check_seed(seed)
        self._engine = engine
        self._defaults = self._strength(level, simulations, seconds, temperature)

    @property
    def engine(self) -> Engine:
        return self._engine or default_engine()

    @property
    def checkpoint(self) -> Checkpoint | None:
        return self.model.checkpoint

    def _strength(
        self, level: str | None, simulations: int | None, seconds: float | None, temperature: float | None
    ) -> Level:
        """Level, budget and temperature as one; what is given by hand takes the place of the level's.

        A temperature takes the place of the level's slips, too: 0 plays the best move.
        """
        if level is None and (simulations is not None or seconds is not None):
            chosen = Level(simulations=1)
        else:
            chosen = get_level(self.game, DEFAULT_LEVEL if level is None else level)
        if simulations is None and seconds is None:
            simulations, seconds = chosen.simulations, chosen.seconds
        budget = Budget(simulations, seconds)
        if temperature is None:
            return Level(budget.simulations, chosen.temperature, budget.seconds, chosen.slips)
        return Level(budget.simulations, temperature, budget.seconds)

    def search(self, position: Position, **options: Any) -> SearchResult:
        """Think and answer. Options as for `start`."""
        return self.start(position, **options).result()

    async def search_async(self, position: Position, **options: Any) -> SearchResult:
        """`search` for asyncio; cancelling the task stops the search."""
        return await self.start(position, **options)

    def start(
        self,
        position: Position,
        *,
        level: str | None = None,
        simulations: int | None = None,
        seconds: float | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        previous: SearchResult | None = None,
    ) -> Thinking:
        """Begin to think and return at once. Level, budget, temperature and seed stand in for the player's own.

        The answer to a turned or mirrored position is the same answer turned or mirrored: every search runs in one
        agreed orientation of the board. `previous` is this player's last result in the same game: what of its tree
        leads on from this position is kept, and its visits count towards the budget.
        """
        check_type("position", position, Position)
        if previous is not None:
            check_type("previous", previous, SearchResult)
        strength = self._defaults
        if level is not None or simulations is not None or seconds is not None:
            if level is None and temperature is None:
                temperature = strength.temperature
            strength = self._strength(level, simulations, seconds, temperature)
        elif temperature is not None:
            strength = self._strength(None, strength.simulations, strength.seconds, temperature)
        seed = _check_seed(seed) if seed is not None else self._seed
        if seed is None:
            seed = secrets.randbits(32)
        if previous is not None and position.moves_since(previous.position) is not None:
            symmetry = previous.symmetry  # go on in the orientation of the old tree
        else:
            symmetry, previous = canonical_symmetry(position), None
        turned = position.transform(symmetry) if symmetry else position
        ticket = self.engine.submit(
            self.model,
            turned,
            Budget(strength.simulations, strength.seconds),
            self._settings,
            seed=seed,
            previous=previous.outcome if previous else None,
        )
        # The position takes part in the seed, or a player would roll the same number at every move of a game.
        rng = np.random.default_rng([seed, zlib.crc32(turned.state.tobytes())])
        draw, slip = float(rng.random()), float(rng.random())

        def finish(outcome: Outcome) -> SearchResult:
            return _result(position, outcome, symmetry, strength, draw, slip)

        return Thinking(ticket, finish)

    def evaluate(self, position: Position) -> tuple[np.ndarray, float]:
        """The bare network, no search: probabilities [actions] over the legal moves, and value_to_move."""
        return _network_opinion(self._ask_network(position).result())

    async def evaluate_async(self, position: Position) -> tuple[np.ndarray, float]:
        """`evaluate` for asyncio."""
        return _network_opinion(await self._ask_network(position))

    def _ask_network(self, position: Position) -> Ticket:
        check_type("position", position, Position)
        if position.winner is not None:
            raise ValueError("the game is over; there is nothing to evaluate")
        # One simulation evaluates the root; its priors and value are what the network said.
        bare = SearchSettings(solver=False)
        return self.engine.submit(self.model, position, Budget(simulations=1), bare, keep=False)

    def warm_up(self) -> None:
        """Load and compile now, so that the first search is not slower than the tenth."""
        self.engine.warm_up(self.model)


def get_level(game: Game, level: str) -> Level:
    if not isinstance(level, str) or level not in game.levels:
        raise ValueError(f"{game.title} has no level {level!r}; levels: {', '.join(game.levels)}")
    return game.levels[level]


def canonical_symmetry(position: Position) -> int:
    """The symmetry that leads to the agreed orientation: the one whose state comes first in byte order."""
    return min(range(len(position.game.symmetries)), key=lambda s: position.transform(s).state.tobytes())


def load_player(
    source: str | Path,
    *,
    level: str | None = None,
    simulations: int | None = None,
    seconds: float | None = None,
    temperature: float | None = None,
    seed: int | None = None,
    revision: str | None = None,
    backend: str = "auto",
    engine: Engine | None = None,
) -> Player:
    """A player from a game's name (its network in checkpoints/), a folder, or a Hub repo id (owner/name[@revision]).

    Without a budget or level it plays at level "medium". With `simulations` (or `seconds`) and no level it is network
    and search alone, and with simulations its answers are the same every time (with OpenVINO even on a busy engine;
    torch's last digits depend on the batch).
    """
    model = Model.of(resolve_checkpoint(source, revision), backend=backend)
    return Player(
        model,
        level=level,
        simulations=simulations,
        seconds=seconds,
        temperature=temperature,
        seed=seed,
        engine=engine,
    )


def resolve_checkpoint(source: str | Path, revision: str | None = None) -> Checkpoint:
    """Find and load what `load_player` is given. A plain word is a game's name; folders have a slash or a config."""
    if not isinstance(source, str | Path) or not str(source) or "\0" in str(source):
        raise CheckpointError(f"A player comes from a game's name, a folder or a Hub repo id, not from {source!r}.")
    try:
        return _resolve(source, revision)
    except (OSError, RuntimeError) as error:  # a path too long, a home that is not there, a folder closed to us
        raise CheckpointError(f"{short(str(source))} can't be opened: {error}") from None


def _resolve(source: str | Path, revision: str | None) -> Checkpoint:
    folder = Path(source).expanduser()
    repo = isinstance(source, str) and hub.is_repo_id(source) and not folder.is_dir()
    if revision is not None and not repo:
        raise CheckpointError(f"A revision goes with a Hub repo id (owner/name); {short(str(source))} is none.")
    if isinstance(source, str) and "/" not in source and not (folder / CONFIG).is_file():
        try:
            return load_checkpoint(CHECKPOINTS / get_game(source).name)
        except UnknownGame as error:
            raise UnknownGame(f"{error} A folder or a Hub repo id (owner/name) will do, too.") from None
    if repo:
        folder, commit = hub.fetch(str(source), revision)
        return load_checkpoint(folder, source=commit)
    return load_checkpoint(folder)  # says that there is none


def checkpoint_for(game: Game, source: str | Path | None) -> Checkpoint:
    """The checkpoint that a command was given for this game, or the shipped one; ValueError if it is another game's."""
    checkpoint = resolve_checkpoint(game.name if source is None else source)
    if checkpoint.game is not game:
        raise ValueError(f"{source} plays {checkpoint.game.name}, not {game.name}")
    return checkpoint


def _check_seed(seed: int | None) -> int | None:
    if seed is None:
        return None
    check_whole("seed", seed, 0, 2**63 - 1)
    return int(seed)


def _result(
    position: Position, outcome: Outcome, symmetry: int, strength: Level, draw: float, slip: float
) -> SearchResult:
    """The outcome of a search in its agreed orientation, seen from the caller's again."""
    root = outcome.root
    probs = _opinion(root)
    table = position.game.symmetries[symmetry]
    undo = position.game.symmetries[position.game.inverses[symmetry]]

    def back(values: np.ndarray, fill: float = 0.0) -> np.ndarray:
        return root.spread(values, fill)[table]  # what stands at table[cell] over there belongs to `cell` here

    if slip < strength.slips:
        pick = int(draw * len(root.actions))
    else:
        pick = root.best if strength.temperature == 0 else _sample(probs, strength.temperature, draw)
    return SearchResult(
        action=int(undo[root.actions[pick]]),
        probs=back(probs),
        value_to_move=root.value_to_move,
        visits=back(root.visits),
        priors=back(root.priors),
        action_values=back(root.values, np.nan),
        proven=PROVEN[root.proof],
        proven_plies=root.proof_plies if root.proof != OPEN else None,
        proven_moves={
            int(undo[action]): word
            for action, proof in zip(root.actions, root.proofs, strict=True)
            if (word := PROVEN[int(proof)]) is not None
        },
        line=[int(undo[action]) for action in root.line],
        simulations=root.simulations,
        seconds=outcome.seconds,
        stopped=outcome.stopped,
        position=position,
        outcome=outcome,
        symmetry=symmetry,
    )


def _network_opinion(outcome: Outcome) -> tuple[np.ndarray, float]:
    return outcome.root.spread(outcome.root.priors), outcome.root.network_value


def _opinion(root: Root) -> np.ndarray:
    """Shares of the visits [moves], with what is proven taken into account; the priors while nothing was visited."""
    if root.proofs[root.best] in (WIN, LOSS):  # won, or lost whatever one does: the quickest win, the longest defence
        return np.eye(len(root.actions))[root.best]
    weights = np.where(root.proofs == LOSS, 0, root.visits).astype(np.float64)
    if weights.sum() == 0:
        weights = np.where(root.proofs == LOSS, 0.0, root.priors)
    if weights.sum() == 0:  # priors so small that they are 0
        weights = (root.proofs != LOSS).astype(np.float64)
    return weights / weights.sum()


def _sample(probs: np.ndarray, temperature: float, draw: float) -> int:
    """An index drawn from probs^(1/temperature), `draw` being uniform in 0..1."""
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
        weights = np.exp(np.maximum(logs - logs.max(), -1e4) / max(temperature, 1e-6))
    weights[probs == 0] = 0
    chosen = int(np.searchsorted(np.cumsum(weights / weights.sum()), draw, side="right"))
    return min(chosen, int(np.flatnonzero(weights)[-1]))  # rounding must not reach past the last possible move
