"""Players: a network, a search and a strength, behind one method. Most programs need nothing else."""

from __future__ import annotations

import secrets
import time
import weakref
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from alphazero import hub, proving
from alphazero.checkpoint import CHECKPOINTS, CONFIG, Checkpoint, CheckpointError, load_checkpoint
from alphazero.engine import Engine, Ticket, default_engine
from alphazero.game import Game, Position, UnknownGame, get_game
from alphazero.knowledge import Knowledge
from alphazero.lane import Outcome
from alphazero.model import Model
from alphazero.proof import Proof
from alphazero.proving import Inquiry
from alphazero.result import SearchResult, make_result
from alphazero.settings import DEFAULT_LEVEL, Budget, Level, SearchSettings, check_type, check_whole, short
from alphazero.thinking import Thinking


class Player:
    """Thread-safe. Players of one model share its batches; all players of a process share the engine."""

    def __init__(
        self,
        model: Model,
        *,
        level: str | Level | None = None,
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
        self, level: str | Level | None, simulations: int | None, seconds: float | None, temperature: float | None
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
        chosen = replace(chosen, simulations=budget.simulations, seconds=budget.seconds)
        return chosen if temperature is None else replace(chosen, temperature=temperature, slips=0.0)

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
        proof_nodes: int | None = None,
    ) -> Thinking:
        """Begin to think and return at once. Level, budget, temperature and seed stand in for the player's own.

        `proof_nodes` asks the game's prover, too, with so many nodes instead of the level's.

        The answer to a turned or mirrored position is the same answer turned or mirrored: every search runs in one
        agreed orientation of the board. `previous` is this player's last result in the same game: what of its tree
        leads on from this position is kept, and its visits count towards the budget. A level with tactics at the
        leaves begins anew: its trees leave out moves that do not matter to a proof, but to whoever looks at them.
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
            strength = replace(strength, temperature=temperature, slips=0.0)
        if proof_nodes is not None:
            strength = replace(strength, proof_nodes=proof_nodes)
        seed = _check_seed(seed) if seed is not None else self._seed
        if seed is None:
            seed = secrets.randbits(32)
        settings = self._settings
        if strength.leaf_nodes and settings.solver:
            settings = replace(settings, leaf_nodes=strength.leaf_nodes)
        if previous is not None and position.moves_since(previous.position) is not None:
            symmetry = previous.symmetry  # go on in the orientation of the old tree
        else:
            symmetry, previous = canonical_symmetry(position), None
        turned = position.transform(symmetry) if symmetry else position
        ticket = self.engine.submit(
            self.model,
            turned,
            Budget(strength.simulations, strength.seconds),
            settings,
            seed=seed,
            previous=previous.outcome if previous else None,
        )
        inquiry = _inquire(turned, strength, ticket)
        # The position takes part in the seed, or a player would roll the same number at every move of a game.
        rng = np.random.default_rng([seed, zlib.crc32(turned.state.tobytes())])
        draw, slip = float(rng.random()), float(rng.random())

        def finish(outcome: Outcome, proof: Proof, seconds: float) -> SearchResult:
            return make_result(
                position, outcome, Knowledge(outcome.root, proof), seconds, symmetry, strength, draw, slip
            )

        return Thinking(ticket, inquiry, strength.seconds is not None, finish)

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
        if self.uses_prover:
            proving.warm_up(self.game)

    @property
    def uses_prover(self) -> bool:
        """Does any of the game's levels ask its prover?"""
        return any(level.proof_nodes for level in self.game.levels.values())


def get_level(game: Game, level: str | Level) -> Level:
    """The game's level of this name; one made by hand stands for itself."""
    if isinstance(level, Level):
        return level
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


def _inquire(position: Position, strength: Level, ticket: Ticket) -> Inquiry | None:
    """Ask the game's prover, if there is one and the strength calls for it.

    Where time counts, a proven win ends the search; where simulations do, nothing may depend on the clock.
    """
    if not strength.proof_nodes or position.game.prove is None:
        return None
    deadline = float("inf") if strength.seconds is None else time.perf_counter() + strength.seconds
    hurry = weakref.WeakMethod(ticket.hurry)  # the prover must not keep a search alive that nobody waits for

    def on_win() -> None:
        method = hurry()
        if method is not None and strength.seconds is not None:
            method()

    return Inquiry(position, strength.proof_nodes, deadline, on_win)


def _network_opinion(outcome: Outcome) -> tuple[np.ndarray, float]:
    return outcome.root.spread(outcome.root.priors), outcome.root.network_value
