"""Players: the public API of DESIGN section 5, levels, repeatability, symmetry, reuse, live glances, bad input."""

import asyncio
import time
from dataclasses import replace

import numpy as np
import pytest

import alphazero
from alphazero import LEVELS, Checkpoint, Engine, SearchSettings, get_game, load_player
from alphazero.model import Model
from alphazero.player import Player
from alphazero.settings import Level
from tests.helpers import FixedEvaluator, fixed_model, random_position
from tests.test_network import lively_weights

GAMES = ["chain_reaction", "gomoku", "tictactoe"]


def lively_player(name, **options):
    game = get_game(name)
    checkpoint = Checkpoint(game, game.network, lively_weights(game.network))
    return Player(Model.of(checkpoint), **options)


def same(one, other):
    return (
        one.action == other.action
        and (one.visits == other.visits).all()
        and (one.probs == other.probs).all()
        and one.value_to_move == other.value_to_move
        and one.line == other.line
    )


@pytest.mark.parametrize("name", GAMES)
def test_public_api_as_designed(name):
    game = alphazero.get_game(name)
    assert game.name == name
    assert game.num_actions == game.rows * game.cols
    assert game.rules_version == 1
    position = game.start()
    player = alphazero.load_player(name, simulations=60)
    result = player.search(position)
    assert result.action in position.legal_moves()
    assert result.probs.shape == result.visits.shape == (game.num_actions,)
    assert result.probs.sum() == pytest.approx(1)
    assert result.visits.sum() == 60 == result.simulations
    assert -1 <= result.value_to_move <= 1
    assert result.proven is None
    assert result.line[0] == result.action
    assert result.seconds > 0
    assert result.stopped == "simulations"
    for action in result.line:
        position = position.play(action)


@pytest.mark.parametrize("name", GAMES)
def test_simulations_alone_are_repeatable_even_on_a_busy_engine(name):
    player = lively_player(name, simulations=200)
    rng = np.random.default_rng(0)
    positions = [random_position(player.game, rng, int(rng.integers(6))) for _ in range(6)]
    alone = [player.search(position) for position in positions]
    crowd = [player.start(random_position(player.game, rng, 3), simulations=5000) for _ in range(20)]
    for position, expected in zip(positions, alone, strict=True):
        assert same(player.search(position), expected)
    for thinking in crowd:
        thinking.cancel()


@pytest.mark.parametrize("name", GAMES)
def test_a_turned_position_gets_the_turned_answer(name):
    player = lively_player(name, simulations=120)
    rng = np.random.default_rng(1)
    checked = 0
    while checked < 5:
        position = random_position(player.game, rng, 4)
        images = [position.transform(s) for s in range(8)]
        if len(set(images)) < 8:
            continue  # a board that looks the same when turned has more than one right answer
        checked += 1
        answers = [player.search(image) for image in images]
        for symmetry, answer in enumerate(answers):
            table = player.game.symmetries[symmetry]
            assert answer.action == table[answers[0].action]
            assert (answer.visits[table] == answers[0].visits).all()
            assert (answer.probs[table] == answers[0].probs).all()
            assert (answer.priors[table] == answers[0].priors).all()
            assert np.array_equal(answer.action_values[table], answers[0].action_values, equal_nan=True)
            assert answer.line == [table[action] for action in answers[0].line]
            assert answer.value_to_move == answers[0].value_to_move


def test_temperature_draws_by_seed_and_by_share():
    game = get_game("gomoku")
    mild = Model(game, lambda: FixedEvaluator(game, sharpness=0.3))
    player = Player(mild, simulations=60, temperature=1.0)
    start = player.game.start().play(30)
    drawn = [player.search(start, seed=seed).action for seed in range(150)]
    assert drawn == [player.search(start, seed=seed).action for seed in range(150)]
    result = player.search(start, seed=0)
    assert len(set(drawn)) > 5
    assert all(result.probs[action] > 0 for action in drawn)
    share = np.bincount(drawn, minlength=81) / len(drawn)
    assert np.abs(share - result.probs).max() < 0.15
    cold = [player.search(start, seed=seed, temperature=0).action for seed in range(5)]
    assert len(set(cold)) == 1
    assert player.search(start, temperature=0).action == int(result.visits.argmax())
    hot = [player.search(start, seed=seed, temperature=5).action for seed in range(150)]
    best = player.search(start, temperature=0).action
    assert hot.count(best) < drawn.count(best), "heat spreads the choice"


def test_a_budget_of_its_own_keeps_the_temperature():
    game = get_game("gomoku")
    player = Player(Model(game, lambda: FixedEvaluator(game, sharpness=0.1)), simulations=60, temperature=1.0)
    start = game.start().play(30)
    assert len({player.search(start, simulations=61, seed=seed).action for seed in range(15)}) > 3
    assert len({player.search(start, temperature=1e-310, seed=seed).action for seed in range(15)}) == 1


def test_an_unrelated_previous_changes_nothing():
    player = lively_player("gomoku", simulations=80)
    rng = np.random.default_rng(6)
    other = player.search(random_position(player.game, rng, 6))
    for _ in range(4):
        position = random_position(player.game, rng, 5)
        assert same(player.search(position, previous=other), player.search(position))


def test_probabilities_are_numbers_even_when_only_hopeless_moves_were_tried():
    game = get_game("tictactoe")

    class Blind(FixedEvaluator):
        def evaluate(self, planes):
            logits, values = super().evaluate(planes)
            logits[:] = 0
            logits[:, 8] = 200
            return logits, values

    player = Player(Model(game, lambda: Blind(game)), simulations=3)
    losing = game.from_board([[1, 1, 0], [-1, 0, 0], [0, 0, 0]], -1)
    for simulations in range(1, 30):
        result = player.search(losing, simulations=simulations)
        assert result.probs.sum() == pytest.approx(1)
        assert result.action in losing.legal_moves()


def test_levels_set_budget_and_temperature():
    player = load_player("gomoku")
    for level in LEVELS:
        expected = player.game.levels[level]
        result = player.search(player.game.start().play(40), level=level)
        assert result.simulations == expected.simulations or result.stopped == "seconds"
    assert load_player("gomoku").search(player.game.start()).simulations == player.game.levels["medium"].simulations
    assert load_player("gomoku", level="easy").search(player.game.start()).simulations == 32
    assert player.search(player.game.start(), level="hard", simulations=10).simulations == 10
    counts = [player.game.levels[level].simulations for level in LEVELS]
    assert counts == sorted(counts)


def test_a_level_that_slips_plays_anything_now_and_then():
    game = get_game("tictactoe")
    winning = game.from_board([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], 1)
    player = Player(fixed_model(game))
    careless = replace(game, levels={**game.levels, "beginner": Level(simulations=50, slips=0.5)})
    sloppy = Player(fixed_model(careless), level="beginner")
    position = careless.from_board(winning.board, 1)
    played = [sloppy.search(position, seed=seed).action for seed in range(200)]
    assert set(played) == set(position.legal_moves())
    assert 0.5 < np.mean(np.array(played) == 2) < 0.7  # half of the time it looks, and one slip in five hits it
    assert played[:20] == [sloppy.search(position, seed=seed).action for seed in range(20)]
    assert {sloppy.search(position, seed=seed, temperature=0).action for seed in range(20)} == {2}
    assert {player.search(winning, seed=seed, level="hard").action for seed in range(20)} == {2}


def test_seconds_alone():
    player = lively_player("chain_reaction", seconds=0.2)
    player.warm_up()
    result = player.search(player.game.start())
    assert result.stopped == "seconds"
    assert result.simulations > 10


def test_reuse_counts_what_is_known_and_changes_no_answer():
    player = lively_player("gomoku", simulations=300, engine=Engine())
    position = player.game.start().play(40).play(31)
    first = player.search(position)
    following = position.play(first.line[0]).play(first.line[1])
    second = player.search(following, previous=first)
    assert second.simulations == 300
    before = player.engine.stats.snapshot()["gomoku"]["simulations"]
    third = player.search(following.play(second.line[0]), previous=second)
    assert player.engine.stats.snapshot()["gomoku"]["simulations"] - before < 300
    assert third.simulations == 300
    assert third.action in following.play(second.line[0]).legal_moves()
    elsewhere = player.search(player.game.start(), previous=third)
    assert elsewhere.simulations == 300


def test_proven_win_is_played_at_every_temperature():
    game = get_game("tictactoe")
    position = game.from_board([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], 1)
    player = Player(fixed_model(game), simulations=200)
    for seed in range(5):
        result = player.search(position, temperature=2.0, seed=seed)
        assert (result.action, result.proven, result.proven_plies, result.value_to_move) == (2, "win", 1, 1.0)
        assert result.proven_moves[2] == "win"
        assert result.probs[2] == 1
        assert result.stopped == "proven"
    lost = player.search(game.from_board([[1, 1, 0], [1, -1, 0], [0, 0, -1]], -1), simulations=500)
    assert lost.proven == "loss"
    assert lost.value_to_move == -1
    assert lost.proven_plies == 2


def test_evaluate_is_the_bare_network():
    game = get_game("gomoku")
    player = Player(fixed_model(game), simulations=10)
    position = random_position(game, np.random.default_rng(3), 5)
    policy, value_to_move = player.evaluate(position)
    logits, values = FixedEvaluator(game).evaluate(position.planes()[None])
    legal = position.legal_moves()
    weights = np.exp(logits[0, legal] - logits[0, legal].max())
    assert policy[legal] == pytest.approx(weights / weights.sum(), abs=1e-5)
    assert policy.sum() == pytest.approx(1, abs=1e-5)
    assert value_to_move == pytest.approx(float(values[0]))


def test_thinking_can_be_watched_awaited_and_cancelled():
    player = lively_player("gomoku", seconds=30)
    thinking = player.start(player.game.start())
    while (glance := thinking.peek()) is None or glance.simulations < 20:
        time.sleep(0.001)
    assert glance.stopped == "running"
    assert glance.visits.sum() == glance.simulations
    assert thinking.cancel()
    assert thinking.done()

    async def ask():
        return await player.search_async(player.game.start(), simulations=30)

    assert asyncio.run(ask()).simulations == 30


def test_noise_reaches_the_root():
    noisy = lively_player("gomoku", simulations=100, settings=SearchSettings(noise_fraction=0.5))
    start = noisy.game.start().play(0)
    assert (noisy.search(start, seed=1).priors != noisy.search(start, seed=2).priors).any()
    assert same(noisy.search(start, seed=1), noisy.search(start, seed=1))


@pytest.mark.parametrize(
    "options",
    [
        {"level": "grandmaster"},
        {"level": 3},
        {"level": ["easy"]},
        {"level": ""},
        {"simulations": 0},
        {"simulations": 10**9},
        {"simulations": 2.5},
        {"seconds": -1},
        {"seconds": float("inf")},
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": "hot"},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2**80},
    ],
)
def test_bad_options_say_what_is_allowed(options):
    with pytest.raises(ValueError, match=r"must be|no level|levels"):
        load_player("tictactoe", **options)
    player = load_player("tictactoe")
    with pytest.raises(ValueError, match=r"must be|no level|levels"):
        player.search(player.game.start(), **options)


def test_bad_positions_say_what_is_wrong():
    player = load_player("tictactoe")
    for ask in (player.search, player.evaluate):
        for wrong in ([[0] * 3] * 3, None, player.game):
            with pytest.raises(TypeError, match="must be a Position"):
                ask(wrong)
    with pytest.raises(TypeError, match="SearchResult"):
        player.search(player.game.start(), previous=3)
    with pytest.raises(ValueError, match="gomoku"):
        player.search(get_game("gomoku").start())
    over = player.game.from_board([[1, 1, 1], [-1, -1, 0], [0, 0, 0]], -1)
    for ask in (player.search, player.evaluate):
        with pytest.raises(ValueError, match="over"):
            ask(over)
    for wrong in ({"c_puct": -1}, {"noise_fraction": 2}, {"solver": 1}, {"fpu_reduction": "x"}):
        with pytest.raises(ValueError, match="must be"):
            SearchSettings(**wrong)
    with pytest.raises(ValueError, match="unknown SearchSettings setting 'cpuct'"):
        SearchSettings.from_dict({"cpuct": 1})


def test_wrong_kinds_are_named_at_once():
    for wrong in (
        lambda: Player("tictactoe"),
        lambda: load_player("tictactoe", engine=3),
        lambda: Engine(limits=3),
        lambda: Engine().submit("tictactoe", get_game("tictactoe").start(), None),
        lambda: Engine().warm_up("tictactoe"),
        lambda: Checkpoint.fresh("tictactoe"),
        lambda: Model.of("tictactoe"),
    ):
        with pytest.raises(TypeError, match=r"must be an? "):
            wrong()
    with pytest.raises(ValueError, match="backend must be one of"):
        load_player("tictactoe", backend="cuda")
    with pytest.raises(ValueError, match="simulations must be"):
        alphazero.Level(-3)


def test_numpy_numbers_are_numbers():
    player = load_player("tictactoe", simulations=np.int64(20), seed=np.int32(1))
    result = player.search(player.game.start(), seconds=np.float32(5), simulations=np.int16(10))
    assert result.simulations == 10
