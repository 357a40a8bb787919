"""Which network is the strongest for its price: `python benchmarks/network_sizes.py gomoku RUN`.

Every shape, channels x blocks, learns from nothing on the games of one run: the same batches for all. Then each plays
the first one at equal seconds: its simulations are those of the first times its own speed over the first's, measured in
turns by a lone search, which is what a person waits for. `--without-plane K` adds the first shape once more, blind to
input plane K, at equal simulations. Prints one JSON object last.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np
import torch

from alphazero import get_game
from alphazero.agents import NetAgent
from alphazero.checkpoint import Checkpoint
from alphazero.match import play_match
from alphazero.model import Model
from alphazero.openings import sampled
from alphazero.player import Player
from alphazero.training.learner import Learner
from alphazero.training.replay import LearningData, Replay

ROUNDS = 5  # of measuring speed


def read_games(game, run):
    data = LearningData(game, 1024, held_out=0.04)
    replay = Replay(run / "replay", game, print)
    for shard in list(replay.shards):
        samples = replay.read(shard)
        if samples is not None:
            data.add(shard.number, samples)
    return data


def teach(game, shape, data, steps, blind_to=None):
    """A network of this shape after so many steps, and what it says of games that it has not learnt from."""
    settings = game.training
    learner = Learner(game, shape, settings)
    if blind_to is not None:
        blind(learner, blind_to)
    rng = np.random.default_rng(1)
    begin, report = time.process_time(), {}
    for part in range(10):  # the step size falls as it does over a run
        rate = settings.learning_rate * (settings.learning_rate_end / settings.learning_rate) ** (part / 9)
        report = learner.learn(
            lambda: data.window.take(rng.integers(data.window.samples, size=settings.batch)),
            steps // 10,
            rate,
            rng,
            on_step=lambda step: None,
            warn=print,
        )
        print(f"  {part + 1}/10 policy loss {report['policy_loss']:.3f}", file=sys.stderr, flush=True)
    seconds = time.process_time() - begin
    found = {name: round(value, 4) for name, value in learner.measure(data.held_out_samples()).items()}
    return Checkpoint(game, shape, learner.averaged_weights()), {"learning_seconds": round(seconds), **found}


def blind(learner, plane):
    """The first layer sees nothing of this plane, now and after every step."""
    weight = learner.network.stem.conv.weight
    mask = torch.ones_like(weight)
    mask[:, plane] = 0
    weight.register_hook(lambda gradient: gradient * mask)
    with torch.no_grad():
        weight.mul_(mask)
    learner.start_from(learner.network.weights())


def speeds(models, game, simulations):
    """Simulations a second of a lone search from the empty board, measured in turns."""
    players = [Player(model) for model in models]
    taken = [[] for _ in models]
    for _ in range(ROUNDS):
        for player, times in zip(players, taken, strict=True):
            times.append(player.search(game.start(), simulations=simulations).seconds)
    return [simulations / statistics.median(times) for times in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("run", type=Path, help="folder of a run: its replay is learnt from")
    parser.add_argument("--shapes", nargs="+", default=["64x5", "32x5", "64x3"], help="the first is the reference")
    parser.add_argument("--without-plane", type=int, nargs="*", default=[], metavar="K")
    parser.add_argument("--steps", type=int, default=2000, help="of learning")
    parser.add_argument("--simulations", type=int, default=200, help="of the first shape")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--plies", type=int, default=6, help="of the sampled openings")
    options = parser.parse_args()
    game = get_game(options.game)
    data = read_games(game, options.run)
    shapes = [[int(size) for size in name.split("x")] for name in options.shapes]
    wanted = [(name, size, None) for name, size in zip(options.shapes, shapes, strict=True)]
    wanted += [(f"{options.shapes[0]} without plane {k}", shapes[0], k) for k in options.without_plane]
    rows, models = [], []
    for name, (channels, blocks), plane in wanted:
        print(name, file=sys.stderr, flush=True)
        shape = replace(game.network, channels=channels, blocks=blocks)
        checkpoint, report = teach(game, shape, data, options.steps, plane)
        rows.append({"network": name, "parameters": sum(a.size for a in checkpoint.weights.values()), **report})
        models.append(Model.of(checkpoint))
    openings = sampled(game, options.plies, options.pairs, seed=0)
    for row, model, speed in zip(rows, models, measured := speeds(models, game, options.simulations), strict=True):
        row["simulations_per_second"] = round(speed)
        share = 1.0 if "plane" in row["network"] else speed / measured[0]
        row["simulations"] = max(2, round(options.simulations * share))
        if model is not models[0]:
            own, other = (
                NetAgent(model, simulations=row["simulations"]),
                NetAgent(models[0], simulations=options.simulations),
            )
            row["match"] = play_match(game, own, other, openings).tally.as_dict()
        print(row, file=sys.stderr, flush=True)
    about = {"game": game.name, "samples": data.window.samples, "steps": options.steps, "networks": rows}
    print(json.dumps({**about, "openings": f"sampled:{options.plies}"}))


if __name__ == "__main__":
    main()
