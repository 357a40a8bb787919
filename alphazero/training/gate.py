"""Is the candidate better than the best? Matches spread over the crew, counted in the order of the openings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from alphazero.agents import mix
from alphazero.elo import Sprt, Tally
from alphazero.game import Game
from alphazero.match import count_distinct, too_alike
from alphazero.openings import Opening, sampled
from alphazero.train_settings import TrainSettings
from alphazero.training.crew import Crew, Task, run_tasks
from alphazero.training.worker import Network, PairResult

CHUNK = 10  # pairs that a worker plays at a time: enough for a full batch, few enough to stop early


@dataclass(frozen=True)
class Judgement:
    """A match between candidate (A) and another, and whether it promotes."""

    tally: Tally
    promote: bool
    verdict: str  # in words
    distinct_games: int
    warning: str | None
    cpu_seconds: float

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.tally.as_dict(),
            "promoted": self.promote,
            "verdict": self.verdict,
            "distinct_games": self.distinct_games,
        }


def judge(settings: TrainSettings, tally: Tally, sprt: Sprt | None) -> tuple[bool, str]:
    """(promote?, why) by the settings' gate. Without a single decisive game nothing is promoted."""
    score = tally.score or 0.0
    if tally.wins + tally.losses == 0:
        return False, f"all {tally.games} games were drawn"
    if settings.gate == "score":
        return score >= settings.gate_score, f"score {score:.1%}, {settings.gate_score:.0%} needed"
    assert sprt is not None
    state = sprt.judge(tally)
    bounds = f"Elo {sprt.elo0:g} against {sprt.elo1:g}: LLR {state.llr:.2f} in {state.lower:.2f}..{state.upper:.2f}"
    if state.decision is None:
        return False, f"undecided after {tally.pairs} pairs ({bounds})"
    return state.decision == "H1", f"{'accepted' if state.decision == 'H1' else 'refused'} ({bounds})"


def play_gate(
    game: Game,
    settings: TrainSettings,
    crew: Crew,
    candidate: Network,
    other: Network | str,
    *,
    seed: int,
    pairs: int | None = None,
    sequential: bool = True,
    warn: Callable[[str], None],
    on_pairs: Callable[[int, int], None] = lambda done, total: None,
) -> Judgement:
    """Colour-swapped pairs from sampled openings; with a sequential gate it stops at the pair that decides."""
    openings = sampled(game, settings.gate_openings, pairs or settings.gate_pairs, seed)
    sprt = Sprt(settings.gate_elo0, settings.gate_elo1) if sequential and settings.gate == "sprt" else None
    shared = [side if isinstance(side, str) else crew.share(side) for side in (candidate, other)]
    tally, decided, cpu = Tally(), False, 0.0
    counted: list[PairResult] = []
    waiting: dict[int, list[PairResult]] = {}  # chunks that came in before their turn

    def chunks() -> Iterator[Task]:
        for first in range(0, len(openings), CHUNK):
            if decided:
                return
            part: list[Opening] = openings[first : first + CHUNK]
            yield Task("match", (*shared, settings.gate_simulations, part, mix(seed, first)), label=first)

    for task, (results, seconds) in run_tasks(crew, chunks(), warn):
        cpu += seconds
        waiting[task.label] = results
        while not decided and len(counted) in waiting:
            for pair in waiting.pop(len(counted)):
                if not decided:
                    tally.add(pair.as_first, pair.as_second)
                    counted.append(pair)
                    decided = sprt is not None and sprt.judge(tally).decision is not None
        on_pairs(len(counted), len(openings))
    promote, verdict = judge(settings, tally, sprt) if sequential else (False, "measured only")
    distinct = count_distinct(game, [moves for pair in counted for moves in pair.moves])
    return Judgement(tally, promote, verdict, distinct, too_alike(distinct, 2 * len(counted)), cpu)
