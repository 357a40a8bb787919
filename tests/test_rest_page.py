"""docs/api.md keeps its word: its listings run against the real application, its tables name all errors and limits;
and the interactive page asks no outside host."""

import dataclasses
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from alphazero.game import PROJECT
from alphazero.train_settings import TrainSettings
from tests.rest_client import api
from web.limits import Limits

PAGE = (PROJECT / "docs" / "api.md").read_text("utf-8")
TOKEN = "only for this test"


def listings(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The application at /api/v1 of a real server; its address."""
    runs = tmp_path_factory.mktemp("runs")
    small = TrainSettings(
        iterations=5, games=4, workers=1, parallel=4, channels=4, blocks=1, simulations=2, simulations_end=2,
        candidates=2, batch=16, shard_games=4, gate="none", gate_pairs=1, gate_simulations=2, anchor_every=0,
    )  # fmt: skip
    (runs / "tictactoe").mkdir()
    (runs / "tictactoe" / "settings.json").write_text(json.dumps(dataclasses.asdict(small)))
    rest = api(training_token=TOKEN, runs=runs)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        app = Starlette(routes=[Mount("/api/v1", app=rest)])
        running = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not running.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        running.should_exit = True
        thread.join(timeout=30)
    rest.state.jobs.close()


def run(command, server, listing):
    listing = listing.replace("http://127.0.0.1:7860", server)
    env = {**os.environ, "TRAINING_TOKEN": TOKEN, "no_proxy": "*"}
    done = subprocess.run([*command, listing], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
@pytest.mark.parametrize("listing", listings("bash"))
def test_the_curl_examples(server, listing):
    got = run(["bash", "-euo", "pipefail", "-c"], server, listing)
    if "/health" in listing:
        assert '"status":"ok"' in got
        assert "azp_uptime_seconds" in got
        return
    answer = json.loads(got)
    assert ("error" in answer) == ("god" in listing)
    shown = re.search(re.escape(listing) + r"```\n```json\n(.*?)```", PAGE, re.DOTALL)
    if shown:  # the answer that the page shows has the same fields, and for an error the same words
        promised = json.loads(shown[1])
        assert set(promised) == set(answer)
        if "error" in answer:
            assert answer["error"]["code"] == promised["error"]["code"]
            assert answer["error"]["message"].startswith(promised["error"]["message"].rstrip("."))


@pytest.mark.slow
@pytest.mark.parametrize("listing", listings("python"))
def test_the_python_examples(server, listing):
    got = run([sys.executable, "-c"], server, listing)
    assert "TRAINING_TOKEN" in listing or "The game is over, " in got
    assert got.startswith("done " if "TRAINING_TOKEN" in listing else "easy plays ")


def test_every_error_is_listed():
    sources = "".join(
        (PROJECT / "web" / f"{name}.py").read_text("utf-8") for name in ("bodies", "errors", "guard", "rest")
    )
    raised = set(re.findall(r'(?:ApiError\.bad\(|\(\d{3}, |\(error\.status_code, )"(\w+)"', sources))
    section = PAGE[PAGE.index("## Errors") : PAGE.index("## Limits")]
    assert {"busy", "too_many_requests", "wrong_shape", "unknown_job"} <= raised, "the sources are read rightly"
    assert raised <= set(re.findall(r"`(\w+)`", section))


def test_every_limit_is_listed():
    section = PAGE[PAGE.index("## Limits") :]
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d+)", section, re.MULTILINE))
    assert listed == {name: f"{value:g}" if value < 1e5 else str(value) for name, value in vars(Limits()).items()}


def test_the_interactive_page_asks_no_outside_host(server):
    from urllib.request import urlopen

    page = urlopen(f"{server}/api/v1/docs").read().decode()
    assert not re.search(r"(?:https?:)?//[a-z0-9]", page.split("<body>")[0])
    sources = re.findall(r"(?:src|href)=\"([^\"]+)\"|url: '([^']+)'", page)
    assert len(sources) == 4
    for source in sources:
        path = "".join(source)
        assert path.startswith("/api/v1/")
        assert urlopen(server + path).status == 200
    assert '"validatorUrl": null' in page
    servers = json.load(urlopen(f"{server}/api/v1/openapi.json"))["servers"]
    assert servers == [{"url": "/api/v1"}], "so that `try it out` asks the right place"
