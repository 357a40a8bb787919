"""Matches between two agents: many games at once, batched through one engine, in colour-swapped pairs.

    result = play_match(game, NetAgent(new), NetAgent(old), sampled(game, 4, 200, seed=1), seed=1, sprt=Sprt(0, 35))
    result.tally.elo()

Game number 2k is opening k with A moving first, 2k + 1 the same with B moving first. Games end in any order, but pairs
are counted in the order of the openings and a test stops the match at a pair: what is counted depends on the seed, not
on timing or on how many games run at once.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from alphazero.agents import Agent, Contestant, Forfeit, Seat, mix
from alphazero.elo import Sprt, Tally, Verdict
from alphazero.engine import Engine, EngineLimits
from alphazero.game import Game, IllegalMove
from alphazero.openings import Opening, replay
from alphazero.pool import node_bytes
from alphazero.settings import check_type, check_whole

DEFAULT_PARALLEL = 64  # about half of them wait for the same network: batches of 32
TREE_MEMORY_MB = 2048  # what the trees of a match may take
FEW_DISTINCT = 0.75  # fewer distinct games than this part of all are worth a warning


@dataclass(frozen=True)
class GameRecord:
    """One finished game. `winner` is +1 for who moved first, -1, or 0 for a draw; `result` is that from A's side."""

    pair: int
    a_side: int  # +1: A moved first
    opening: Opening
    moves: tuple[int, ...]  # the whole game, opening included
    winner: int
    reason: str | None  # why somebody forfeited; None if the game was played to its end

    @property
    def number(self) -> int:
        return 2 * self.pair + (self.a_side == -1)

    @property
    def result(self) -> int:
        return self.winner * self.a_side

    @property
    def plies(self) -> int:
        return len(self.moves)

    def as_dict(self, a: str, b: str) -> dict[str, Any]:
        """For JSON; `a` and `b` are the agents' names."""
        first, second = (a, b) if self.a_side == 1 else (b, a)
        return {
            "pair": self.pair,
            "first": first,
            "second": second,
            "winner": self.winner,
            "result_a": self.result,
            "plies": self.plies,
            "reason": self.reason,
            "opening": list(self.opening),
            "moves": list(self.moves),
        }


@dataclass(frozen=True)
class MatchResult:
    """What a match gave. Only whole pairs are in it; everything is from A's point of view."""

    game: Game
    a: str
    b: str
    tally: Tally
    games: list[GameRecord]  # in order: pair 0 with A first, pair 0 with B first, pair 1 ...
    verdict: Verdict | None  # of the test, if there was one
    interrupted: bool  # by Ctrl-C; then the pairs that were finished, with gaps
    seconds: float

    @property
    def distinct_games(self) -> int:
        return count_distinct(self.game, [game.moves for game in self.games])

    @property
    def forfeits(self) -> list[GameRecord]:
        return [game for game in self.games if game.reason is not None]

    @property
    def warning(self) -> str | None:
        """Says so when many games were the same: they count as one piece of evidence, not as many."""
        return too_alike(self.distinct_games, len(self.games))


def count_distinct(game: Game, games: Sequence[Sequence[int]]) -> int:
    """How many games differ in their moves, symmetries of the board counted as equal."""
    tables = game.symmetries.tolist()
    return len({min(tuple(table[move] for move in moves) for table in tables) for moves in games})


def too_alike(distinct: int, games: int) -> str | None:
    """A warning when many games were the same."""
    if games < 2 or distinct >= FEW_DISTINCT * games:
        return None
    return (
        f"only {distinct} of {games} games are distinct, so the error bars are too narrow; "
        "use more or longer sampled openings"
    )


OnGame = Callable[[GameRecord, Tally], None]


def play_match(
    game: Game,
    first_agent: Agent,
    second_agent: Agent,
    openings: Sequence[Opening],
    *,
    seed: int = 0,
    parallel: int = DEFAULT_PARALLEL,
    sprt: Sprt | None = None,
    on_game: OnGame | None = None,
    engine: Engine | None = None,
    threads: int | None = None,
) -> MatchResult:
    """Play each opening twice, A = first_agent beginning and then B, and count.

    parallel: games at a time, at the most. sprt: stop at the pair that decides it. on_game(record, tally): called as
    each game ends, with the pairs counted so far; a game after the deciding pair may be among them. engine: runs the
    searches (default: one of its own, closed at the end). threads: for agents that compute outside it (default: one
    a core). Ctrl-C ends the match early and gives what is finished. Errors of our own agents are raised; an external
    engine's lose it the game.
    """
    match = _Match(game, (first_agent, second_agent), openings, seed, sprt, on_game)
    check_whole("parallel", parallel, 1, 4096)
    at_once = [agent.at_once for agent in match.agents if agent.at_once is not None]
    parallel = min(parallel, 2 * len(openings), *at_once)
    threads = available_cores() if threads is None else threads
    if not any(agent.tree_nodes for agent in match.agents):  # nothing to batch: more at once only end later
        parallel = min(parallel, 2 * threads)
    match.engine = make_engine(game, match.agents, parallel) if engine is None else engine
    match.threads = ThreadPoolExecutor(threads, "alphazero-match")
    try:
        return asyncio.run(match.run(min(parallel, match.engine.limits.searches)))
    finally:
        match.threads.shutdown(cancel_futures=True)
        if engine is None:
            match.engine.close()


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fit_parallel(game: Game, agents: Sequence[Agent], parallel: int) -> int:
    """As many games at a time as the trees have room for, `parallel` at the most."""
    return max(1, min(parallel, (TREE_MEMORY_MB << 20) // _tree_bytes(game, agents)))


def make_engine(game: Game, agents: Sequence[Agent], parallel: int, workers: int = 1) -> Engine:
    """An engine in which so many games of these agents have room."""
    # A few trees at the least: when only one to three are left, looking ahead makes up to four times the nodes.
    megabytes = 1 + (max(parallel, 4) * _tree_bytes(game, agents) >> 20)
    return Engine(workers, EngineLimits(searches=parallel, memory_mb=max(megabytes, 16), kept=0))


def _tree_bytes(game: Game, agents: Sequence[Agent]) -> int:
    """What the larger search of a game may take. Memory is touched only as trees grow, so this may be generous."""
    nodes = max(agent.tree_nodes for agent in agents) + 2
    return int(1.25 * nodes * node_bytes(game.num_actions, game.state_size))


class _Match:
    """The state of one match; everything but `choose` happens in one thread."""

    engine: Engine
    threads: ThreadPoolExecutor

    def __init__(
        self,
        game: Game,
        agents: tuple[Agent, Agent],
        openings: Sequence[Opening],
        seed: int,
        sprt: Sprt | None,
        on_game: OnGame | None,
    ):
        check_whole("seed", seed, 0, 2**63 - 1)
        for agent in agents:
            check_type("agent", agent, Agent)
        if not openings:
            raise ValueError("a match needs at least one opening; the empty one is ()")
        self.game = game
        self.agents = agents
        self.starts = [replay(game, tuple(opening)) for opening in openings]
        self.seed = seed
        self.sprt = sprt
        self.on_game = on_game
        self.tally = Tally()
        self.counted: list[int] = []  # pairs
        self.decided = False
        self.finished: dict[int, GameRecord] = {}

    async def run(self, parallel: int) -> MatchResult:
        begin = time.perf_counter()
        interrupted = False
        numbers = iter(range(2 * len(self.starts)))
        tasks = [asyncio.create_task(self._play_games(numbers)) for _ in range(parallel)]
        pending = set(tasks)
        try:
            while pending and not self.decided:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        except asyncio.CancelledError:  # Ctrl-C
            interrupted = True
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if interrupted:
            self._count_the_rest()
        return MatchResult(
            game=self.game,
            a=self.agents[0].name,
            b=self.agents[1].name,
            tally=self.tally,
            games=[self.finished[2 * pair + swapped] for pair in self.counted for swapped in (0, 1)],
            verdict=self.sprt.judge(self.tally) if self.sprt else None,
            interrupted=interrupted,
            seconds=time.perf_counter() - begin,
        )

    async def _play_games(self, numbers: Any) -> None:
        for number in numbers:
            record = await self._play(number)
            self.finished[number] = record
            self._count()
            if self.on_game is not None:
                self.on_game(record, self.tally)
            if self.decided:
                return

    async def _play(self, number: int) -> GameRecord:
        pair, swapped = divmod(number, 2)
        a_side = -1 if swapped else 1
        position = start = self.starts[pair]
        seated: dict[int, Contestant] = {}
        reason = None
        side, agent = a_side, self.agents[0]
        by_side = {a_side: self.agents[0], -a_side: self.agents[1]}
        try:
            for index, (side, agent) in enumerate(by_side.items()):
                seat = Seat(self.engine, self.threads, mix(self.seed, number, index), side)
                seated[side] = await agent.sit_down(seat)
            while position.winner is None:
                side, agent = position.to_move, by_side[position.to_move]
                position = position.play(await seated[side].choose(position))
            winner = position.winner
        except (Forfeit, IllegalMove, OSError) as error:
            if not agent.external:
                raise
            winner, reason = -side, f"{agent.name}: {error}"
        finally:
            for contestant in seated.values():
                await contestant.close()
        return GameRecord(pair, a_side, start.moves, position.moves, winner, reason)

    def _whole(self, pair: int) -> bool:
        return 2 * pair in self.finished and 2 * pair + 1 in self.finished

    def _count(self) -> None:
        """Take in the pairs that are next in order; stop for good where the test decides."""
        while not self.decided and self._whole(pair := len(self.counted)):
            self._add(pair)
            self.decided = self.sprt is not None and self.sprt.judge(self.tally).decision is not None

    def _count_the_rest(self) -> None:
        for pair in range(len(self.counted), len(self.starts)):
            if self._whole(pair):
                self._add(pair)

    def _add(self, pair: int) -> None:
        self.counted.append(pair)
        self.tally.add(self.finished[2 * pair].result, self.finished[2 * pair + 1].result)
