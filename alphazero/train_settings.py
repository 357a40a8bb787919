"""Every knob of a training run, with its default, its bounds and a line of help: one frozen dataclass.

A game changes what suits it (`Game.training`); a TOML file and flags change the rest; the whole is written into the
run folder. Defaults are for a machine of two cores.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from alphazero.evaluator import PRECISIONS
from alphazero.settings import (
    MAX_LEAF_NODES,
    MAX_PROOF_NODES,
    MAX_SIMULATIONS,
    NetworkShape,
    SearchSettings,
    _Settings,
    check_number,
    check_whole,
)

ROOTS = ("gumbel", "puct")
GATES = ("sprt", "score", "none")


def _whole(default: int, low: int, high: int, text: str) -> Any:
    return field(default=default, metadata={"help": text, "low": low, "high": high})


def _number(default: float, low: float, high: float, text: str) -> Any:
    return field(default=default, metadata={"help": text, "low": low, "high": high})


def _choice(default: str, choices: tuple[str, ...], text: str) -> Any:
    return field(default=default, metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class TrainSettings(_Settings):
    """How a run plays, learns and judges. A fraction is 0 to 1; plies are counted from the empty board."""

    iterations: int = _whole(60, 1, 1_000_000, "how many iterations the run plans for; schedules end there")
    games: int = _whole(1000, 1, 1_000_000, "self-play games an iteration")
    workers: int = _whole(2, 1, 100_000, "self-play processes, one core each")
    precision: str = _choice("auto", PRECISIONS, "what games and matches are computed in; int8 is fastest")
    parallel: int = _whole(128, 1, 4096, "games that a worker steps in one batch")
    seed: int = _whole(0, 0, 2**31 - 1, "seed of everything random; with one worker a run repeats exactly")

    channels: int = _whole(0, 0, 1024, "channels of the network (0: the game's own)")
    blocks: int = _whole(0, 0, 64, "residual blocks of the network (0: the game's own)")

    root: str = _choice("gumbel", ROOTS, "how a self-play search explores at its root")
    simulations: int = _whole(32, 2, MAX_SIMULATIONS, "simulations a recorded move at the start of the run")
    simulations_end: int = _whole(96, 2, MAX_SIMULATIONS, "simulations a recorded move at its end")
    candidates: int = _whole(16, 2, 1024, "moves that a Gumbel root halves")
    sigma_scale: float = _number(0.5, 1e-3, 100.0, "gumbel: how much what a search found outweighs the policy")
    leaf_nodes: int = _whole(
        0, 0, MAX_LEAF_NODES, "what the game's tactics may spend on each new position of self-play"
    )
    proof_nodes: int = _whole(
        0, 0, MAX_PROOF_NODES, "what the game's prover may spend on each position that is to be searched"
    )
    full_fraction: float = _number(0.25, 0.01, 1.0, "puct: fraction of moves searched fully and recorded")
    cheap_fraction: float = _number(0.2, 0.01, 1.0, "puct: simulations of the other moves, as part of the full ones")
    noise_fraction: float = _number(0.25, 0.0, 1.0, "puct: Dirichlet noise at the root of full searches")

    temperature: float = _number(1.0, 0.0, 10.0, "temperature of the first move")
    temperature_end: float = _number(0.2, 0.0, 10.0, "what it falls to")
    temperature_plies: float = _number(8.0, 0.1, 1000.0, "plies in which it falls by half")
    opening_fraction: float = _number(0.75, 0.0, 1.0, "fraction of games that begin with random moves")
    opening_plies: int = _whole(4, 1, 100, "at most so many of them")
    loose_fraction: float = _number(0.5, 0.0, 1.0, "fraction of games that go on with moves of the bare network")
    loose_plies: int = _whole(0, 0, 100, "gumbel: at most so many of them (0: none)")
    loose_temperature: float = _number(1.5, 0.0, 10.0, "temperature of those")
    draw_margin: float = _number(0.0, 0.0, 1.0, "a game is drawn once its value stays so near 0 (0: never)")
    play_on: float = _number(0.25, 0.0, 1.0, "fraction of games played to the end although proven or drawn so")

    window_games: int = _whole(50_000, 1, 50_000, "games to learn from, at most; the oldest go first")
    window_start: int = _whole(4000, 1, 50_000, "window at the start of the run, in games")
    window_fraction: float = _number(0.5, 0.01, 1.0, "window as part of all games so far, between the two")
    window_mb: int = _whole(1024, 1, 1 << 20, "memory for the window, at most")
    shard_games: int = _whole(50, 1, 10_000, "games in a file of the replay")
    held_out: float = _number(0.04, 0.0, 0.5, "fraction of games kept from learning, to measure on")

    batch: int = _whole(512, 2, 65_536, "samples a step")
    reuse: float = _number(4.0, 0.1, 100.0, "how often each sample is learnt from")
    steps: int = _whole(0, 0, 1_000_000, "steps an iteration, whatever it brought (0: as many as reuse asks for)")
    learning_rate: float = _number(1e-3, 1e-7, 1.0, "step size of AdamW at the start of the run")
    learning_rate_end: float = _number(1e-4, 1e-8, 1.0, "and at its end")
    weight_decay: float = _number(1e-4, 0.0, 1.0, "the c of c |theta|^2, decoupled")
    average: float = _number(0.998, 0.0, 0.99999, "weights played with are this much of the old average each step")
    q_weight: float = _number(0.4, 0.0, 1.0, "value target: this much search value, the rest outcome")
    value_weight: float = _number(1.0, 0.0, 100.0, "weight of the value loss beside the policy loss")
    device: str = _choice("cpu", ("cpu", "cuda"), "what learns")

    gate: str = _choice("sprt", GATES, "how a candidate becomes the best: sequential test, score, or always")
    gate_pairs: int = _whole(200, 1, 100_000, "pairs of games a match has, at most")
    gate_simulations: int = _whole(64, 1, MAX_SIMULATIONS, "simulations a move in matches (plain PUCT)")
    gate_openings: int = _whole(3, 0, 100, "random plies that a match's openings have")
    gate_score: float = _number(0.55, 0.5, 1.0, "score: what a candidate must reach, draws half")
    gate_elo0: float = _number(0.0, -1000.0, 1000.0, "sprt: the candidate is refused if it is no better than this")
    gate_elo1: float = _number(35.0, -1000.0, 1000.0, "sprt: and accepted if it is as good as this")
    patience: int = _whole(10, 0, 1000, "refusals in a row after which learning goes back to the best")

    anchors: str = field(default="random rollout@100", metadata={"help": "fixed opponents to measure against"})
    anchor_pairs: int = _whole(10, 1, 10_000, "pairs of games against each anchor")
    anchor_every: int = _whole(5, 0, 1_000_000, "iterations between such measurements (0: never)")

    def __post_init__(self) -> None:
        for knob in fields(self):
            value = getattr(self, knob.name)
            if "choices" in knob.metadata:
                if value not in knob.metadata["choices"]:
                    allowed = ", ".join(knob.metadata["choices"])
                    raise ValueError(f"{knob.name} must be one of {allowed}, not {value!r}")
            elif knob.type == "int":
                check_whole(knob.name, value, knob.metadata["low"], knob.metadata["high"])
            elif knob.type == "float":
                check_number(knob.name, value, knob.metadata["low"], knob.metadata["high"])
            elif not isinstance(value, str):
                raise ValueError(f"{knob.name} must be text, not {value!r}")
        if self.loose_plies and self.root != "gumbel":
            raise ValueError("loose_plies are for the Gumbel root: set them to 0 with --root puct")
        if self.gate_elo1 <= self.gate_elo0:
            raise ValueError("gate_elo1 must be more than gate_elo0")

    def network(self, shape: NetworkShape) -> NetworkShape:
        """The game's network with this run's size."""
        changes = {name: size for name in ("channels", "blocks") if (size := getattr(self, name))}
        return NetworkShape.from_dict({**vars(shape), **changes})

    def search(self, settings: SearchSettings) -> SearchSettings:
        """The game's search with this run's way to explore."""
        gumbel = self.root == "gumbel"
        names = ("candidates", "sigma_scale") if gumbel else ("noise_fraction",)
        changes = {name: getattr(self, name) for name in names}
        return SearchSettings.from_dict({**vars(settings), **changes, "leaf_nodes": self.leaf_nodes})

    def simulations_at(self, iteration: int) -> int:
        """Simulations grow by the same factor every iteration, from the first (1) to the last planned."""
        return round(_between(self.simulations, self.simulations_end, iteration, self.iterations))

    def learning_rate_at(self, iteration: int) -> float:
        return _between(self.learning_rate, self.learning_rate_end, iteration, self.iterations)

    def window_at(self, games: int) -> int:
        """How many games to learn from when so many have been played."""
        return min(self.window_games, max(self.window_start, int(games * self.window_fraction)))

    def temperature_at(self, ply: int) -> float:
        return max(self.temperature_end, self.temperature * 0.5 ** (ply / self.temperature_plies))


def _between(first: float, last: float, iteration: int, iterations: int) -> float:
    """From first to last in equal factors."""
    done = min(1.0, (iteration - 1) / max(1, iterations - 1))
    return first * (last / first) ** done
