"""The gate: bodies too long or too slow, events of any bytes, floods. Everybody gets an answer they can act on."""

import asyncio
import dataclasses
import json
import random

import pytest

from tests.rest_client import UNLIMITED
from tests.serving import client, event, eventually, exchange, running, start_event
from web.events import ASK, FIELDS, PEEK, TEXT, BadEvent, read_event, write_event
from web.gate import Gate
from web.limits import Limiter
from web.metrics import METRICS

LIMIT = UNLIMITED.body_bytes
MOVE = {"game": "tictactoe", "moves": [4]}


@pytest.fixture(scope="module")
def served():
    with running() as served:
        yield served


@pytest.fixture(scope="module")
def http(served):
    with client(served) as http:
        yield http


class Behind:
    """An application that notes what gets through to it."""

    def __init__(self):
        self.seen = []

    async def __call__(self, scope, receive, send):
        self.seen.append((scope["path"], dict(scope["headers"]), (await receive())["body"]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})


def through(gate, messages, path=ASK, headers=(), method="POST", type_="http"):
    """Send these messages through the gate and then nothing more: (status or None, body)."""
    pending, sent = list(messages), []

    async def receive():
        if not pending:
            await asyncio.Event().wait()
        return pending.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": type_, "path": path, "method": method, "headers": list(headers), "client": ("198.18.0.1", 1)}
    asyncio.run(asyncio.wait_for(gate(scope, receive, send), 20))
    if type_ == "websocket":
        return sent
    return sent[0]["status"], sent[1]["body"]


def part(body, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def make_gate(**options):
    behind = Behind()
    return Gate(behind, Limiter(UNLIMITED), **options), behind


# ---- bodies


def test_an_event_is_handed_on_made_anew():
    gate, behind = make_gate()
    body = json.dumps({"data": [MOVE], "fn_index": 0, "session_hash": "somebody's", "event_data": {"x": 1}}).encode()
    halves = [part(body[:10], more=True), part(body[10:])]
    assert through(gate, halves, headers=[(b"content-type", b"text/plain"), (b"x-mine", b"1")])[0] == 200
    [(path, headers, handed)] = behind.seen
    assert path == ASK
    assert json.loads(handed) == {"data": [MOVE]}
    assert headers == {
        b"x-mine": b"1",
        b"content-length": str(len(handed)).encode(),
        b"content-type": b"application/json",
    }


@pytest.mark.parametrize(
    "messages",
    [
        [part(b"x" * (LIMIT + 1))],
        [part(b"x" * 1000, more=True)] * 100,
        [part(b"", more=True), part(b"x" * LIMIT, more=True), part(b"x")],
    ],
)
@pytest.mark.parametrize("length", [[], [(b"content-length", b"5")], [(b"content-length", b"lies")]])
@pytest.mark.parametrize("path", [ASK, PEEK, "/api/v1/gomoku/move", "/", "/monitor"])
def test_long_bodies_are_413_whatever_they_said_of_themselves(messages, length, path):
    gate, behind = make_gate()
    status, body = through(gate, messages, path, length)
    assert (status, json.loads(body)["error"]["code"]) == (413, "body_too_large")
    assert behind.seen == []


def test_a_long_body_that_says_so_is_not_even_read():
    gate, _ = make_gate()
    assert through(gate, [], headers=[(b"content-length", b"99999999999999999999999")])[0] == 413


def test_a_slow_body_is_408():
    before = METRICS.errors().get("too_slow", 0)
    gate, behind = make_gate(body_seconds=0.05)
    status, body = through(gate, [part(b"{", more=True)])
    assert METRICS.errors()["too_slow"] == before + 1
    assert (status, json.loads(body)["error"]["code"]) == (408, "too_slow")
    assert behind.seen == []


def test_a_client_that_leaves_within_its_body_costs_nothing():
    gate, behind = make_gate()
    assert through(gate, [part(b"{", more=True), {"type": "http.disconnect"}])[0] == 400
    assert behind.seen == []


def test_a_websocket_is_closed():
    gate, behind = make_gate()
    sent = through(gate, [{"type": "websocket.connect"}], type_="websocket")
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert behind.seen == []


@pytest.mark.parametrize("path", [ASK, "/api/v1/tictactoe/move"])
def test_over_the_wire_a_chunked_flood_is_413(served, path):
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    try:
        answer = exchange(served, head.encode() + chunk * 5)
    except ConnectionError:  # closed with our bytes still on their way: as good an answer
        return
    assert answer.split()[1] == b"413"


# ---- events


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b"5", b'"x"', b"\xff\xfe", b"{}", b'{"data": []}', b'{"data": [1]}',
        b'{"data": [{}, {}]}', b'{"data": {"0": {}}}', b"[" * 60_000, b'{"data": [' * 6000,
        b'{"data": [{"x": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}}]}',
        b'{"data": [{"moves": [[1]]}]}', b'{"data": [{"moves": [{}]}]}', b'{"data": [{"moves": ["1"]}]}',
        json.dumps({"data": [{"game": "x" * (TEXT + 1)}]}).encode(),
        json.dumps({"data": [{"x" * (TEXT + 1): 1}]}).encode(),
        json.dumps({"data": [dict.fromkeys(map(str, range(FIELDS + 1)))]}).encode(),
        b'{"data": [{"game": "\\ud800"}]}', b'{"data": [{"moves": [NaN]}]}',
    ],
)  # fmt: skip
def test_what_is_no_event(http, body):
    with pytest.raises(BadEvent):
        read_event(body)
    for name in ("ask", "peek"):
        answer = http.post(f"/gradio_api/run/{name}", content=body)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "bad_event"
        assert answer.json()["error"]["message"].endswith(".")


def test_an_event_survives_being_read_and_written():
    request = {"game": "gomoku", "moves": [1, 2], "ask": "reply", "level": "easy", "id": "0" * 32, "x": None}
    assert read_event(write_event(request)) == request


def odd(rng):
    """A value that may or may not belong in a request."""
    return rng.choice(
        [
            None, True, False, 0, -1, 4, 8, 9, 80, 10**6, 2**63, 1e300, 0.5, "", "x", "tictactoe", "gomoku", "reply",
            "hint", "show", "beginner", "é" * 50, "\x00", "<b>", "${x}", [], [0], [4, 4], [4, 0, 8], [True], [0.0],
            [1e300], [-1], [2**64], [4] * 1001, list(range(9)), {}, {"a": 1}, [[0]], ["0"], "0" * 32,
        ]
    )  # fmt: skip


def odd_request(rng):
    request = {"game": rng.choice(["tictactoe", "gomoku", "chain_reaction"]), "moves": [4], "level": "beginner"}
    for name in rng.sample(["game", "moves", "ask", "level", "id", "seed", "x"], rng.randrange(4)):
        request[name] = odd(rng)
    return request


def odd_bytes(rng):
    body = bytearray(json.dumps({"data": [odd_request(rng)]}).encode())
    for _ in range(rng.randrange(1, 6)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return bytes(body)


@pytest.mark.parametrize("name", ["ask", "peek"])
def test_any_event_gets_an_answer_to_act_on(http, name):
    rng = random.Random(7)
    codes = set()
    for number in range(250):
        content = odd_bytes(rng) if number % 3 == 0 else json.dumps({"data": [odd_request(rng)]}).encode()
        answer = http.post(f"/gradio_api/run/{name}", content=content)
        assert answer.status_code in (200, 400, 429, 503), (content, answer.text)
        assert "Traceback" not in answer.text
        said = answer.json()
        if answer.status_code != 200:
            assert said["error"]["message"].endswith("."), content
            codes.add(said["error"]["code"])
        elif name == "peek":
            assert said["data"] == [{"stage": "unknown"}]
        else:
            [shown] = said["data"]
            assert shown["ok"] or shown["code"] in ("badRequest", "badMove", "busy"), (content, shown)
            codes.add(shown.get("code", "ok"))
    assert codes >= ({"bad_event"} if name == "peek" else {"ok", "badRequest", "badMove", "bad_event"})


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW"])
def test_events_are_posts(http, method):
    assert http.request(method, ASK, content=b"{}").status_code in (404, 405)


# ---- floods


def test_a_flood_of_requests_leaves_others_their_answers():
    limits = dataclasses.replace(UNLIMITED, client_rate=0.01, client_burst=20)
    before = METRICS.errors().get("too_many_requests", 0)
    with running(limits=limits) as served, client(served, "198.18.0.1") as flood, client(served, "198.18.0.2") as calm:
        answers = [event(flood, MOVE) for _ in range(40)]
        assert [answer.status_code for answer in answers] == [200] * 20 + [429] * 20
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert answers[-1].json()["error"]["code"] == "too_many_requests"
        assert event(flood, {}, "peek").status_code == 429
        assert flood.get("/monitor/data").status_code == 429
        assert flood.get("/api/v1/health").status_code == 429
        assert flood.get("/theme.css").status_code == 200
        assert event(calm, {**MOVE, "ask": "reply", "level": "beginner"}).json()["data"][0]["ok"]
    assert METRICS.errors()["too_many_requests"] >= before + 20


def test_a_flood_of_searches_leaves_others_theirs():
    limits = dataclasses.replace(UNLIMITED, client_searches=2, total_searches=3)
    long = {"game": "gomoku", "moves": [40], "ask": "reply", "level": "master"}
    short = {**MOVE, "ask": "reply", "level": "beginner"}
    with running(limits=limits) as served, client(served) as flood, client(served, "198.18.0.2") as calm:
        lines = [start_event(served, long) for _ in range(2)]
        assert eventually(lambda: event(flood, short).status_code == 429)
        assert event(calm, short).json()["data"][0]["ok"]
        for line in lines:
            line.close()
        assert eventually(lambda: event(flood, short).status_code == 200)


def test_a_full_server_is_503_and_says_when():
    limits = dataclasses.replace(UNLIMITED, total_rate=0.01, total_burst=5)
    with running(limits=limits) as served, client(served) as http:
        answers = [event(http, MOVE) for _ in range(8)]
    assert answers[-1].status_code == 503
    assert answers[-1].json()["error"]["code"] == "busy"
    assert int(answers[-1].headers["retry-after"]) >= 1
