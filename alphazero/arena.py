"""Let players meet and say which is stronger, with error bars: Elo, 95 % interval, sequential test, round robins.

Every opening is played twice with colours swapped. The readable summary goes to standard output, progress to standard
error; with --json the last line of standard output is one JSON object.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

from alphazero.agents import BUILT_IN, Agent, make_agents, mix
from alphazero.checkpoint import write_atomically
from alphazero.elo import Record, Sprt, Tally, Verdict
from alphazero.engine import Engine
from alphazero.game import Game, get_game
from alphazero.match import (
    DEFAULT_PARALLEL,
    GameRecord,
    MatchResult,
    available_cores,
    fit_parallel,
    make_engine,
    play_match,
)
from alphazero.openings import DEFAULT_PAIRS, Opening, from_text
from alphazero.ratings import Rating, fit_ratings
from alphazero.settings import check_whole

VERSION = 1  # of the JSON object; a key that changes its meaning gets a new number
SPARSE_SECONDS = 10.0  # between lines of progress when nobody watches
LIVE_SECONDS = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = ", ".join(usage.replace("%", "%%") for usage in BUILT_IN)
    parser.add_argument(
        "players",
        nargs="+",
        metavar="PLAYER",
        help=f"two or more of: {kinds}, and what the game adds (a wrong one gets the list)",
    )
    parser.add_argument(
        "--pairs", type=int, help=f"openings to play, twice each (default {DEFAULT_PAIRS}, or all of a file)"
    )
    parser.add_argument(
        "--openings",
        default="sampled:4",
        help="empty, sampled:K for K random plies, or a file with one a line, such as E5 D4 (default sampled:4)",
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed plays the same games (default 0)")
    parser.add_argument("--parallel", type=int, help=f"games at a time (default {DEFAULT_PARALLEL}, if memory allows)")
    parser.add_argument("--workers", type=int, help="threads for networks, and for other players (default: all cores)")
    parser.add_argument(
        "--sprt",
        nargs=2,
        type=float,
        metavar=("ELO0", "ELO1"),
        help="stop as soon as it is clear whether the first player is ELO1 stronger rather than ELO0 (5 %% errors)",
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the games as JSON lines")
    parser.add_argument("--json", action="store_true", help="end with one JSON object on the last line")


def run(args: argparse.Namespace) -> int:
    game = get_game(args.game)
    check_whole("seed", args.seed, 0, 2**63 - 1)
    if args.workers is not None:
        check_whole("workers", args.workers, 1, 64)
    if args.parallel is not None:
        check_whole("parallel", args.parallel, 1, 4096)
    if len(args.players) < 2:
        raise ValueError("a match needs two players or more")
    if args.save is not None and not args.save.absolute().parent.is_dir():
        raise ValueError(f"there is no folder {args.save.absolute().parent} to save games in")
    if args.save is not None and args.save.is_dir():
        raise ValueError(f"{args.save} is a folder; give a file to save games in")
    sprt = Sprt(*args.sprt) if args.sprt else None
    openings = from_text(game, args.openings, args.pairs, args.seed)
    agents = make_agents(game, args.players)
    workers = args.workers or available_cores()
    parallel = fit_parallel(game, agents, min(args.parallel or DEFAULT_PARALLEL, 2 * len(openings)))
    engine = make_engine(game, agents, parallel, workers)
    try:
        tournament = Tournament(game, agents, openings, args.seed, parallel, workers, sprt, engine)
        tournament.play()
    finally:
        engine.close()
    if args.save is not None:
        lines = [json.dumps(g.as_dict(r.a, r.b)) for r in tournament.results.values() for g in r.games]
        write_atomically(args.save, "".join(f"{line}\n" for line in lines).encode())
    two = len(agents) == 2
    print(describe_match(tournament.results[0, 1], sprt) if two else describe_table(tournament))
    if args.json:
        about = {"version": VERSION, "game": game.name, "rules_version": game.rules_version, "seed": args.seed}
        about |= {"openings": args.openings, "players": [agent.describe() for agent in agents]}
        found = match_json(tournament.results[0, 1], sprt) if two else table_json(tournament, sprt)
        print(json.dumps({**about, **found}, allow_nan=False))
    return 130 if tournament.interrupted else 0


class Tournament:
    """Everybody against everybody, one match after the other, all from the same openings."""

    def __init__(
        self,
        game: Game,
        agents: list[Agent],
        openings: list[Opening],
        seed: int,
        parallel: int,
        workers: int,
        sprt: Sprt | None,
        engine: Engine,
    ):
        self.game = game
        self.agents = agents
        self.openings = openings
        self.seed = seed
        self.parallel = parallel
        self.workers = workers
        self.sprt = sprt
        self.engine = engine
        self.results: dict[tuple[int, int], MatchResult] = {}
        self.interrupted = False

    def play(self) -> None:
        """Fills `results`; Ctrl-C ends the match that is under way and with it the tournament."""
        for number, (i, j) in enumerate(itertools.combinations(range(len(self.agents)), 2)):
            a, b = self.agents[i], self.agents[j]
            progress = Progress(f"{a.name} - {b.name}", 2 * len(self.openings))
            result = self.results[i, j] = play_match(
                self.game,
                a,
                b,
                self.openings,
                seed=self.seed if number == 0 else mix(self.seed, number),
                parallel=self.parallel,
                sprt=self.sprt,
                on_game=progress.show,
                engine=self.engine,
                threads=self.workers,
            )
            progress.end(result)
            if result.interrupted:
                self.interrupted = True
                return

    def ratings(self) -> list[Rating]:
        names = [agent.name for agent in self.agents]
        return fit_ratings(names, {key: result.tally for key, result in self.results.items()})


class Progress:
    """One match on standard error: a line that is written over on a terminal, a line now and then elsewhere."""

    def __init__(self, title: str, games: int):
        self._title = title
        self._games = games
        self._record = Record()
        self._live = sys.stderr.isatty()
        self._begin = self._shown = time.perf_counter()

    def show(self, record: GameRecord, tally: Tally) -> None:
        self._record.add(record.result)
        now = time.perf_counter()
        if now - self._shown < (LIVE_SECONDS if self._live else SPARSE_SECONDS):
            return
        self._shown = now
        done = self._record.games
        left = (now - self._begin) / done * (self._games - done)
        text = f"{self._title}: {done} of {self._games} games, {_record(self._record)}, about {_clock(left)} left"
        print(f"\r{text:<100}" if self._live else text, end="" if self._live else "\n", file=sys.stderr, flush=True)

    def end(self, result: MatchResult) -> None:
        if self._live:
            print(f"\r{'':<100}\r", end="", file=sys.stderr)
        word = "interrupted after" if result.interrupted else "played"
        text = f"{self._title}: {word} {result.tally.games} games in {_clock(result.seconds)}"
        print(text, file=sys.stderr, flush=True)


# -- results as text --------------------------------------------------------------------------------------------------


def describe_match(result: MatchResult, sprt: Sprt | None) -> str:
    """Some lines that a person reads; everything from the first player's side."""
    tally = result.tally
    first, second = tally.as_first, tally.as_second
    lines = [f"{result.a} against {result.b}, {result.game.title}: {tally.games} games in {tally.pairs} pairs"]
    if tally.score is not None:
        lines += [
            f"  score   {100 * tally.score:.1f} %   ({_record(tally)})",
            f"  colours moving first {_record(first)}, moving second {_record(second)}",
            f"  Elo     {_elo(tally)}",
            f"  games   {result.distinct_games} distinct, {_mean_plies(result):.1f} plies on average",
        ]
    if sprt is not None and result.verdict is not None:
        lines.append(f"  SPRT    {_verdict(result.verdict, sprt)}")
    for reason, count in _reasons(result).items():
        lines.append(f"  forfeit {count} x {reason}")
    if result.interrupted:
        lines.append("  interrupted: whole pairs that were finished are counted")
    if result.warning:
        lines.append(f"  warning: {result.warning}")
    return "\n".join(lines)


def describe_table(tournament: Tournament) -> str:
    """A round robin's table, the strongest first."""
    ratings = tournament.ratings()
    width = max(len(rating.name) for rating in ratings)
    lines = [f"{tournament.game.title}, round robin", f"  {'player':<{width}}    Elo   +/-   score  games"]
    for rating in sorted(ratings, key=lambda rating: -rating.elo):
        elo, score = f"{rating.elo:+7.0f}{rating.margin:6.0f}", f"{100 * rating.score:6.1f} %"
        lines.append(f"  {rating.name:<{width}}{elo}{score}{rating.games:7d}")
    for result in tournament.results.values():
        lines.append(f"  {result.a} - {result.b}: {_record(result.tally)}, Elo {_elo(result.tally)}")
        if result.warning:
            lines.append(f"    warning: {result.warning}")
        lines += [f"    forfeit {count} x {reason}" for reason, count in _reasons(result).items()]
    return "\n".join(lines)


def _record(tally: Tally | Record) -> str:
    return f"+{tally.wins} ={tally.draws} -{tally.losses}"


def _elo(tally: Tally) -> str:
    elo, low, high = tally.elo()
    if elo is None and low is None and high is None:
        return "unknown"
    if elo is None:
        return f"at least {low:+.0f} (95 %)" if low is not None else f"at most {high:+.0f} (95 %)"
    chance = 100 * (tally.superiority() or 0)
    return f"{elo:+.0f}, 95 % from {low:+.0f} to {high:+.0f}; the stronger one with a probability of {chance:.1f} %"


def _verdict(verdict: Verdict, sprt: Sprt) -> str:
    meaning = {
        "H1": f"H1 accepted: {sprt.elo1:+g} Elo rather than {sprt.elo0:+g}",
        "H0": f"H0 accepted: {sprt.elo0:+g} Elo rather than {sprt.elo1:+g}",
        None: f"undecided between {sprt.elo0:+g} and {sprt.elo1:+g} Elo",
    }
    return f"{meaning[verdict.decision]} (LLR {verdict.llr:.2f}, bounds {verdict.lower:.2f} and {verdict.upper:.2f})"


def _mean_plies(result: MatchResult) -> float:
    return sum(game.plies for game in result.games) / max(1, len(result.games))


def _reasons(result: MatchResult) -> dict[str, int]:
    reasons = [game.reason for game in result.forfeits if game.reason]
    return {reason: reasons.count(reason) for reason in sorted(set(reasons))}


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{seconds:.1f} s"


# -- results as JSON --------------------------------------------------------------------------------------------------


def match_json(result: MatchResult, sprt: Sprt | None) -> dict[str, Any]:
    verdict = result.verdict
    test: dict[str, Any] | None = None
    if sprt is not None and verdict is not None:
        test = {"elo0": sprt.elo0, "elo1": sprt.elo1, "alpha": sprt.alpha, "beta": sprt.beta}
        test |= {"llr": round(verdict.llr, 4), "lower": round(verdict.lower, 4), "upper": round(verdict.upper, 4)}
        test |= {"decision": verdict.decision}
    return {
        "a": result.a,
        "b": result.b,
        **result.tally.as_dict(),
        "sprt": test,
        "distinct_games": result.distinct_games,
        "forfeits": len(result.forfeits),
        "mean_plies": round(_mean_plies(result), 2),
        "warning": result.warning,
        "interrupted": result.interrupted,
        "seconds": round(result.seconds, 3),
    }


def table_json(tournament: Tournament, sprt: Sprt | None) -> dict[str, Any]:
    return {
        "ratings": [
            {
                "name": rating.name,
                "elo": round(rating.elo, 1),
                "elo_low": round(rating.elo - rating.margin, 1),
                "elo_high": round(rating.elo + rating.margin, 1),
                "score": round(rating.score, 4),
                "games": rating.games,
            }
            for rating in tournament.ratings()
        ],
        "matches": [match_json(result, sprt) for result in tournament.results.values()],
        "interrupted": tournament.interrupted,
        "seconds": round(sum(result.seconds for result in tournament.results.values()), 3),
    }
