"""Evaluators and short cuts that several tests share."""

import numpy as np

from alphazero.forest import Forest
from alphazero.model import Model
from alphazero.root import Root


class FixedEvaluator:
    """A fixed pseudo-random function of the planes, the same for a row whatever batch it comes in."""

    def __init__(self, game, seed=0, sharpness=1.0):
        self.name = "fixed"
        self.calls = []
        rng = np.random.default_rng(seed)
        inputs = game.network.planes * game.num_actions
        self.policy = rng.standard_normal((inputs, game.num_actions)) * sharpness
        self.value = rng.standard_normal(inputs) * 0.3

    def evaluate(self, planes):
        self.calls.append(len(planes))
        rows = [row.ravel().astype(np.float64) for row in planes]
        logits = np.array([row @ self.policy for row in rows], np.float32)
        values = np.array([np.tanh(row @ self.value) for row in rows], np.float32)
        return logits, values


class UniformEvaluator:
    """Knows nothing: all moves alike, nobody ahead."""

    name = "uniform"

    def __init__(self, game):
        self.actions = game.num_actions

    def evaluate(self, planes):
        return np.zeros((len(planes), self.actions), np.float32), np.zeros(len(planes), np.float32)


def fixed_model(game, seed=0):
    return Model(game, lambda: FixedEvaluator(game, seed))


def uniform_model(game):
    return Model(game, lambda: UniformEvaluator(game))


def make_forest(game, trees=64, memory_bytes=64 << 20, max_batch=64):
    return Forest(game, trees=trees, memory_bytes=memory_bytes, max_batch=max_batch)


def run(forest, evaluator, trees, rows=1, steps=10**9):
    """Step these trees to the end (or so many steps)."""
    active, want = np.array(trees, np.int64), np.full(len(trees), rows, np.int64)
    for _ in range(steps):
        batch = forest.gather(active, want)
        answers = (
            evaluator.evaluate(batch)
            if len(batch)
            else (np.zeros((0, forest.game.num_actions), np.float32), np.zeros(0, np.float32))
        )
        done = forest.scatter(*answers)
        if done is not None and done.all():
            return


def search(game, evaluator, position, simulations, settings, rows=1, seed=0):
    """One search in a forest of its own; its Root."""
    forest = make_forest(game, trees=1)
    forest.begin(0, position, simulations, settings, seed)
    run(forest, evaluator, [0], rows)
    return Root(forest, 0)


def random_position(game, rng, plies):
    """An unfinished position after so many random moves, fewer if the game ends before."""
    position = game.start()
    for _ in range(plies):
        following = position.play(int(rng.choice(position.legal_moves())))
        if following.winner is not None:
            break
        position = following
    return position
