"""What self-play should teach: `python benchmarks/policy_targets.py gomoku` prints one JSON object last.

The improved policy of a short Gumbel search stands in for what a long search would say. In positions that the network
itself gets into, one of each game: KL from the shares of a long plain search's visits to the improved policy, by
sigma_scale and simulations, each with the spread over positions; `network` is the policy that the search began with.
Several draws a position, since the candidates are drawn. Positions that the long search proves are left out.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, from anywhere

import numpy as np

from alphazero import get_game, load_player
from alphazero.forest import Forest
from alphazero.openings import replay, sampled
from alphazero.training.targets import harvest

LEAST = 1e-4  # what a policy is taken to give any move, lest one forgotten move decide
Z95 = 1.96


def positions_of(player, openings, most_plies, rng):
    """One position of each game that the bare network plays with itself, at a ply drawn beforehand."""
    found = []
    for opening in openings:
        position = replay(player.game, opening)
        for _ in range(rng.integers(most_plies)):
            policy, _value = player.evaluate(position)
            following = position.play(int(rng.choice(len(policy), p=policy / policy.sum())))
            if following.winner is not None:
                break
            position = following
        found.append(position)
    return found


def improved(game, evaluator, positions, settings, simulations, seed):
    """The improved policies [positions, actions] after a Gumbel search of each."""
    count = len(positions)
    forest = Forest(game, trees=count, memory_bytes=1 << 30, max_batch=count)
    for tree, position in enumerate(positions):
        forest.begin(tree, position, simulations, settings, seed + tree)
    nothing = np.zeros((0, game.num_actions), np.float32), np.zeros(0, np.float32)
    left = np.arange(count, dtype=np.int64)
    while left.size:
        batch = forest.gather(left, np.ones(left.size, np.int64))
        done = forest.scatter(*(evaluator.evaluate(batch) if len(batch) else nothing))
        left = left if done is None else left[~done]
    policies = np.zeros((count, game.num_actions), np.float32)
    trees = np.arange(count, dtype=np.int64)
    rest = np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.int64)
    harvest(forest.pool, trees, np.zeros(count), np.zeros(count), policies, *rest)
    return policies


def gaps(truth, policies):
    """KL from `truth` to `policies`, row by row."""
    policies = np.maximum(policies, LEAST)
    policies = policies / policies.sum(1, keepdims=True)
    return np.where(truth > 0, truth * np.log(np.maximum(truth, 1e-30) / policies), 0.0).sum(1)


def report(truth, all_policies):
    """Mean KL with its interval over positions, and how much of the best move's weight is there."""
    by_position = np.mean([gaps(truth, policies) for policies in all_policies], axis=0)
    best = np.mean([policies[np.arange(len(truth)), truth.argmax(1)] for policies in all_policies])
    margin = Z95 * by_position.std() / np.sqrt(len(truth))
    return {"kl": round(float(by_position.mean()), 4), "margin": round(float(margin), 4), "best": round(float(best), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("game")
    parser.add_argument("--checkpoint", help="a folder; the shipped network by default")
    parser.add_argument("--simulations", type=int, nargs="*", default=[64])
    parser.add_argument("--scales", type=float, nargs="*", default=[0.05, 0.1, 0.2, 0.5, 1.0])
    parser.add_argument("--long", type=int, default=3200, help="simulations of the search to compare with")
    parser.add_argument("--positions", type=int, default=200)
    parser.add_argument("--plies", type=int, default=5, help="of the sampled openings")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    game = get_game(options.game)
    player = load_player(options.checkpoint or options.game, simulations=options.long, seed=0)
    openings = sampled(game, options.plies, options.positions, options.seed)
    positions = positions_of(player, openings, game.num_actions // 2, np.random.default_rng(options.seed))
    thinking = [player.start(position) for position in positions]
    results = [search.result() for search in thinking]
    open_ones = [k for k, result in enumerate(results) if result.proven is None]
    positions = [positions[k] for k in open_ones]
    truth = np.stack([results[k].visits / results[k].visits.sum() for k in open_ones])
    priors = np.stack([results[k].priors for k in open_ones])
    found = {"checkpoint": options.checkpoint or game.name, "long": options.long, "positions": len(positions)}
    found["network"] = report(truth, [priors])
    print(found, file=sys.stderr, flush=True)
    evaluator = player.model.make_evaluator()
    tried = []
    for simulations in options.simulations:
        for scale in options.scales:
            settings = replace(game.search, candidates=game.training.candidates, sigma_scale=scale)
            draws = [improved(game, evaluator, positions, settings, simulations, 1000 * k) for k in range(4)]
            tried.append({"simulations": simulations, "sigma_scale": scale, **report(truth, draws)})
            print(tried[-1], file=sys.stderr, flush=True)
    print(json.dumps({**found, "tried": tried}))


if __name__ == "__main__":
    main()
