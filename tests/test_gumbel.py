"""The Gumbel root: equal to an independent one, an improved policy, and trees that go on as if new."""

import math
from dataclasses import replace

import numpy as np
import pytest

from alphazero import SearchSettings, get_game
from alphazero.forest import draw_noise
from alphazero.game import UNDECIDED
from alphazero.gumbel import SIGMA_VISITS, considered_visits, final_edge, improved_policy
from alphazero.pool import OPEN
from alphazero.root import Root
from tests.helpers import FixedEvaluator, make_forest, random_position, run, search
from tests.textbook import WIN, Node, Textbook

GAMES = ["chain_reaction", "gomoku", "tictactoe"]


class GumbelBook(Textbook):
    """The textbook search with a Gumbel root: lists and dictionaries, candidates sorted anew every time."""

    def __init__(self, evaluator, settings, noise):
        super().__init__(evaluator, settings)
        self.noise = noise

    def search(self, position, simulations):
        self.root = Node(position)
        self.simulate(self.root)
        self.plan = plan(min(self.settings.candidates, len(self.root.priors)), simulations)
        for asked in self.plan:
            if self.root.proof and self.settings.solver:
                break
            self.asked = asked
            self.simulate(self.root)
        return self.root

    def q(self, action, otherwise):
        child = self.root.children.get(action)
        if child is None:
            return otherwise
        return -child.exact if child.proof else -child.total / child.visits

    def visits(self, action):
        return self.root.children[action].visits if action in self.root.children else 0

    def scores(self, temperature=1.0):
        root = self.root
        tried = [a for a in root.priors if a in root.children]
        count = sum(self.visits(a) for a in tried)
        mixed = self.value
        if count:
            mass = sum(root.priors[a] for a in tried)
            mixed = (self.value + count * sum(root.priors[a] * self.q(a, 0) for a in tried) / mass) / (1 + count)
        scale = (SIGMA_VISITS + max(self.visits(a) for a in root.priors)) * self.settings.sigma_scale
        return {
            a: temperature * self.noise[a] + math.log(max(p, 1e-30)) + scale * self.q(a, mixed)
            for a, p in root.priors.items()
        }

    def expand(self, node):
        value = super().expand(node)
        if node is self.root:
            self.value = value
        return value

    def lost(self, action):
        child = self.root.children.get(action)
        return child is not None and child.proof == WIN

    def select(self, node):
        if node is not self.root:
            return super().select(node)
        scores = self.scores()
        open_moves = [a for a in node.priors if not (self.settings.solver and self.lost(a))]

        def distance(action):
            visits = self.visits(action)
            return self.asked - visits if visits <= self.asked else 10**6 + visits

        return min(open_moves, key=lambda a: (distance(a), -scores[a], a))


def plan(candidates, simulations):
    """For every simulation, how many visits its candidate has had: rounds that halve the field."""
    if candidates < 2:
        return list(range(simulations))
    rounds = math.ceil(math.log2(candidates))
    visits, field, sequence = [0] * candidates, candidates, []
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (rounds * field))):
            sequence += visits[:field]
            visits[:field] = [count + 1 for count in visits[:field]]
        field = max(2, field // 2)
    return sequence[:simulations]


@pytest.mark.parametrize("candidates", [1, 2, 3, 5, 8, 16, 25, 81])
@pytest.mark.parametrize("simulations", [2, 16, 32, 50, 200])
def test_the_schedule_halves_the_field(candidates, simulations):
    ours = [considered_visits(number, candidates, simulations) for number in range(simulations)]
    assert ours == plan(candidates, simulations)


def settings_of(game, solver=True, candidates=16):
    return replace(game.search, candidates=candidates, solver=solver)


def book_search(game, position, simulations, settings, seed):
    """(book, our root) of the same search with the same noise."""
    evaluator = FixedEvaluator(game, seed=seed, sharpness=0.5)
    forest = make_forest(game, trees=1)
    forest.begin(0, position, simulations, settings, seed)
    noise = forest.pool.noise[0].astype(np.float64)
    run(forest, evaluator, [0])
    book = GumbelBook(evaluator, settings, noise)
    book.search(position, simulations)
    return book, forest


@pytest.mark.parametrize("solver", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_visits_equal_an_independent_search(name, solver):
    game = get_game(name)
    rng = np.random.default_rng(0)
    for seed in range(20):
        position = random_position(game, rng, int(rng.integers({"tictactoe": 5}.get(name, 30))))
        book, forest = book_search(game, position, 16 + 8 * (seed % 5), settings_of(game, solver), seed)
        root = Root(forest, 0)
        visits = {int(a): int(n) for a, n in zip(root.actions, root.visits, strict=True) if n}
        assert visits == {a: child.visits for a, child in book.root.children.items()}


@pytest.mark.parametrize("sigma_scale", [0.05, 0.5])
def test_the_improved_policy_and_the_final_move(sigma_scale):
    game = get_game("gomoku")
    rng = np.random.default_rng(1)
    compared = 0
    for seed in range(20):
        position = random_position(game, rng, 8)
        settings = replace(settings_of(game), sigma_scale=sigma_scale)
        book, forest = book_search(game, position, 32, settings, seed)
        if book.root.proof:
            continue
        index = forest.pool.trees[0]["root"]
        policy = np.zeros(game.num_actions, np.float32)
        improved_policy(forest.pool, 0, index, policy)
        scores = book.scores(temperature=0.0)
        weights = {a: 0.0 if book.lost(a) else math.exp(s - max(scores.values())) for a, s in scores.items()}
        expected = {a: w / sum(weights.values()) for a, w in weights.items()}
        assert policy.sum() == pytest.approx(1, abs=1e-5)
        assert all(policy[a] == pytest.approx(p, abs=1e-5) for a, p in expected.items())
        for temperature in (0.0, 0.5, 1.0):
            most = max(book.visits(a) for a in scores if not book.lost(a))
            warm = book.scores(temperature)
            best = max((a for a in scores if book.visits(a) == most and not book.lost(a)), key=lambda a: warm[a])
            assert forest.pool.edges[index][final_edge(forest.pool, 0, index, temperature)]["action"] == best
        compared += 1
    assert compared > 10


def test_a_won_move_is_found_whatever_the_noise():
    game = get_game("gomoku")
    position = game.start()
    for move in (36, 0, 37, 2, 38, 4, 39, 6):  # black has four in a row, one end open at 40
        position = position.play(move)
    found = 0
    for seed in range(10):
        root = search(game, FixedEvaluator(game), position, 81, settings_of(game, candidates=81), seed=seed)
        found += root.actions[root.best] == 40 and root.proof != OPEN
    assert found == 10


def test_the_draws_are_gumbel():
    draws = draw_noise(np.random.default_rng(0), SearchSettings(candidates=4), 100_000)
    assert draws.mean() == pytest.approx(0.5772, abs=0.02)
    assert draws.std() == pytest.approx(math.pi / math.sqrt(6), abs=0.02)


@pytest.mark.parametrize("candidates", [0, 16])
@pytest.mark.parametrize("name", GAMES)
def test_a_tree_that_moves_on_searches_as_if_new(name, candidates):
    """Evaluations are kept, visits are not: the same search, fewer calls of the network."""
    game = get_game(name)
    settings = settings_of(game, candidates=candidates)
    saved = 0
    for seed in range(6):
        position = random_position(game, np.random.default_rng(seed), 4)
        evaluator = FixedEvaluator(game, seed)
        forest = make_forest(game, trees=1)
        forest.begin(0, position, 60, settings, seed)
        for _ in range(8):
            run(forest, evaluator, [0])
            before = sum(evaluator.calls)
            root = Root(forest, 0)
            fresh_evaluator = FixedEvaluator(game, seed)
            fresh = search(game, fresh_evaluator, position, 60, settings, seed=seed)
            assert root.spread(root.visits).tolist() == fresh.spread(fresh.visits).tolist()
            assert root.value_to_move == fresh.value_to_move
            assert (root.proof, root.line) == (fresh.proof, fresh.line)
            move = int(root.actions[root.best])
            winner = forest.advance(0, move)
            position = position.play(move)
            assert (None if winner == UNDECIDED else winner) == position.winner
            if winner != UNDECIDED:
                break
            forest._set_up(0, 60, settings, seed)
            run(forest, evaluator, [0])
            again = FixedEvaluator(game, seed)
            search(game, again, position, 60, settings, seed=seed)
            saved += sum(again.calls) - (sum(evaluator.calls) - before)
    assert saved > 0


def test_noise_and_candidates_exclude_each_other():
    with pytest.raises(ValueError, match="Gumbel"):
        SearchSettings(noise_fraction=0.25, candidates=8)
