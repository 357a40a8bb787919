"""The engine: shared batches, fairness, limits, cancelling, threads, asyncio, counters."""

import asyncio
import gc
import threading
import time
import weakref
from concurrent.futures import wait

import numpy as np
import pytest

from alphazero import Budget, Engine, EngineFull, EngineLimits, SearchSettings, get_game
from alphazero.forest import EvaluationError
from alphazero.model import Model
from tests.helpers import FixedEvaluator, fixed_model, random_position, search

LONG = Budget(simulations=100_000)


class Slow(FixedEvaluator):
    """As slow as a network: makes steps long enough to watch."""

    def evaluate(self, planes):
        time.sleep(0.002)
        return super().evaluate(planes)


@pytest.fixture
def engine():
    engine = Engine()
    yield engine
    engine.close()


def slow_model(name="gomoku"):
    game = get_game(name)
    return Model(game, lambda: Slow(game))


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def stats(engine, name="gomoku"):
    return engine.stats.snapshot().get(name, {"in_flight": 0, "evaluations": 0, "cancelled": 0})


def test_searches_in_shared_batches_equal_lone_ones(engine):
    models = {name: fixed_model(get_game(name)) for name in ("gomoku", "chain_reaction", "tictactoe")}
    rng = np.random.default_rng(0)
    jobs = []
    for number in range(60):
        model = list(models.values())[number % 3]
        position = random_position(model.game, rng, 4)
        jobs.append((model, position, 50 + number, engine.submit(model, position, Budget(simulations=50 + number))))
    for model, position, simulations, ticket in jobs:
        root = ticket.result(60).root
        alone = search(model.game, FixedEvaluator(model.game), position, simulations, model.game.search)
        assert (root.spread(root.visits) == alone.spread(alone.visits)).all()
    assert max(stats(engine)["batch_sizes"]) >= 10, "searches of one model share batches"


def test_from_many_threads(engine):
    model = fixed_model(get_game("chain_reaction"))
    results, errors = [], []

    def caller(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(10):
                position = random_position(model.game, rng, 3)
                root = engine.submit(model, position, Budget(simulations=40)).result(60).root
                results.append(root.simulations)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=caller, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(results) == 160
    assert engine.searches_in_flight() == 0


def test_two_workers_share_the_load_and_agree():
    with_two = Engine(workers=2)
    model = slow_model()
    tickets = [with_two.submit(model, model.game.start(), Budget(simulations=30)) for _ in range(8)]
    outcomes = [ticket.result(60) for ticket in tickets]
    assert {outcome.worker for outcome in outcomes} == {0, 1}
    assert len({tuple(o.root.spread(o.root.visits)) for o in outcomes}) == 1
    with_two.close()


def test_a_short_search_does_not_wait_for_long_ones(engine):
    """Beside ten long searches a 50-simulation one takes about 51 steps, its own share, and not one step more."""
    model = slow_model()
    engine.warm_up(model)
    long = [engine.submit(model, model.game.start(), LONG) for _ in range(10)]
    wait_for(lambda: stats(engine).get("batch_sizes", {}).get(10, 0) > 5)
    engine.submit(model, model.game.start(), Budget(simulations=50)).result(60)
    wait_for(lambda: stats(engine)["in_flight"] == 10)
    assert stats(engine)["batch_sizes"][11] == 51, "a row in every step, from the first to the last"
    for ticket in long:
        ticket.cancel()


def test_more_searches_than_a_batch_holds_take_turns():
    engine = Engine(limits=EngineLimits(batch=4, look_ahead=1))
    model = fixed_model(get_game("gomoku"))
    tickets = [engine.submit(model, model.game.start(), Budget(simulations=40)) for _ in range(19)]
    assert {ticket.result(60).root.simulations for ticket in tickets} == {40}
    assert max(stats(engine)["batch_sizes"]) <= 4
    engine.close()


def test_full_engine_refuses_politely_and_recovers():
    engine = Engine(limits=EngineLimits(searches=3, kept=0))
    model = slow_model()
    tickets = [engine.submit(model, model.game.start(), LONG) for _ in range(3)]
    with pytest.raises(EngineFull, match="try again in about") as caught:
        engine.submit(model, model.game.start(), LONG)
    assert 1 <= caught.value.retry_after <= 30
    assert stats(engine)["refused"] == 1
    tickets[0].cancel()
    assert engine.submit(model, model.game.start(), Budget(simulations=5)).result(60).root.simulations == 5
    engine.close()


def test_cancel_stops_the_cost(engine):
    model = slow_model()
    ticket = engine.submit(model, model.game.start(), LONG)
    wait_for(lambda: stats(engine)["evaluations"] > 3)
    assert ticket.cancel()
    wait_for(lambda: stats(engine)["in_flight"] == 0)
    spent = stats(engine)["evaluations"]
    time.sleep(0.05)
    assert stats(engine)["evaluations"] == spent
    assert stats(engine)["cancelled"] == 1
    wait_for(lambda: stats(engine)["tree_bytes"] == 0)


def test_a_dropped_ticket_stops_its_search(engine):
    model = slow_model()
    ticket = engine.submit(model, model.game.start(), LONG)
    wait_for(lambda: stats(engine)["in_flight"] == 1)
    del ticket
    gc.collect()
    wait_for(lambda: stats(engine)["in_flight"] == 0)


def test_asyncio_awaits_many_and_cancelling_a_task_stops_its_search(engine):
    model = slow_model()

    async def caller():
        async def one():
            return await engine.submit(model, model.game.start(), Budget(simulations=20))

        outcomes = await asyncio.gather(*(one() for _ in range(12)))
        assert [outcome.root.simulations for outcome in outcomes] == [20] * 12

        async def endless():
            return await engine.submit(model, model.game.start(), LONG)

        task = asyncio.create_task(endless())
        while stats(engine)["in_flight"] == 0:
            await asyncio.sleep(0.002)
        gc.collect()
        await asyncio.sleep(0.02)
        assert not task.done(), "a search that somebody waits for must not be dropped"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(caller())
    wait_for(lambda: stats(engine)["in_flight"] == 0)


def test_interrupted_wait_cancels(engine):
    model = slow_model()
    with pytest.raises(TimeoutError):
        engine.submit(model, model.game.start(), LONG).result(timeout=0.05)
    wait_for(lambda: stats(engine)["in_flight"] == 0)


def test_deadline_answers_with_the_best_so_far(engine):
    model = slow_model()
    engine.warm_up(model)
    outcome = engine.submit(model, model.game.start(), Budget(seconds=0.1)).result(60)
    assert outcome.stopped == "seconds"
    assert outcome.root.simulations >= 1
    assert outcome.root.line
    # However short, there is always a move: the network's own at least.
    outcome = engine.submit(model, model.game.start(), Budget(seconds=1e-9)).result(60)
    assert outcome.stopped == "seconds"
    assert outcome.root.evaluated
    assert outcome.root.line


def test_peek_watches_without_disturbing(engine):
    model = slow_model()
    ticket = engine.submit(model, model.game.start(), Budget(simulations=300))
    seen = []
    while not ticket.done():
        glance = ticket.peek()
        if glance is not None and glance.stopped == "running":
            seen.append(glance.root.simulations)
        time.sleep(0.003)
    assert len(set(seen)) > 3
    assert seen == sorted(seen)
    final = ticket.peek()
    assert final is not None
    assert final.root.simulations == 300
    alone = search(model.game, FixedEvaluator(model.game), model.game.start(), 300, model.game.search)
    assert (final.root.spread(final.root.visits) == alone.spread(alone.visits)).all()


def test_resume_goes_on_from_the_kept_tree(engine):
    model = fixed_model(get_game("gomoku"))
    start = model.game.start()
    first = engine.submit(model, start, Budget(simulations=400)).result(60)
    move = first.root.line[0]
    before = stats(engine)["simulations"]
    second = engine.submit(model, start.play(move), Budget(simulations=400), previous=first).result(60)
    assert second.root.simulations == 400
    new = stats(engine)["simulations"] - before
    assert new < 400, "what was known counts"
    fresh = engine.submit(model, start.play(move), Budget(simulations=400)).result(60)
    assert (second.root.spread(second.root.visits) == fresh.root.spread(fresh.root.visits)).all()
    # A tree can be gone, used already, or of another game: then the search simply starts anew.
    again = engine.submit(model, start.play(move), Budget(simulations=50), previous=first).result(60)
    assert again.root.simulations == 50
    elsewhere = engine.submit(model, start.play(80), Budget(simulations=50), previous=second).result(60)
    assert elsewhere.root.simulations == 50


def test_kept_trees_are_bounded(engine):
    model = fixed_model(get_game("tictactoe"))
    for _ in range(engine.limits.kept * 3):
        engine.submit(model, model.game.start(), Budget(simulations=30)).result(60)
    bytes_each = 31 * 300
    assert stats(engine, "tictactoe")["tree_bytes"] < (engine.limits.kept + 1) * bytes_each


def test_memory_bound_ends_a_search_with_an_answer():
    engine = Engine(limits=EngineLimits(searches=4, memory_mb=1, kept=2))
    model = fixed_model(get_game("gomoku"))
    outcome = engine.submit(model, model.game.start(), LONG).result(120)
    assert outcome.stopped == "memory"
    assert outcome.root.simulations > 300
    assert stats(engine)["tree_bytes"] <= 1 << 20
    engine.close()


def test_a_failing_evaluator_fails_its_own_searches_only(engine):
    game = get_game("gomoku")

    class Broken(FixedEvaluator):
        def evaluate(self, planes):
            if len(self.calls) > 10:
                raise RuntimeError("out of order")
            return super().evaluate(planes)

    class NoStart:
        def __init__(self):
            raise RuntimeError("does not load")

    good, broken, unborn = slow_model(), Model(game, lambda: Broken(game)), Model(game, NoStart)
    ticket = engine.submit(good, game.start(), Budget(simulations=40))
    with pytest.raises(RuntimeError, match="out of order"):
        engine.submit(broken, game.start(), LONG).result(60)
    with pytest.raises(RuntimeError, match="does not load"):
        engine.submit(unborn, game.start(), LONG).result(60)
    assert ticket.result(60).root.simulations == 40
    assert engine.searches_in_flight() == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda logits, values: (logits * np.nan, values),
        lambda logits, values: (logits, values + np.inf),
        lambda logits, values: (np.where(np.arange(81) == 3, np.nan, logits).astype(np.float32), values),
        lambda logits, values: (logits - np.inf, values),
        lambda logits, values: (logits[:, :5], values),
        lambda logits, values: (logits[:-1], values),
    ],
)
def test_an_unusable_answer_fails_one_search_and_no_other(engine, spoil):
    game = get_game("gomoku")

    class Spoilt(FixedEvaluator):
        def evaluate(self, planes):
            return spoil(*super().evaluate(planes)) if len(self.calls) > 30 else super().evaluate(planes)

    good = fixed_model(game)
    with pytest.raises(EvaluationError):
        engine.submit(Model(game, lambda: Spoilt(game)), game.start(), LONG).result(30)
    assert engine.submit(good, game.start(), Budget(simulations=20)).result(30).root.simulations == 20


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, MemoryError])
def test_no_error_kills_the_thread(engine, error):
    game = get_game("gomoku")

    class Fatal(FixedEvaluator):
        def evaluate(self, planes):
            if len(self.calls) > 30:
                raise error
            return super().evaluate(planes)

    with pytest.raises(error):
        engine.submit(Model(game, lambda: Fatal(game)), game.start(), LONG).result(30)
    assert engine.submit(fixed_model(game), game.start(), Budget(simulations=5)).result(30).root.simulations == 5


def test_what_was_answered_in_time_is_delivered_though_the_step_fails(engine):
    game = get_game("gomoku")
    due = [float("inf")]

    class Bomb(FixedEvaluator):
        def evaluate(self, planes):
            if time.perf_counter() >= due[0]:
                raise RuntimeError("device lost")
            time.sleep(0.02)
            return super().evaluate(planes)

    model = Model(game, lambda: Bomb(game))
    engine.warm_up(model)
    long = engine.submit(model, game.start(), LONG)
    timed = engine.submit(model, game.start(), Budget(seconds=0.3))
    due[0] = timed._job.deadline
    with pytest.raises(RuntimeError, match="device lost"):
        long.result(10)
    lost = timed.future.exception(10)  # its answer, unless the step that failed had begun before the deadline
    assert lost is None or "device lost" in str(lost)


def test_noise_differs_from_move_to_move(engine):
    model = fixed_model(get_game("gomoku"))
    noisy = SearchSettings(noise_fraction=0.9, noise_alpha=0.1)
    position, tops = model.game.start(), set()
    for move in (40, 30, 50, 31):
        root = engine.submit(model, position, Budget(simulations=1), noisy, seed=7).result(30).root
        tops.add(int(root.actions[root.priors.argmax()]))
        position = position.play(move)
    assert len(tops) > 1


def test_what_is_not_kept_is_gone(engine):
    model = fixed_model(get_game("gomoku"))
    outcome = engine.submit(model, model.game.start(), Budget(simulations=50), keep=False).result(30)
    before = stats(engine)["simulations"]
    engine.submit(model, model.game.start(), Budget(simulations=50), previous=outcome).result(30)
    assert stats(engine)["simulations"] - before == 50


def test_a_tree_is_not_resumed_under_another_solver(engine):
    model = fixed_model(get_game("tictactoe"))
    position = model.game.from_board([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], 1)
    proven = engine.submit(model, position, Budget(simulations=200)).result(30)
    assert proven.stopped == "proven"
    plain = SearchSettings(solver=False)
    again = engine.submit(model, position, Budget(simulations=200), plain, previous=proven).result(30)
    assert again.root.visits.sum() == 200


def test_waiting_for_many_counts_the_cancelled_ones(engine):
    model = slow_model()
    tickets = [engine.submit(model, model.game.start(), LONG) for _ in range(4)]
    for ticket in tickets:
        ticket.cancel()
    done, rest = wait([ticket.future for ticket in tickets], timeout=20)
    assert (len(done), len(rest)) == (4, 0)


def test_a_callback_may_ask_the_engine(engine):
    model = slow_model()
    long = engine.submit(model, model.game.start(), LONG)
    seen = []
    short = engine.submit(model, model.game.start(), Budget(simulations=5))
    short.future.add_done_callback(lambda _: seen.append(long.peek()))
    short.result(30)
    wait_for(lambda: seen)
    assert seen[0] is not None


def test_a_model_that_nobody_holds_is_freed(engine):
    game = get_game("gomoku")
    model = fixed_model(game)
    engine.submit(model, game.start(), Budget(simulations=10)).result(60)
    engine.warm_up(model)
    gone = weakref.ref(model)
    del model
    gc.collect()
    wait_for(lambda: gone() is None)
    wait_for(lambda: stats(engine)["tree_bytes"] == 0)


def test_wrong_requests_are_refused(engine):
    model = fixed_model(get_game("gomoku"))
    with pytest.raises(ValueError, match="tictactoe"):
        engine.submit(model, get_game("tictactoe").start(), LONG)
    over = get_game("gomoku").start()
    for move in (0, 9, 1, 10, 2, 11, 3, 12, 4):
        over = over.play(move)
    with pytest.raises(ValueError, match="over"):
        engine.submit(model, over, LONG)
    wrong_simulations = (0, 1.5, 10**7, True, "1")
    wrong_seconds = (0, -1, float("nan"), float("inf"), 1e9, "1")
    wrong = [{"simulations": n} for n in wrong_simulations] + [{"seconds": s} for s in wrong_seconds]
    for bad in ({}, *wrong):
        with pytest.raises(ValueError, match=r"simulations|seconds"):
            Budget(**bad)
    with pytest.raises(ValueError, match="workers"):
        Engine(workers=0)


def test_closed_engine_says_so():
    engine = Engine()
    model = slow_model()
    ticket = engine.submit(model, model.game.start(), LONG)
    wait_for(lambda: stats(engine)["in_flight"] == 1)
    engine.close()
    with pytest.raises(RuntimeError, match="closed"):
        ticket.result(10)
    with pytest.raises(RuntimeError, match="closed"):
        engine.warm_up(model)
    with pytest.raises(RuntimeError, match="closed"):
        engine.submit(model, model.game.start(), LONG)


def test_counters_add_up(engine):
    model = fixed_model(get_game("gomoku"))
    tickets = [engine.submit(model, model.game.start(), Budget(simulations=100)) for _ in range(8)]
    for ticket in tickets:
        ticket.result(60)
    counters = stats(engine)
    assert counters["searches"] == 8
    assert counters["simulations"] == 800
    assert counters["in_flight"] == 0
    assert counters["evaluations"] == sum(rows * times for rows, times in counters["batch_sizes"].items())
    assert counters["evaluations"] >= 800
    assert counters["network_seconds"] > 0
    assert counters["tree_seconds"] > 0
    assert counters["think_seconds"] > 0
