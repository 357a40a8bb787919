"""The statistics of matches, against known figures, brute force and simulation with fixed seeds."""

import json
import math
import random

import pytest

from alphazero.elo import PAIR_SCORES, Sprt, Tally, _best_fit, elo_of, expected_score
from alphazero.ratings import fit_ratings


def tally_of(*pairs):
    tally = Tally()
    for pair in pairs:
        tally.add(*pair)
    return tally


def game_result(rng, score, draws):
    """+1, 0 or -1 with this expected score and so many draws."""
    draw = rng.random()
    return 1 if draw < score - draws / 2 else 0 if draw < score + draws / 2 else -1


def test_elo_and_score_are_the_logistic_curve():
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert elo_of(0.75) == pytest.approx(190.85, abs=0.01)
    for elo in (-700, -3, 0, 35, 500):
        assert elo_of(expected_score(elo)) == pytest.approx(elo, abs=1e-6)
    assert elo_of(0.0) is None
    assert elo_of(1.0) is None


def test_a_tally_counts_by_colour_and_by_pair():
    tally = tally_of((1, -1), (1, 0), (0, 0), (-1, -1), (1, 1))
    assert (tally.wins, tally.draws, tally.losses) == (4, 3, 3)
    assert tally.as_first.as_dict() == {"wins": 3, "draws": 1, "losses": 1}
    assert tally.as_second.as_dict() == {"wins": 1, "draws": 2, "losses": 2}
    assert (tally.games, tally.pairs, tally.pair_counts) == (10, 5, [1, 0, 2, 1, 1])
    assert tally.score == pytest.approx(0.55)


@pytest.mark.parametrize("result", [2, -2, None])
def test_a_result_is_one_of_three(result):
    with pytest.raises(ValueError, match="1, 0 or -1"):
        Tally().add(1, result)


@pytest.mark.parametrize("score", [0.5, 0.62, 0.9])
@pytest.mark.parametrize("pairs", [10, 40, 150])
def test_the_interval_holds_the_truth_19_times_in_20(score, pairs):
    """Half of the openings favour whoever moves first, so the games of a pair differ in opposite directions."""
    rng = random.Random(f"{score} {pairs}")
    held, rounds = 0, 800
    for _ in range(rounds):
        tally = Tally()
        for _ in range(pairs):
            bias = rng.choice((0.0, 0.8)) * (1 - score)
            tally.add(game_result(rng, score + bias, 0.0), game_result(rng, score - bias, 0.0))
        low, high = tally.score_interval()
        held += low <= score <= high
    assert 0.93 <= held / rounds <= 0.998


def test_pairs_that_cancel_out_leave_less_doubt_than_their_games_would():
    cancelling = tally_of(*[(1, -1)] * 90, *[(1, 1)] * 10)
    scattered = tally_of(*[(1, 1)] * 55, *[(-1, -1)] * 45)
    assert cancelling.score == scattered.score == 0.55
    widths = [high - low for _, low, high in (cancelling.elo(), scattered.elo())]
    assert widths[0] < widths[1] / 2


@pytest.mark.parametrize("pairs", [1, 5, 50, 5000])
def test_a_clean_sweep_has_one_finite_bound(pairs):
    won, lost = tally_of(*[(1, 1)] * pairs), tally_of(*[(-1, -1)] * pairs)
    estimate, low, high = won.elo()
    assert estimate is None
    assert high is None
    # Exactly: a chance so small that all pairs are won with a probability of 2.5 %.
    exact = elo_of(0.025 ** (1 / pairs))
    assert low == pytest.approx(exact, abs=60 + 400 / pairs)
    assert lost.elo() == (None, None, pytest.approx(-low))


@pytest.mark.parametrize("pair", [(0, 0), (1, -1)])
def test_all_draws_are_no_difference_with_finite_doubt(pair):
    widths = []
    for pairs in (1, 10, 100, 1000):
        tally = tally_of(*[pair] * pairs)
        elo, low, high = tally.elo()
        assert elo == 0
        assert low == pytest.approx(-high)
        assert tally.superiority() == 0.5
        widths.append(high)
    assert widths == sorted(widths, reverse=True)
    assert widths[0] < 1000


@pytest.mark.parametrize("pairs", [[], [(1, 1)] * 3, [(-1, -1)] * 3, [(0, 0)] * 3, [(1, 0), (0, -1)]])
def test_json_never_holds_infinity(pairs):
    text = json.dumps(tally_of(*pairs).as_dict(), allow_nan=False)
    assert json.loads(text)["pairs"] == len(pairs)


def test_superiority_grows_with_the_evidence():
    chances = [tally_of(*[(1, 0)] * n, (-1, -1)).superiority() for n in (2, 8, 30)]
    assert chances == sorted(chances)
    assert chances[-1] > 0.99


def test_the_best_fit_is_the_likeliest_distribution_with_that_mean():
    counts, mean = [3.0, 1.0, 10.0, 4.0, 7.0], 0.45
    fit = _best_fit(counts, mean)
    assert sum(fit) == pytest.approx(1)
    assert sum(p * s for p, s in zip(fit, PAIR_SCORES, strict=True)) == pytest.approx(mean)

    def likelihood(ps):
        return sum(n * math.log(p) for n, p in zip(counts, ps, strict=True))

    rng = random.Random(1)
    for _ in range(300):  # any step that keeps sum and mean makes it less likely
        a, b, c = sorted(rng.sample(range(5), 3))
        step = [0.0] * 5
        step[a], step[b], step[c] = (c - b) * 0.003, (a - c) * 0.003, (b - a) * 0.003
        sign = rng.choice((1, -1))
        assert likelihood([p + sign * s for p, s in zip(fit, step, strict=True)]) < likelihood(fit)


def test_the_ratio_is_the_normal_approximation_for_small_differences():
    tally = tally_of(*[(1, 1)] * 260, *[(1, 0)] * 200, *[(1, -1)] * 900, *[(0, -1)] * 190, *[(-1, -1)] * 240)
    _, variance = tally.variance()
    s0, s1 = expected_score(0), expected_score(5)
    normal = tally.pairs * (s1 - s0) * (2 * tally.score - s0 - s1) / (2 * variance)
    assert Sprt(0, 5).log_likelihood_ratio(tally) == pytest.approx(normal, rel=0.02)


@pytest.mark.parametrize(("true_elo", "wrong"), [(0, "H1"), (120, "H0")])
@pytest.mark.parametrize("draws", [0.0, 0.4])
def test_the_test_errs_as_rarely_as_it_says(true_elo, wrong, draws):
    rng = random.Random(f"{true_elo} {draws}")
    sprt, score, errors, rounds = Sprt(0, 120), expected_score(true_elo), 0, 300
    for _ in range(rounds):
        tally, decision = Tally(), None
        while decision is None:
            tally.add(game_result(rng, score, draws), game_result(rng, score, draws))
            decision = sprt.judge(tally).decision
        errors += decision == wrong
    # 5 %, and four standard deviations of what 300 rounds show.
    assert errors / rounds <= 0.10


@pytest.mark.parametrize("bounds", [(0, 1), (0, 35), (0, 300), (20, 40)])
def test_a_match_of_draws_never_accepts_h1(bounds):
    tally, sprt = Tally(), Sprt(*bounds)
    for _ in range(3000):
        tally.add(0, 0)
        assert sprt.judge(tally).decision != "H1"
    assert bounds == (0, 1) or sprt.judge(tally).decision == "H0"


def test_the_test_is_as_fair_to_one_side_as_to_the_other():
    won, lost = tally_of(*[(1, 0)] * 20), tally_of(*[(-1, 0)] * 20)
    assert Sprt(-50, 50).judge(won).decision == "H1"
    assert Sprt(-50, 50).judge(lost).decision == "H0"
    assert Sprt(-50, 50).judge(won).llr == pytest.approx(-Sprt(-50, 50).judge(lost).llr)
    assert Sprt(-50, 50).judge(Tally()).llr == 0


@pytest.mark.parametrize("bad", [(5, 5), (10, 0), (math.nan, 5), (0, math.inf), (0, 5, 0.0), (0, 5, 0.05, 0.9)])
def test_a_test_needs_sensible_bounds(bad):
    with pytest.raises(ValueError, match=r"elo0|elo1|alpha|beta"):
        Sprt(*bad)


def test_ratings_of_two_are_their_elo_difference():
    tally = tally_of(*[(1, 0)] * 60, *[(1, -1)] * 60, *[(0, -1)] * 20)
    a, b = fit_ratings(["a", "b"], {(0, 1): tally})
    elo, low, high = tally.elo()
    assert a.elo == pytest.approx(-b.elo)
    assert a.elo - b.elo == pytest.approx(elo, abs=1)
    assert 2 * (a.margin + b.margin) == pytest.approx(high - low, rel=0.05)
    assert (a.games, a.score) == (280, pytest.approx(tally.score))


def test_ratings_find_the_truth_behind_simulated_games():
    rng = random.Random(3)
    truth = [150.0, 20.0, -170.0]
    held, rounds = 0, 60
    for _ in range(rounds):
        matches = {}
        for i, j in ((0, 1), (0, 2), (1, 2)):
            score = expected_score(truth[i] - truth[j])
            results = [(game_result(rng, score, 0.1), game_result(rng, score, 0.1)) for _ in range(80)]
            matches[i, j] = tally_of(*results)
        ratings = fit_ratings(["x", "y", "z"], matches)
        held += sum(abs(r.elo - t) <= r.margin for r, t in zip(ratings, truth, strict=True))
    assert 0.88 <= held / (3 * rounds) <= 0.995


def test_ratings_stay_finite_when_somebody_wins_everything():
    matches = {(0, 1): tally_of(*[(1, 1)] * 20), (1, 2): tally_of(*[(0, 0)] * 20), (0, 2): Tally()}
    best, middle, other = fit_ratings(["a", "b", "c"], matches)
    assert best.elo > middle.elo + 200
    assert middle.elo == pytest.approx(other.elo)
    assert all(math.isfinite(r.elo) and math.isfinite(r.margin) for r in (best, middle, other))
