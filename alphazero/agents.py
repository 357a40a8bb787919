"""Agents: whatever can play in a match, made from a short text such as `net@400` or from Python.

An Agent is a kind of player with its settings. For every game it takes part in it sits down once and gives a
Contestant, which plays that game alone and is closed after it; an external engine so has one process a game.

    agent = make_agent(game, "net@400")                    # or NetAgent(model, simulations=400)
    contestant = await agent.sit_down(seat)
    action = await contestant.choose(position)             # position.moves is the game so far, opening included
    await contestant.close()

A game adds its own kinds in a module `{game}/agents.py` with a dict AGENTS: how the kind is written -> factory. The
factory gets the text behind each sign, "" where there is none, and returns an Agent or raises a ValueError of one
sentence. Square brackets say that an argument may be missing; a kind without arguments gets one empty text:

    AGENTS = {"greedy": greedy, "alphabeta[@DEPTH]": alphabeta, "gomocup:COMMAND": gomocup}

Such a module imports nothing of the engine but this one, `alphazero.game` and `alphazero.settings`.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from alphazero.engine import Engine
from alphazero.game import Game, Position
from alphazero.lane import Outcome
from alphazero.model import Model
from alphazero.player import Player, canonical_symmetry, checkpoint_for, get_level
from alphazero.rollout import MAX_PLAYOUTS, Rollout
from alphazero.settings import MAX_SIMULATIONS, Budget, Level, SearchSettings, check_type, check_whole, short

DEFAULT_SIMULATIONS = 200
NET, SOLVER, POLICY = "net[:FOLDER][@SIMS]", "net+[:FOLDER][@SIMS]", "policy[:FOLDER]"
LEVEL, ROLLOUT, RANDOM = "level:NAME", "rollout@N", "random"
BUILT_IN = (NET, SOLVER, POLICY, LEVEL, ROLLOUT, RANDOM)


class Forfeit(Exception):
    """An external engine can't go on: it crashed, ran out of time or talks nonsense. It loses this game.

    Only contestants of agents with `external` raise it, with the reason in words. Any other error ends the match.
    """


@dataclass(frozen=True)
class Seat:
    """A place in one game of a match."""

    engine: Engine  # runs searches in shared batches
    threads: Executor  # for work that computes without Python's lock
    seed: int  # 0 to 2**63 - 1, another for every match seed, game and agent; a contestant's only source of chance
    side: int  # +1 moves first, -1 second


class Contestant(ABC):
    """An agent in one game. Only one `choose` runs at a time; cancelling it must be harmless."""

    @abstractmethod
    async def choose(self, position: Position) -> int:
        """The action to play; `position` is unfinished and this contestant is to move."""

    async def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of everything. Called once, also after a cancelled or failed `choose`; raises nothing."""


class Agent(ABC):
    """A kind of player. `name` is how the command line writes it and results call it."""

    name: str
    external = False  # True: a program not ours, whose Forfeits and illegal moves lose the game instead of the match
    at_once: int | None = None  # how many games it can play at a time without harm to itself; None for any number
    tree_nodes = 0  # nodes of search tree in the engine a game may take

    @abstractmethod
    async def sit_down(self, seat: Seat) -> Contestant:
        """A fresh contestant for one game. Asyncio, so that a process may be started; may raise Forfeit."""

    def describe(self) -> dict[str, Any]:
        """What fixes its strength, for the record of a match: JSON values only."""
        return {"name": self.name}


class Thinker(Agent):
    """An agent made of one function: think(position, seed) -> action, in a thread of the match.

    The function gets another seed at every ply, takes all its chance from it, and should compute without Python's
    lock (Numba, nogil) if it takes long.
    """

    def __init__(self, name: str, think: Callable[[Position, int], int]):
        self.name = name
        self.think = think

    async def sit_down(self, seat: Seat) -> Contestant:
        return _ThinkerInGame(self.think, seat)


class _ThinkerInGame(Contestant):
    def __init__(self, think: Callable[[Position, int], int], seat: Seat):
        self._think = think
        self._seat = seat

    async def choose(self, position: Position) -> int:
        seed = mix(self._seat.seed, position.plies)
        return await asyncio.get_running_loop().run_in_executor(self._seat.threads, self._think, position, seed)


def alphabeta(best_moves: Callable[[Position, int], list[int]], max_depth: int) -> Callable[[str], Agent]:
    """The factory of `alphabeta@DEPTH` for a game: it plays at random one of the moves that it finds equally good."""

    def factory(argument: str) -> Agent:
        depth = read_whole("DEPTH", argument, 1, max_depth)

        def choose(position: Position, seed: int) -> int:
            return int(np.random.default_rng(seed).choice(best_moves(position, depth)))

        return Thinker(f"alphabeta@{depth}", choose)

    return factory


class NetAgent(Agent):
    """Network and plain PUCT through the match's engine, `simulations` a move, in the board's agreed orientation.

    Every move is searched anew: results depend on the position alone, and simulations are exact.
    """

    turns = True  # the board into its agreed orientation, as players do

    def __init__(
        self,
        model: Model,
        *,
        simulations: int = DEFAULT_SIMULATIONS,
        settings: SearchSettings | None = None,
        name: str | None = None,
    ):
        check_type("model", model, Model)
        self.model = model
        self.budget = Budget(simulations=simulations)
        self.settings = model.game.search if settings is None else settings
        self.name = f"net@{simulations}" if name is None else name
        self.tree_nodes = simulations + 2

    async def sit_down(self, seat: Seat) -> Contestant:
        return _NetInGame(self, seat)

    def pick(self, outcome: Outcome) -> int:
        """The action to play after a finished search."""
        refuse_memory(self.name, outcome.stopped)
        return int(outcome.root.actions[outcome.root.best])

    def describe(self) -> dict[str, Any]:
        checkpoint = self.model.checkpoint
        return {
            "name": self.name,
            "simulations": self.budget.simulations,
            "search": asdict(self.settings),
            "rules_version": self.model.game.rules_version,
            "checkpoint": checkpoint.source if checkpoint else None,
        }


class PolicyAgent(NetAgent):
    """The bare network: the legal move of highest probability, no search, the board as it lies."""

    turns = False

    def __init__(self, model: Model, *, name: str = "policy"):
        # One simulation evaluates the root; the solver would see a win at once, which is more than the network says.
        super().__init__(model, simulations=1, settings=SearchSettings(solver=False), name=name)

    def pick(self, outcome: Outcome) -> int:
        return int(outcome.root.actions[np.argmax(outcome.root.priors)])


class _NetInGame(Contestant):
    def __init__(self, agent: NetAgent, seat: Seat):
        self._agent = agent
        self._seat = seat

    async def choose(self, position: Position) -> int:
        agent, game = self._agent, position.game
        symmetry = canonical_symmetry(position) if agent.turns else 0
        turned = position.transform(symmetry) if symmetry else position
        seed = mix(self._seat.seed, position.plies)
        outcome = await self._seat.engine.submit(
            agent.model, turned, agent.budget, agent.settings, seed=seed, keep=False
        )
        return int(game.symmetries[game.inverses[symmetry]][agent.pick(outcome)])


class LevelAgent(Agent):
    """A player at one of the game's levels, or anything like one, as people meet him; but by simulations, not by time.

    Without a clock a game can be repeated, and does not depend on how many others are played beside it.
    """

    def __init__(self, model: Model, level: Level, name: str):
        if level.simulations is None:
            raise ValueError(f"{name} thinks by the clock alone; a match needs simulations")
        self.model = model
        self.level = replace(level, seconds=None)
        self.name = name
        self.tree_nodes = level.simulations + 2

    async def sit_down(self, seat: Seat) -> Contestant:
        return _LevelInGame(self, seat)

    def describe(self) -> dict[str, Any]:
        checkpoint = self.model.checkpoint
        source = checkpoint.source if checkpoint else None
        return {"name": self.name, "level": asdict(self.level), "checkpoint": source}


class _LevelInGame(Contestant):
    def __init__(self, agent: LevelAgent, seat: Seat):
        self._name = agent.name
        self._player = Player(agent.model, level=agent.level, engine=seat.engine)
        self._seed = seat.seed

    async def choose(self, position: Position) -> int:
        result = await self._player.search_async(position, seed=mix(self._seed, position.plies))
        refuse_memory(self._name, result.stopped)
        return result.action


def refuse_memory(name: str, stopped: str) -> None:
    """A search that ran out of memory depends on the other games, so nothing could be repeated: end the match."""
    if stopped == "memory":
        raise ValueError(f"{name}: the engine has too little tree memory; play fewer games in parallel")


def mix(*numbers: int) -> int:
    """A seed, 0 to 2**63 - 1, out of several whole numbers; another for any other numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


# -- from texts -------------------------------------------------------------------------------------------------------


def make_agent(game: Game, spec: str) -> Agent:
    """The agent that a text names; ValueError in one sentence says what is allowed."""
    return make_agents(game, [spec])[0]


def make_agents(game: Game, specs: Sequence[str]) -> list[Agent]:
    """Agents for these texts. Those with the same network share it, and with it its batches."""
    models: dict[str, Model] = {}

    def model(source: str) -> Model:
        if source not in models:
            models[source] = Model.of(checkpoint_for(game, source or None))
        return models[source]

    return [_make(game, spec, model) for spec in specs]


def _make(game: Game, spec: str, model: Callable[[str], Model]) -> Agent:
    additions = _additions(game)
    usages = (*BUILT_IN, *additions)
    usage = next((usage for usage in usages if _name(usage) == _name(spec)), None)
    if usage is None:
        raise ValueError(f"{short(spec)} is no player of {game.title}; players: {', '.join(usages)}")
    match = re.fullmatch(_pattern(usage), spec)
    if match is None:
        raise ValueError(f"{short(spec)} must be written {usage}")
    arguments = [argument or "" for argument in match.groups()]
    if usage in additions:
        return additions[usage](*arguments or [""])
    if usage in (NET, SOLVER):
        simulations = read_whole("SIMS", arguments[1] or str(DEFAULT_SIMULATIONS), 1, MAX_SIMULATIONS)
        if usage == NET:
            return NetAgent(model(arguments[0]), simulations=simulations, name=spec)
        return LevelAgent(model(arguments[0]), replace(game.levels["master"], simulations=simulations), spec)
    if usage == LEVEL:
        return LevelAgent(model(""), get_level(game, arguments[0]), spec)
    if usage == POLICY:
        return PolicyAgent(model(arguments[0]), name=spec)
    if usage == ROLLOUT:
        return Thinker(spec, Rollout(game, read_whole("N", arguments[0], 1, MAX_PLAYOUTS)).choose)
    return Thinker(spec, _choose_at_random)


def _name(text: str) -> str:
    return re.split(r"[\[:@]", text, maxsplit=1)[0]


def _pattern(usage: str) -> str:
    """What is allowed, as a regular expression. What follows a colon may hold an @, as Hub ids and commands do."""
    pattern = usage.replace("+", r"\+").replace("[", "(?:").replace("]", ")?")
    return re.sub(r":[A-Z]+", ":(.+?)", re.sub(r"@[A-Z]+", "@([^@:]+)", pattern))


def _additions(game: Game) -> dict[str, Callable[..., Agent]]:
    part = game.part("agents")
    return {} if part is None else part.AGENTS


def read_whole(name: str, text: str, low: int, high: int) -> int:
    """The whole number a person typed; ValueError if it is none or out of range."""
    number = int(text) if re.fullmatch(r"[0-9]{1,18}", text) else text
    check_whole(name, number, low, high)
    return int(number)


def _choose_at_random(position: Position, seed: int) -> int:
    return int(np.random.default_rng(seed).choice(position.legal_moves()))
