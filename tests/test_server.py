"""The whole server: what is open and what is not, its headers, odd connections, share links and Spaces."""

import asyncio
import contextlib
import re
import types

import pytest
from starlette.routing import Mount

from alphazero.game import PROJECT
from tests.serving import client, connect, event, eventually, exchange, running, start_event
from web import server
from web.gate import NEEDED, OURS
from web.metrics import METRICS

# Every other address of Gradio's must be 404; this is said here a second time, so that opening one takes two edits.
OPEN = {
    "/", "/assets/{path}", "/static/{path}", "/theme.css", "/favicon.ico", "/manifest.json", "/robots.txt",
    "/gradio_api/app_id", "/gradio_api/app_id/", "/gradio_api/startup-events",
    "/api/v1", "/monitor", "/monitor/data", "/monitor/runs/{name}",
}  # fmt: skip
NAMED = """
/config /gradio_api/config /gradio_api/info /gradio_api/info/?serialize=1 /openapi.json /gradio_api/openapi.json /docs
/redoc /gradio_api/upload /gradio_api/upload_progress?upload_id=1 /gradio_api/process_recording /gradio_api/deep_link
/gradio_api/file=README.md /gradio_api/file=/etc/passwd /gradio_api/file/README.md /file=README.md
/gradio_api/proxy=https://example.org/ /gradio_api/stream/1/2/3/playlist.m3u8 /gradio_api/queue/join
/gradio_api/queue/data?session_hash=1 /gradio_api/queue/status /gradio_api/call/ask /gradio_api/call/v2/ask
/gradio_api/api/ask /gradio_api/run/0 /gradio_api/run/1 /gradio_api/run/predict /gradio_api/run/ask/ /api/ask /run/ask
/gradio_api/component_server /gradio_api/heartbeat/1 /monitoring /gradio_api/monitoring /login /logout /user /token
/gradio_api/login_check /gradio_api/dev/reload /gradio_api/reset /gradio_api/cancel /pwa_icon /svelte/x
/custom_component/1/2/3/4 /gradio_api/vibe-edit /api/v2 /api/v1x /monitorx /.git/config /../README.md //gradio_api/info
/%67radio_api/info /gradio_api/%75pload /gradio_api/run/ask%00 /gradio_api/run/ask%0a
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with running(runs=tmp_path_factory.mktemp("runs")) as served:
        yield served


@pytest.fixture(scope="module")
def http(served):
    with client(served) as http:
        yield http


def gradio_paths(routes):
    for route in routes:
        if isinstance(route, Mount):
            yield route.path
        elif hasattr(route, "path"):
            yield route.path.replace(":path}", "}")
        else:  # a router that was included
            yield from gradio_paths(route.original_router.routes)


def test_all_addresses_of_gradio_but_the_needed_are_404(served, http):
    """Those that the launched application really has, with anything in the place of its parameters."""
    found = set(gradio_paths(served.page.app.routes))
    assert len(found) > 60
    assert "/gradio_api/upload" in found
    assert {"/api/v1", "/monitor/data", "/gradio_api/app_id"} <= found
    for path in sorted(found - OPEN):
        concrete = re.sub(r"\{\w+\}", "x", path)
        for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
            assert http.request(method, concrete).status_code == 404, (method, path)


@pytest.mark.parametrize("path", NAMED.split())
def test_addresses_that_are_no_business_of_anybody(served, path):
    for method in ("GET", "POST"):
        answer = exchange(
            served, f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        assert b" 404 " in answer.splitlines()[0], answer[:300]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../app.py",
        "/assets/../../../routes.py",
        "/static/..%2f..%2fapp.py",
        "/static%2f..%2f..%2frequirements.txt",
        "/assets//etc/passwd",
        "/static//etc/passwd",
    ],
)
def test_no_file_outside_gradios_own_folders(served, path):
    answer = exchange(served, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.splitlines()[0].split()[1] in (b"403", b"404")
    assert b"import" not in answer
    assert b"root:" not in answer


def test_the_page_and_what_it_needs_are_served(http):
    page = http.get("/")
    assert page.status_code == 200
    assets = set(re.findall(r'(?:src|href)="\./?((?:assets|static)/[^"]+)"', page.text))
    assert assets
    for path in [*assets, "theme.css", "gradio_api/app_id"]:
        assert http.get(f"/{path}").status_code == 200, path
    assert event(http, {"game": "tictactoe", "moves": [4]}).json()["data"][0]["ok"]


def test_the_rest_api_and_its_docs_are_in_the_same_process(http):
    board = [[0] * 3] * 3
    assert http.get("/api/v1/health").json()["status"] == "ok"
    assert http.get("/api/v1/docs").status_code == 200
    assert "/gomoku/move" in http.get("/api/v1/openapi.json").json()["paths"]
    assert http.post("/api/v1/tictactoe/move", json={"board": board, "simulations": 5}).status_code == 200
    assert http.post("/api/v1/tictactoe/move", json={"board": 5}).status_code == 400
    assert http.post("/api/v1/chess/move", json={"board": board}).status_code == 404
    assert http.get("/api/v1/tictactoe/move").status_code == 405
    assert http.post("/api/v1/tictactoe/train").status_code == 403
    assert "azp_moves_total" in http.get("/api/v1/metrics").text


@pytest.mark.parametrize("path", ["/", "/monitor", "/monitor/data", "/api/v1/games", "/nothing", "/theme.css"])
def test_headers(http, path):
    headers = http.get(path).headers
    policy = headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in policy
    hosts = re.findall(r"https?://\S+", policy.partition("frame-ancestors")[0])
    assert not hosts


def test_only_names_with_a_hash_are_kept_for_ever(http):
    page = http.get("/")
    asset = re.search(r'"\./?(assets/[^"]+\.js)"', page.text)[1]
    assert "immutable" in http.get(f"/{asset}").headers["cache-control"]
    for path in ("/", "/monitor", "/monitor/data", "/assets/nothing.js"):
        assert "immutable" not in http.get(path).headers.get("cache-control", "")


# ---- odd connections


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
        b"\x00" * 1000 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /gradio_api/run/ask HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 200_000 + b"\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_end_the_connection(served, http, sent):
    try:
        answer = exchange(served, sent)
    except ConnectionError:
        answer = b""
    assert answer == b"" or answer.split()[1] == b"400"
    assert http.get("/api/v1/health").status_code == 200


def test_websockets_are_refused(served):
    asked = (
        b"GET /gradio_api/queue/join HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    assert exchange(served, asked).split()[1] in (b"403", b"404")


def test_whoever_dawdles_is_cut_off_and_whoever_is_served_is_not():
    class Connection:
        def __init__(self, cycle, timer=None):
            self.cycle, self.timeout_keep_alive_task, self.transport, self.cut = cycle, timer, self, False

        def abort(self):
            self.cut = True

    done, busy = types.SimpleNamespace(response_complete=True), types.SimpleNamespace(response_complete=False)
    dawdlers = [Connection(None), Connection(done)]  # no first request; half of a second one
    others = [Connection(busy), Connection(done, timer="uvicorn's own")]
    state = types.SimpleNamespace(connections={*dawdlers, *others})

    async def watch():
        found = types.SimpleNamespace(server_state=state)
        task = asyncio.create_task(server._close_dawdlers(lambda: found, seconds=0.02))
        while not all(one.cut for one in dawdlers):
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(asyncio.wait_for(watch(), 20))
    assert not any(one.cut for one in others)


def test_half_a_request_is_cut_off_in_the_end(monkeypatch):
    monkeypatch.setattr(server._close_dawdlers, "__defaults__", (0.2,))
    with running() as served, connect(served) as line:
        line.sendall(b"GET / HT")
        with contextlib.suppress(ConnectionError):  # a reset is a cut, too
            assert line.recv(100) == b""


# ---- searches and their owners


def in_flight():
    return sum(engine.searches_in_flight() for engine in METRICS.engines())


def test_hanging_up_cancels_the_search(served):
    before = METRICS.engine_counters().get("gomoku", {}).get("cancelled", 0)
    line = start_event(served, {"game": "gomoku", "moves": [40], "ask": "reply", "level": "master"})
    assert eventually(in_flight)
    line.close()
    assert eventually(lambda: METRICS.engine_counters()["gomoku"]["cancelled"] == before + 1)
    assert eventually(lambda: not in_flight())


def test_nothing_of_a_game_is_visible_to_others(served, http, caplog):
    """A search under way shows itself to who has its id, 128 random bits; nothing else tells its moves or its id."""
    secret = "5ec2e7" * 5 + "00"
    request = {"game": "gomoku", "moves": [40, 3, 77], "ask": "reply", "level": "master", "id": secret}
    with start_event(served, request):
        assert eventually(lambda: event(http, {"id": secret}, "peek").json()["data"][0]["stage"] == "thinking")
        for wrong in ({"id": secret[:-1]}, {"id": secret.upper()}, {"id": "*"}, {}, {"id": secret[::-1]}):
            assert event(http, wrong, "peek").json()["data"] == [{"stage": "unknown"}]
        public = [http.get(path).text for path in ("/monitor/data", "/api/v1/metrics", "/api/v1/games", "/")]
    for text in [*public, caplog.text]:
        assert secret not in text
        assert not re.search(r"40, ?3, ?77", text)
    assert eventually(lambda: not in_flight())
    assert event(http, {"id": secret}, "peek").json()["data"] == [{"stage": "unknown"}]


def test_text_of_a_client_comes_back_nowhere(http):
    evil = "${alert(1)}{{7*7}}<img src=x onerror=alert(1)>"
    for request in (
        {"game": evil, "moves": []}, {"game": "tictactoe", "moves": [], "ask": evil},
        {"game": "tictactoe", "moves": [], "level": evil}, {"game": "tictactoe", "moves": [], "id": evil},
        {"game": "tictactoe", "moves": [0], evil: evil},
    ):  # fmt: skip
        assert "alert" not in event(http, request).text
    for path in ("/", "/monitor", "/monitor/data", "/monitor/runs/x", "/monitor/runs/" + evil, "/" + evil):
        assert "onerror=alert" not in http.get(path, params={"lang": evil, "__theme": evil, evil: evil}).text


# ---- share links and Spaces


def outside(text):
    """Whatever the page would fetch from elsewhere by itself."""
    return re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text)


def test_a_shared_page_asks_no_outside_host(monkeypatch):
    """What a share link shows is what this server serves; the tunnel itself can't be had without a network."""
    from gradio import networking

    monkeypatch.setattr(networking, "setup_tunnel", lambda *_, **__: "https://abc.gradio.live")
    monkeypatch.setattr("gradio.blocks.networking.url_ok", lambda *_: True)
    with running(share=True) as served, client(served) as http:
        assert served.shared == "https://abc.gradio.live"
        assert outside(http.get("/").text) == []
        served.page.share = True  # what Gradio would do, and that this test would see it
        assert len(outside(http.get("/").text)) == 1


def test_on_a_space_everybody_is_served_and_the_proxy_is_believed(monkeypatch):
    monkeypatch.setenv("SPACE_ID", "somebody/playground")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "x")
    monkeypatch.delenv("FORWARDED_ALLOW_IPS")  # set and deleted, so that what serve() puts there is taken back
    with running(host=None) as served:
        assert served.page.server.config.host == "0.0.0.0"
        assert served.page.server.config.forwarded_allow_ips == server.PRIVATE
        with client(served) as http:
            assert http.get("/").status_code == 200
            assert http.post("/api/v1/tictactoe/evaluate", json={"board": [[0] * 3] * 3}).status_code == 200


@pytest.mark.parametrize(
    ("proxy", "believed"),
    [("10.1.2.3", True), ("172.20.0.1", True), ("192.168.1.1", True), ("8.8.8.8", False), ("172.32.0.1", False)],
)
def test_who_is_believed_about_addresses_on_a_space(proxy, believed):
    from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

    seen = []

    async def app(scope, receive, send):
        seen.append(scope["client"][0])

    scope = {"type": "http", "client": (proxy, 1), "headers": [(b"x-forwarded-for", b"198.18.0.7")], "scheme": "http"}
    asyncio.run(ProxyHeadersMiddleware(app, server.PRIVATE)(scope, None, None))
    assert seen == ["198.18.0.7" if believed else proxy]


def test_the_front_matter_of_the_space():
    front = dict(re.findall(r"^(\w+): (.+)$", (PROJECT / "README.md").read_text("utf-8").split("---")[1], re.M))
    pinned = re.search(r"^gradio==(\S+)$", (PROJECT / "requirements.txt").read_text("utf-8"), re.M)[1]
    assert front["sdk"] == "gradio"
    assert front["sdk_version"] == pinned
    assert front["python_version"] == '"3.11"'
    assert (PROJECT / front["app_file"]).is_file()
    assert len(front["short_description"]) <= 60


def test_patterns_take_whole_paths_only():
    for path in ("/gradio_api/run/ask\n", "/theme.css\n", "/favicon.icox", "/gradio_api/app_idx"):
        assert not NEEDED.fullmatch(path)
    assert not OURS.fullmatch("/monitor\n")


def test_a_link_to_the_page_is_shown_with_our_words(served):
    with client(served) as http:
        page = http.get("/")
    assert page.headers["content-length"] == str(len(page.content))
    head = page.text[: page.text.index("</head>")]
    assert head.count('property="og:title" content="AlphaZero Playground"') == 1
    assert "Gradio" not in "".join(re.findall(r"<meta[^>]*>", head))
    assert "githubusercontent" not in head
    assert head.count("og:description") == 1
