"""Measure how close the search comes to the speed of the bare network.

Bare is the same network called in a tight loop at the same batch size. Bare and search take turns in short slices of
one run, so that a noisy machine disturbs both alike. All searches go through the engine, as in play.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace

import numpy as np

from alphazero.checkpoint import CHECKPOINTS, Checkpoint
from alphazero.engine import Engine, EngineLimits, Ticket
from alphazero.evaluator import BACKENDS, PRECISIONS, Evaluator
from alphazero.game import Game, Position, get_game
from alphazero.model import Model
from alphazero.player import checkpoint_for
from alphazero.settings import Budget, check_number, check_whole

BATCHES = (1, 8, 64)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    network = parser.add_mutually_exclusive_group()
    network.add_argument("--checkpoint", help="folder or Hub repo id of a network (default: the shipped one)")
    network.add_argument("--untrained", action="store_true", help="fresh weights instead of a checkpoint")
    parser.add_argument("--simulations", type=int, default=400, help="simulations per search (default 400)")
    parser.add_argument("--rounds", type=int, default=8, help="turns that each measurement takes (default 8)")
    parser.add_argument("--slice", type=float, default=0.5, help="seconds a turn (default 0.5)")
    parser.add_argument("--backend", choices=BACKENDS, default="auto", help="what runs the network (default auto)")
    parser.add_argument("--precision", choices=PRECISIONS, default="auto", help="what it computes in (default auto)")
    parser.add_argument("--selfplay", action="store_true", help="measure self-play in two processes instead")
    parser.add_argument("--look-ahead", type=int, help="rows a lone search may fill (default: the engine's own)")


def run(args: argparse.Namespace) -> int:
    check_whole("rounds", args.rounds, 1, 10_000)
    check_number("slice", args.slice, 0.01, 3600)
    budget = Budget(simulations=args.simulations)
    game = get_game(args.game)
    if args.selfplay:
        from alphazero.bench_selfplay import measure

        settings = replace(game.training, precision=args.precision)
        print(json.dumps(measure(game, settings, _checkpoint(game, args), 2, args.rounds, args.slice, _say)))
        return 0
    model = Model.of(_checkpoint(game, args), backend=args.backend, precision=args.precision)
    evaluator = model.make_evaluator()
    limits = EngineLimits() if args.look_ahead is None else EngineLimits(look_ahead=args.look_ahead)
    engine = Engine(limits=limits)
    _say(f"{game.title}: {evaluator.name}, {model.checkpoint.source if model.checkpoint else ''}; warming up")
    engine.warm_up(model)
    positions = openings(game, 64)
    searches = {count: Crowd(engine, model, positions, count, budget) for count in BATCHES}
    for crowd in searches.values():
        crowd.run(args.slice)  # not counted: the first time a batch size comes up it is compiled
    work: defaultdict[str, float] = defaultdict(float)
    seconds: defaultdict[str, float] = defaultdict(float)
    tree_seconds = 0.0
    for turn in range(args.rounds):
        for count in BATCHES:
            evaluations, took = bare(evaluator, positions[:count], args.slice)
            work[f"bare_{count}"] += evaluations
            seconds[f"bare_{count}"] += took
            simulations, took, in_tree = searches[count].run(args.slice)
            work[f"search_{count}"] += simulations
            seconds[f"search_{count}"] += took
            tree_seconds += in_tree if count == 64 else 0.0
        _say(f"turn {turn + 1} of {args.rounds}: " + ", ".join(f"{k} {work[k] / seconds[k]:.0f}/s" for k in work))
    rate = {key: work[key] / seconds[key] for key in work}
    report = {
        "game": game.name,
        "threads": 1,
        **{f"bare_{count}": round(rate[f"bare_{count}"], 1) for count in BATCHES},
        **{f"search_{count}": round(rate[f"search_{count}"], 1) for count in BATCHES},
        **{f"ratio_{count}": round(rate[f"search_{count}"] / rate[f"bare_{count}"], 4) for count in BATCHES},
        "tree_us_64": round(tree_seconds / work["search_64"] * 1e6, 3),
        "bytes_per_simulation": round(bytes_per_simulation(model, positions, budget), 1),
        "backend": evaluator.name,
        "checkpoint": model.checkpoint.source if model.checkpoint else None,
        "simulations": args.simulations,
        "look_ahead": limits.look_ahead,
    }
    print(json.dumps(report))
    return 0


def _checkpoint(game: Game, args: argparse.Namespace) -> Checkpoint:
    if args.untrained or (args.checkpoint is None and not (CHECKPOINTS / game.name).is_dir()):
        return Checkpoint.fresh(game)
    return checkpoint_for(game, args.checkpoint)


def openings(game: Game, count: int, seed: int = 0) -> list[Position]:
    """Unfinished positions after 0 to 7 random moves, fewer where a game ends before."""
    rng = np.random.default_rng(seed)
    found: list[Position] = []
    for number in range(count):
        position = game.start()
        for _ in range(number % 8):
            following = position.play(int(rng.choice(position.legal_moves())))
            if following.winner is not None:
                break
            position = following
        found.append(position)
    return found


def bare(evaluator: Evaluator, positions: list[Position], seconds: float) -> tuple[int, float]:
    """(evaluations, seconds) of the network alone."""
    planes = np.stack([position.planes() for position in positions])
    evaluator.evaluate(planes)
    count = 0
    begin = now = time.perf_counter()
    while now - begin < seconds:
        evaluator.evaluate(planes)
        count += len(planes)
        now = time.perf_counter()
    return count, now - begin


class Crowd:
    """Keeps so many searches in flight, from varied positions, for a slice of time."""

    def __init__(self, engine: Engine, model: Model, positions: list[Position], count: int, budget: Budget):
        self._engine = engine
        self._model = model
        self._positions = positions
        self._count = count
        self._budget = budget
        self._next = 0

    def run(self, seconds: float) -> tuple[int, float, float]:
        """(simulations, seconds, seconds spent in trees). The searches are cancelled at the end."""
        tickets = [self._submit() for _ in range(self._count)]
        begin, before = time.perf_counter(), self._counters()
        end = begin + seconds
        # On a very busy machine a slice may pass before the first step is over: go on until there is something.
        while (left := end - time.perf_counter()) > 0 or self._counters()[0] == before[0]:
            futures = {ticket.future: ticket for ticket in tickets}
            done, _ = wait(futures, timeout=max(left, 0.01), return_when=FIRST_COMPLETED)
            for future in done:
                tickets.remove(futures[future])
                tickets.append(self._submit())
        took, after = time.perf_counter() - begin, self._counters()
        for ticket in tickets:
            ticket.cancel()
        while self._engine.stats.snapshot()[self._model.game.name]["in_flight"]:
            time.sleep(0.001)
        return after[0] - before[0], took, after[1] - before[1]

    def _submit(self) -> Ticket:
        position = self._positions[self._next % len(self._positions)]
        self._next += 1
        return self._engine.submit(self._model, position, self._budget)

    def _counters(self) -> tuple[int, float]:
        stats = self._engine.stats.snapshot().get(self._model.game.name, {})
        return stats.get("simulations", 0), stats.get("tree_seconds", 0.0)


def bytes_per_simulation(model: Model, positions: list[Position], budget: Budget) -> float:
    """Tree memory in use after 64 searches, over their simulations; an engine of its own, so nothing else counts."""
    engine = Engine()
    tickets = [engine.submit(model, position, budget) for position in positions]
    for ticket in tickets:
        ticket.result()
    stats = engine.stats.snapshot()[model.game.name]
    engine.close()
    return stats["tree_bytes"] / stats["simulations"]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
