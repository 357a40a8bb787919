"""app.py as people start it: flags, what the log says, and how it ends."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

import app
from alphazero import get_game
from alphazero.game import PROJECT
from benchmarks.running import RunningApp
from tests.rest_client import players
from tests.serving import PATIENCE

FLAGS = ("--host", "--port", "--share", "--lang", "--simulations", "--checkpoint", "--runs", "--allow-training")


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def test_help_explains_every_flag(capsys):
    with pytest.raises(SystemExit) as stop:
        app.arguments(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    for flag in FLAGS:
        assert re.search(rf"^  {flag}\b.*\n? +\w+", shown, re.M), flag


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "0"], "a port is a whole number from 1 to 65535, not '0'"),
        (["--port", "x"], "not 'x'"),
        (["--host", "no such host"], "'no such host' is no address of this machine"),
        (["--lang", "fr"], "choose from"),
        (["--simulations", "0"], "simulations are a whole number from 1 to 20000, not '0'"),
        (["--simulations", "99999999999"], "from 1 to 20000"),
        (["--chess"], "unrecognized arguments: --chess"),
    ],
)
def test_a_bad_flag_is_told_in_one_line(words, said, capsys):
    with pytest.raises(SystemExit) as stop:
        app.arguments(words)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


# ---- checkpoints


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no/such/folder", "no/such/folder"),
        ("gomoku=checkpoints/tictactoe", "that network plays tictactoe"),
        ("tests", "tests"),
        ("", "--checkpoint"),
    ],
)
def test_a_checkpoint_that_fails(source, said, monkeypatch):
    monkeypatch.chdir(PROJECT)
    with pytest.raises(ValueError, match=r"^--checkpoint ") as failed:
        app.load_chosen(source)
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("prefix", ["", "tictactoe="])
def test_a_checkpoint_of_ones_own(tmp_path, prefix):
    folder = tmp_path / "a=b"  # an equals sign of a folder is no game
    shutil.copytree(PROJECT / "checkpoints" / "tictactoe", folder)
    name, player = app.load_chosen(f"{prefix}{folder}")
    assert name == "tictactoe"
    assert str(player.checkpoint.source).endswith("a=b")


def test_simulations_are_those_of_the_default_level_alone():
    games = {name: dict(get_game(name).levels) for name in ("gomoku", "tictactoe", "chain_reaction")}
    try:
        for name, player in app.load_players(medium=7).items():
            assert player.game.levels["medium"].simulations == 7
            assert {**player.game.levels, "medium": games[name]["medium"]} == games[name]
    finally:
        for name, levels in games.items():
            get_game(name).levels.update(levels)


def test_ready_means_that_the_page_compiles_nothing_more(monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr("web.views.view", lambda after, before: drawn.append((after.game.name, after.plies)))
    ready = threading.Event()
    app.get_ready(players("tictactoe", "gomoku"), ready)
    assert ready.is_set()
    assert drawn == [("tictactoe", 1), ("gomoku", 1)]
    assert "All games are ready" in capsys.readouterr().out


# ---- a process of its own


def run(*flags):
    return subprocess.run(
        [sys.executable, "app.py", *flags], cwd=PROJECT, capture_output=True, text=True, timeout=4 * PATIENCE
    )


def test_a_port_in_use_is_a_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("--host", "127.0.0.1", "--port", str(port))
    assert done.returncode == 1
    assert f"app.py: can't serve on 127.0.0.1, port {port}; try another --port" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_checkpoint_that_fails_ends_the_program():
    done = run("--checkpoint", "no/such/folder")
    assert done.returncode == 2
    assert done.stderr.startswith("app.py: --checkpoint no/such/folder: ")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_whole_life(tmp_path):
    flags = ("--lang", "zh-Hant", "--simulations", "7", "--runs", str(tmp_path), "--allow-training")
    with RunningApp(*flags) as running:
        running.wait_until_ready()
        running.wait_until_served()
        games = json.loads(get(f"{running.url}/api/v1/games"))["games"]
        assert all(level["simulations"] == 7 for game in games for level in game["levels"] if level["name"] == "medium")
        assert json.loads(get(f"{running.url}/api/v1/health"))["ready"]
        assert re.search(r'\\"lang\\": \\"zh-Hant\\"', get(f"{running.url}/"))
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0
        said = "".join(running.lines)
    assert f"AlphaZero Playground is at {running.url}" in said
    assert re.search(r"All games are ready, \d+\.\d s after the start\.", said)
    assert re.search(r"this token: \S{20,}", said)
    assert "Traceback" not in said


@pytest.mark.slow
def test_control_c_ends_it_while_it_is_still_starting():
    with RunningApp() as running:
        running.wait_until_served()
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(PATIENCE) == 130
    assert "Traceback" not in "".join(running.lines)
