"""The learner: it learns, repeats itself, goes on where it stopped, and goes back when a step went wrong."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from alphazero import get_game
from alphazero.train_settings import TrainSettings
from alphazero.training.learner import MEDIAN_STEPS, Learner, LearnerError, pick_device
from alphazero.training.samples import Samples
from alphazero.training.selfplay import SelfPlay
from tests.helpers import FixedEvaluator

GAME = get_game("tictactoe")
SETTINGS = TrainSettings(parallel=16, simulations=16, batch=64)


@pytest.fixture(scope="module")
def samples():
    parts = SelfPlay(GAME, SETTINGS, 0).play(FixedEvaluator(GAME), 200, 16)
    joined = Samples.join(parts)
    return joined.take(np.arange(len(joined)))


def make(settings=SETTINGS):
    return Learner(GAME, GAME.network, settings)


def draw_rows(samples, rng):
    rows = rng.integers(len(samples["outcome"]), size=64)
    return {name: column[rows] for name, column in samples.items()}


def learn(learner, samples, steps, seed=0, warnings=None, rate=2e-3):
    rng = np.random.default_rng(seed)
    warnings = [] if warnings is None else warnings
    return learner.learn(lambda: draw_rows(samples, rng), steps, rate, rng, lambda step: None, warnings.append)


def same(a, b):
    return all(np.array_equal(a[name], b[name]) for name in a)


def test_it_learns_what_the_samples_say(samples):
    learner = make()
    before = learner.measure(samples)
    learn(learner, samples, 400)
    after = learner.measure(samples)
    assert after["policy_kl"] < 0.6 * before["policy_kl"]
    assert after["value_mse_outcome"] < 0.6 * before["value_mse_outcome"]
    assert after["value_mse_search"] < before["value_mse_search"]


def test_an_untrained_network_measures_as_uniform(samples):
    policy = samples["policy"].astype(np.float64)
    policy /= policy.sum(1, keepdims=True)
    entropy = -np.where(policy > 0, policy * np.log(np.maximum(policy, 1e-30)), 0).sum(1)
    legal = (samples["cells"] == 0).sum(1)
    expected = (np.log(legal) - entropy).mean()
    measured = make().measure(samples)
    assert measured["policy_kl"] == pytest.approx(expected, abs=1e-3)
    assert measured["value_mse_outcome"] == pytest.approx((samples["outcome"] ** 2).mean(), abs=1e-6)


def test_nothing_held_out_nothing_measured():
    assert set(make().measure(None).values()) == {None}


def test_the_value_target_mixes_outcome_and_search(samples):
    """With value targets that differ, each q_weight must pull the value to its own."""
    fixed = samples | {
        "outcome": np.ones_like(samples["outcome"]),
        "search_value": np.full_like(samples["search_value"], -1),
    }
    for q_weight, target in ((0.0, 1.0), (0.5, 0.0), (1.0, -1.0)):
        learner = make(replace(SETTINGS, q_weight=q_weight))
        learn(learner, fixed, 150)
        error = learner.measure(fixed)["value_mse_outcome"]
        assert np.sqrt(error) == pytest.approx(1 - target, abs=0.15)


def test_same_seed_same_weights(samples):
    first, again = make(), make()
    for learner in (first, again):
        learn(learner, samples, 30)
    assert same(first.averaged_weights(), again.averaged_weights())
    other = make()
    learn(other, samples, 30, seed=1)
    assert not same(first.averaged_weights(), other.averaged_weights())


def test_it_goes_on_exactly_where_it_stopped(tmp_path, samples):
    through, first, second = make(), make(), make()
    learn(through, samples, 20, seed=1)
    learn(through, samples, 20, seed=2)
    learn(first, samples, 20, seed=1)
    first.save(tmp_path / "state.safetensors")
    second.restore(tmp_path / "state.safetensors")
    learn(second, samples, 20, seed=2)
    assert second.steps == 40
    assert same(through.averaged_weights(), second.averaged_weights())
    assert same(through.network.weights(), second.network.weights())


def test_the_average_trails_the_weights(samples):
    learner = make(replace(SETTINGS, average=0.99))
    learn(learner, samples, 50)
    weights, average = learner.network.weights(), learner.averaged_weights()
    assert not same(weights, average)
    still = make(replace(SETTINGS, average=0.0))
    learn(still, samples, 5)
    assert same(still.network.weights(), still.averaged_weights())


def poison(learner, at, how):
    """Make one step go wrong the way it may in life."""
    step, count = learner._step, 0

    def stepped(columns, rng):
        nonlocal count
        count += 1
        if count == at and how == "nan target":
            columns = columns | {"search_value": np.full_like(columns["search_value"], np.nan)}
        losses = step(columns, rng)
        if count == at and how == "spike":
            return losses[0] * 100, losses[1]
        if count == at and how == "infinity":
            return float("inf"), losses[1]
        if count == at and how == "bad weights":
            with torch.no_grad():
                learner.network.policy_out.bias.fill_(float("nan"))
        return losses

    learner._step = stepped


@pytest.mark.parametrize("how", ["nan target", "infinity", "bad weights", "spike"])
def test_a_step_that_went_wrong_is_undone_and_the_learning_rate_halved(samples, how):
    learner = make()
    learn(learner, samples, MEDIAN_STEPS)
    stable, optimiser = learner._state(), learner.steps
    warnings = []
    poison(learner, at=7, how=how)
    learn(learner, samples, 7, seed=3, warnings=warnings)
    assert learner.steps == optimiser
    assert learner.factor == 0.5
    assert len(warnings) == 1
    assert "back at step 100" in warnings[0]
    assert "0.001" in warnings[0]
    now = learner._state()
    for name in stable:
        if name != "numbers":
            assert torch.equal(stable[name], now[name]), name
    learn(learner, samples, 10, seed=4, warnings=warnings)  # and it goes on
    assert len(warnings) == 1
    assert learner._optimiser.param_groups[0]["lr"] == pytest.approx(1e-3)
    assert np.isfinite(learner.averaged_weights()["policy_out.bias"]).all()


def test_trouble_without_end_is_an_error_in_words(samples):
    learner = make()
    step = learner._step
    learner._step = lambda columns, rng: (step(columns, rng)[0], float("nan"))
    with pytest.raises(LearnerError, match="lower learning_rate"):
        learn(learner, samples, 50)


def test_a_learners_file_that_is_damaged_says_so(tmp_path, samples):
    learner = make()
    path = tmp_path / "state.safetensors"
    learner.save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(LearnerError, match=r"state\.safetensors"):
        make().restore(path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu_is_said_plainly():
    with pytest.raises(LearnerError, match="no GPU"):
        pick_device("cuda")
