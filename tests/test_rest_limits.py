"""The limits of the web: who is refused, with which words, and who is not; and what the server counts."""

import asyncio
import dataclasses

import pytest
from prometheus_client.parser import text_string_to_metric_families

from alphazero import Engine, EngineLimits, Player, get_game
from tests.helpers import uniform_model
from tests.rest_client import UNLIMITED, api, ask, client, error, players
from web.limits import Limiter, Limits, Refused, client_address
from web.metrics import Metrics, memory_bytes
from web.rest import RestOptions, make_rest

EMPTY = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
SMALL = Limits(
    client_rate=2, client_burst=4, client_searches=2, total_rate=3, total_burst=6, total_searches=3, clients=5
)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limiter(clock):
    return Limiter(SMALL, clock)


def refusals(limiter, client, requests):
    refused = []
    for _ in range(requests):
        try:
            limiter.request(client)
        except Refused as error:
            refused.append(error)
    return refused


# -- the limiter ------------------------------------------------------------------------------------------------------


def test_a_burst_then_a_rate(limiter, clock):
    refused = refusals(limiter, "a", 6)
    assert len(refused) == 2
    assert not refused[0].whole_server
    assert "1 s" in str(refused[0])
    clock.now += 1
    assert len(refusals(limiter, "a", 4)) == 2


def test_one_clients_flood_leaves_room_for_others(limiter):
    refusals(limiter, "flood", 1000)
    assert refusals(limiter, "calm", 2) == []


def test_all_clients_together_have_a_limit_too(limiter):
    refused = [error for name in "abcd" for error in refusals(limiter, name, 2)]
    assert len(refused) == 2
    assert all(error.whole_server for error in refused)


def test_searches_at_a_time_by_client_and_in_all(limiter):
    with limiter.search("a"), limiter.search("a"):
        with pytest.raises(Refused) as mine, limiter.search("a"):
            pass
        with limiter.search("b"), pytest.raises(Refused) as ours, limiter.search("c"):
            pass
        assert (mine.value.whole_server, ours.value.whole_server) == (False, True)
        assert limiter.searches() == 2
    assert limiter.searches() == 0
    with limiter.search("a"):
        pass


def test_a_search_that_fails_gives_its_place_back(limiter):
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), limiter.search("a"):
            raise ZeroDivisionError
    assert limiter.searches() == 0


def test_memory_is_bounded_and_the_busy_are_remembered(limiter):
    with limiter.search("busy"), limiter.search("busy"):
        for number in range(100):
            refusals(limiter, f"client {number}", 1)
        assert len(limiter._clients) == SMALL.clients
        with pytest.raises(Refused), limiter.search("busy"):
            pass


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("9.9.9.9", "9.9.9.9"),
        ("::ffff:9.9.9.9", "::ffff:9.9.9.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("testclient", "testclient"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_whose_address_counts(host, client):
    forged = [(b"x-forwarded-for", b"1.1.1.1")]
    assert client_address({"headers": forged, "client": (host, 1234)}) == client
    assert client_address({"headers": forged, "client": None}) == "unknown"


# -- at the API -------------------------------------------------------------------------------------------------------


def test_too_many_requests_are_429_and_say_when():
    rest = api("tictactoe", limits=dataclasses.replace(UNLIMITED, client_rate=0.1, client_burst=2))
    answers = [ask(rest, "GET", "/health") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert error(answers[2]) == (429, "too_many_requests", None)
    assert int(answers[2].headers["retry-after"]) == 10


def test_a_server_with_too_much_to_do_is_503():
    rest = api("tictactoe", limits=dataclasses.replace(UNLIMITED, total_rate=0.5, total_burst=1))
    ask(rest, "GET", "/health")
    refused = ask(rest, "GET", "/health")
    assert error(refused) == (503, "busy", None)
    assert int(refused.headers["retry-after"]) == 2


def test_searches_of_one_client_are_429():
    rest = api("gomoku", limits=dataclasses.replace(UNLIMITED, client_searches=2))
    assert sorted(many_searches(rest, 4)) == [200, 200, 429, 429]


def test_a_full_engine_is_503():
    engine = Engine(limits=EngineLimits(searches=2))
    player = Player(uniform_model(get_game("gomoku")), simulations=50, engine=engine)
    player.warm_up()
    rest = make_rest({"gomoku": player}, RestOptions(limiter=Limiter(UNLIMITED), metrics=Metrics()))
    assert sorted(many_searches(rest, 4)) == [200, 200, 503, 503]
    engine.close()


def many_searches(rest, number):
    async def play():
        async with client(rest) as http:
            body = {"board": [[0] * 9] * 9, "timeLimit": 0.5}
            answers = await asyncio.gather(*(http.post("/gomoku/move", json=body) for _ in range(number)))
            for answer in answers:
                assert answer.status_code == 200 or int(answer.headers["retry-after"]) >= 1
            return [answer.status_code for answer in answers]

    return asyncio.run(play())


# -- what is counted --------------------------------------------------------------------------------------------------


def test_metrics_are_prometheus_text():
    rest = api("tictactoe")
    for _ in range(3):
        ask(rest, "POST", "/tictactoe/move", json={"board": EMPTY, "simulations": 5})
    ask(rest, "POST", "/tictactoe/evaluate", json={"board": EMPTY})
    ask(rest, "POST", "/tictactoe/move", json={"board": EMPTY, "level": "god"})
    ask(rest, "GET", "/nothing")
    got = ask(rest, "GET", "/metrics")
    assert got.headers["content-type"].startswith("text/plain")
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(got.text)
        for sample in family.samples
    }
    game = ("game", "tictactoe")
    assert samples["azp_moves_total", game] == 3
    assert samples["azp_network_answers_total", game] == 1
    assert samples["azp_think_seconds_count", game] == 3
    assert samples["azp_evaluations_total", game] >= 1
    assert samples["azp_errors_total", ("code", "unknown_level")] == 1
    assert samples["azp_errors_total", ("code", "unknown_path")] == 1
    assert samples["azp_searches_in_flight", game] == 0
    assert samples["azp_batch_size", game] >= 1
    assert samples[("azp_uptime_seconds",)] >= 0
    assert samples[("azp_memory_bytes",)] > 1e7
    info = next(labels for name, *labels in samples if name == "azp_checkpoint_info")
    assert ("source", "checkpoints/tictactoe") in info


def test_the_snapshot_of_the_monitoring_page(clock):
    metrics = Metrics(clock)
    metrics.watch(players("tictactoe"))
    empty = metrics.snapshot()
    assert (empty["moves"], empty["moves_per_s"], empty["think_p50"], empty["errors"]) == (0, 0.0, None, {})
    for number in range(20):
        clock.now += 1
        metrics.count_move("tictactoe", number / 100)
    metrics.count_error("busy")
    shown = metrics.snapshot()
    assert shown["moves"] == 20
    assert shown["moves_per_s"] == pytest.approx(1.0)
    assert (shown["think_p50"], shown["think_p95"]) == (0.10, 0.19)
    assert shown["errors"] == {"busy": 1}
    assert shown["uptime_s"] == 20
    assert shown["rss_mb"] == pytest.approx(memory_bytes() / 1e6, rel=0.2)
    assert shown["checkpoints"]["tictactoe"]["rating"] is not None
    clock.now += 60
    metrics.snapshot()
    clock.now += 11
    assert metrics.snapshot()["moves_per_s"] == 0.0


def test_a_flood_of_codes_takes_no_memory():
    metrics = Metrics()
    for number in range(1000):
        metrics.count_error(f"code {number}")
    assert len(metrics.errors()) <= 65
    assert sum(metrics.errors().values()) == 1000
