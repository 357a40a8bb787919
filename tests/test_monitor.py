"""The monitoring page: its figures, its runs, and how it looks in a real browser."""

import re
import shutil

import pytest

from alphazero.game import PROJECT
from tests.browser import chromium
from tests.rest_client import players
from tests.serving import client, eventually, running
from web.metrics import Metrics
from web.monitor import CURVES, SAMPLES, Monitor

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(PROJECT / "checkpoints" / "gomoku", folder / "gomoku")
    return folder


@pytest.fixture(scope="module")
def served(runs):
    with running(runs=runs) as served:
        yield served


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


# ---- figures


def test_the_last_minutes_are_kept_and_no_more(tmp_path):
    metrics = Metrics()
    metrics.watch(players("tictactoe"))
    monitor = Monitor(tmp_path, metrics)
    metrics.count_error("old")
    monitor.sample()
    for _ in range(SAMPLES - 1):
        metrics.count_error("busy")
        monitor.sample()
    shown = monitor.snapshot()
    assert shown["now"]["errors"] == {"old": 1, "busy": SAMPLES - 1}
    assert shown["now"]["errors_lately"] == SAMPLES - 1
    for _ in range(2 * SAMPLES):
        monitor.sample()
    shown = monitor.snapshot()
    assert shown["now"]["errors_lately"] == 0
    assert set(shown["curves"]) == set(CURVES)
    assert {len(curve) for curve in shown["curves"].values()} == {SAMPLES}


def test_before_the_first_move_there_are_no_times(tmp_path):
    shown = Monitor(tmp_path, Metrics()).snapshot()
    assert shown["now"]["think_p50"] is None
    assert shown["runs"] == []


def test_figures_of_a_server(served):
    with client(served) as http:
        before = http.get("/monitor/data").json()["now"]
        board = {"board": [[0] * 9] * 9, "simulations": 30}
        assert http.post("/api/v1/gomoku/move", json=board).status_code == 200

        def now():
            return http.get("/monitor/data").json()["now"]

        assert eventually(lambda: now()["moves"] == before["moves"] + 1)  # the next sample
        after = now()
    assert after["evaluations"] > before["evaluations"]
    assert after["rss_mb"] > 50
    assert after["uptime_s"] > 0
    assert set(after["checkpoints"]) == {"chain_reaction", "gomoku", "tictactoe"}
    assert str(PROJECT) not in str(after)


# ---- runs


def test_a_run_is_drawn_and_drawn_anew_when_it_has_changed(served, runs):
    with client(served) as http:
        [run] = http.get("/monitor/data").json()["runs"]
        assert run["name"] == "gomoku"
        first = http.get("/monitor/runs/gomoku")
        assert first.status_code == 200
        assert first.text.count("<svg") >= 3
        metrics = runs / "gomoku" / "metrics.jsonl"
        lines = metrics.read_text("utf-8").splitlines(keepends=True)
        metrics.write_text("".join(lines[:-1]), "utf-8")
        assert eventually(lambda: http.get("/monitor/runs/gomoku").text != first.text)
        metrics.write_text("".join(lines), "utf-8")


@pytest.mark.parametrize("name", ["nothing", "%2e%2e", "..%2f..", "gomoku%2f..", "%00", EVIL])
def test_runs_that_are_not_there(served, name):
    with client(served) as http:
        answer = http.get(f"/monitor/runs/{name}")
    assert answer.status_code == 404
    assert EVIL not in answer.text


@pytest.mark.parametrize("content", [b"", b"{", b"[]\n", b"\xff\xfe\n", b'{"iteration": "%s"}\n' % EVIL.encode()])
def test_a_broken_run_says_so_and_harms_nobody(tmp_path, content):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "metrics.jsonl").write_bytes(content)
    with running(runs=tmp_path) as served, client(served) as http:
        answer = http.get("/monitor/runs/mine")
        assert answer.status_code == 200
        assert "can't be drawn" in answer.text
        assert EVIL not in answer.text
        assert http.get("/monitor/data").status_code == 200


# ---- in a browser


@pytest.fixture
def tab(browser, served):
    """open(width, scheme): the page when it has drawn its first figures; its complaints fail the test."""
    complaints, contexts = [], []

    def open_tab(width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(served.url) else complaints.append(asked.url))
        page.goto(f"{served.url}monitor")
        page.wait_for_selector("#state.good")
        page.wait_for_selector("#curves svg")
        return page

    yield open_tab
    for context in contexts:
        context.close()
    expected = ("data:", "Failed to load resource")  # the icon; a test that breaks the server's answers
    assert [text for text in complaints if not text.startswith(expected)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_it_fits_and_can_be_read(tab, width, scheme):
    page = tab(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".gauge").count() == 8
    assert page.locator("#networks tr").count() == 3
    cut = "all => all.filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.textContent)"
    assert page.eval_on_selector_all(".gauge dt, .gauge .figure, .gauge .more, .scroll", cut) == []
    colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    ink, ground = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (ink > ground + 300) if scheme == "dark" else (ground > ink + 300)


def test_it_is_live(tab, served):
    page = tab()
    page.wait_for_function("document.body.dataset.asked >= 2")
    with client(served) as http:
        assert http.post("/api/v1/gomoku/move", json={"board": [[0] * 9] * 9, "simulations": 30}).status_code == 200
        so_far = http.get("/monitor/data").json()["now"]["evaluations"]
    page.wait_for_function(
        """least => Number(document.querySelectorAll('.gauge .more')[2].textContent.replace(/\\D/g, '')) > least""",
        arg=so_far,
    )


def test_it_says_when_the_server_does_not_answer_and_recovers(tab):
    page = tab()
    page.route("**/monitor/data", lambda route: route.fulfill(status=503, body="{}"))
    page.wait_for_selector("#state.bad")
    assert "503" in page.inner_text("#state")
    page.unroute("**/monitor/data")
    page.wait_for_selector("#state.good")
