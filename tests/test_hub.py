"""Players from the Hub, against a small server on loopback that speaks as much of the Hub as a download needs.

HF_ENDPOINT is read when huggingface_hub is imported, so every test runs a fresh Python.
"""

import hashlib
import http.server
import os
import subprocess
import sys
import threading

import pytest

from alphazero import Checkpoint, get_game
from alphazero.checkpoint import CONFIG, WEIGHTS
from alphazero.hub import is_repo_id

OLD, NEW = "a" * 40, "b" * 40


class LittleHub(http.server.ThreadingHTTPServer):
    """Repos as {repo: {revision: (commit, {file: bytes})}}. Counts what was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), LittleHubHandler)
        self.repos = {}
        self.requests = []
        self.broken = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class LittleHubHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, with_body):
        self.server.requests.append(self.path)
        if self.server.broken:
            return self.refuse(503, "ServiceUnavailable")
        parts = self.path.lstrip("/").split("/")
        if len(parts) < 5 or parts[2] != "resolve":
            return self.refuse(404, "EntryNotFound")
        repo, revision, file = "/".join(parts[:2]), parts[3], "/".join(parts[4:])
        revisions = self.server.repos.get(repo)
        if revisions is None:
            return self.refuse(404, "RepoNotFound")
        if revision not in revisions:
            return self.refuse(404, "RevisionNotFound")
        if repo == "someone/cut" and with_body:  # promises more than it sends
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.close_connection = True
            return None
        commit, files = revisions[revision]
        if file not in files:
            return self.refuse(404, "EntryNotFound")
        self.send_response(200)
        self.send_header("X-Repo-Commit", commit)
        self.send_header("ETag", f'"{hashlib.sha1(files[file]).hexdigest()}"')
        self.send_header("Content-Length", str(len(files[file])))
        self.end_headers()
        if with_body:
            self.wfile.write(files[file])
        return None

    def refuse(self, status, code):
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path):
    hub = LittleHub()
    versions = {}
    for seed, commit in enumerate((OLD, NEW)):
        folder = Checkpoint.fresh(get_game("tictactoe"), seed=seed).save(tmp_path / commit)
        versions[commit] = (commit, {name: (folder / name).read_bytes() for name in (CONFIG, WEIGHTS)})
    hub.repos["someone/noughts"] = {OLD: versions[OLD], NEW: versions[NEW], "main": versions[NEW], "v1": versions[OLD]}
    bert = (OLD, {CONFIG: b'{"model_type": "bert"}', WEIGHTS: b"x" * 1000})
    half = (OLD, {CONFIG: versions[OLD][1][CONFIG]})
    hub.repos["someone/bert"] = {"main": bert, OLD: bert}
    hub.repos["someone/cut"] = hub.repos["someone/noughts"]
    hub.repos["someone/half"] = {"main": half, OLD: half}
    yield hub
    hub.shutdown()
    hub.server_close()


@pytest.fixture
def ask(hub, tmp_path):
    """Run a line of Python that may use load_player; what it prints, or its CheckpointError."""

    def ask(line, **environment):
        code = (
            "from alphazero import load_player, CheckpointError\n"
            f"try:\n    print({line})\n"
            "except CheckpointError as error:\n    print('CheckpointError:', error)\n"
        )
        env = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**env, **environment}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return ask


def test_download_pin_and_offline_cache(hub, ask):
    source = "load_player('someone/noughts', simulations=10).checkpoint.source"
    assert ask(source) == f"someone/noughts@{NEW}"
    assert ask("load_player('someone/noughts@v1', simulations=10).checkpoint.source") == f"someone/noughts@{OLD}"
    assert ask(f"load_player('someone/noughts', revision={OLD!r}).checkpoint.source") == f"someone/noughts@{OLD}"
    assert (
        ask("load_player('someone/noughts').search(load_player('tictactoe').game.start()).action in range(9)") == "True"
    )
    # Everything is cached now: nothing is asked offline, and a Hub that is down does no harm.
    asked = len(hub.requests)
    assert ask(source, HF_HUB_OFFLINE="1") == f"someone/noughts@{NEW}"
    assert len(hub.requests) == asked
    hub.broken = True
    assert ask(f"load_player('someone/noughts@{OLD}').checkpoint.source") == f"someone/noughts@{OLD}"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("'nobody/nothing'", "no repo nobody/nothing"),
        ("'someone/noughts@v9'", "no revision 'v9'"),
        ("'someone/bert'", "another program"),
        ("'someone/half'", f"no {WEIGHTS}"),
        ("'someone/noughts@v1', revision='v2'", "give only one"),
        ("'someone/noughts', revision=5", "given as text"),
        ("'someone/cut'", "could not be downloaded"),
        ("'tictactoe', revision='v1'", "goes with a Hub repo id"),
    ],
)
def test_errors_are_one_clear_sentence(ask, source, words):
    answer = ask(f"load_player({source})")
    assert answer.startswith("CheckpointError:")
    assert words in answer
    assert "\n" not in answer


def test_a_foreign_repo_is_noticed_before_its_weights_are_fetched(hub, ask):
    assert "another program" in ask("load_player('someone/bert')")
    assert not [path for path in hub.requests if path.endswith(WEIGHTS)]


def test_unreachable_hub(ask):
    answer = ask("load_player('someone/noughts')", HF_ENDPOINT="http://127.0.0.1:9")
    assert "can't be reached" in answer
    answer = ask("load_player('someone/noughts')", HF_HUB_OFFLINE="1")
    assert "can't be reached" in answer


def test_what_a_repo_id_is():
    for good in ("a/b", "some-one/my.net_1", "a/b@main", "a/b@0123abc"):
        assert is_repo_id(good)
    for bad in ("gomoku", "a/b/c", "../a", "/a/b", "a/", "a b/c", "a/b@", "./a/b", "a/b@../x", ""):
        assert not is_repo_id(bad)
