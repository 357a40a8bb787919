"""The commands, run as a person runs them."""

import json
import subprocess
import sys

import pytest

from alphazero import Checkpoint, get_game, load_player
from alphazero.__main__ import COMMANDS


def command(*arguments, stdin=""):
    return subprocess.run(
        [sys.executable, "-m", "alphazero", *arguments], input=stdin, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("name", [[], *([name] for name in COMMANDS)])
def test_help(name):
    done = command(*name, "--help")
    assert done.returncode == 0
    assert "usage" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["fly", "gomoku"], "invalid choice"),
        (["play", "chess"], "gomoku"),
        (["play", "gomoku", "--simulations", "0"], "simulations must be"),
        (["play", "gomoku", "--seconds", "nan"], "seconds must be"),
        (["play", "gomoku", "--checkpoint", "no/such/folder"], "no checkpoint folder"),
        (["play", "gomoku", "--checkpoint", "checkpoints/tictactoe"], "plays tictactoe"),
        (["bench", "gomoku", "--checkpoint", "/nowhere"], "no checkpoint folder"),
        (["bench", "gomoku", "--checkpoint", "checkpoints/tictactoe"], "plays tictactoe"),
        (["export", "gomoku", "x", "--checkpoint", "checkpoints/tictactoe"], "plays tictactoe"),
        (["export", "gomoku", ".", "--force"], "holds other files"),
        (["bench", "gomoku", "--rounds", "0"], "rounds must be"),
        (["bench", "gomoku", "--slice", "-1"], "slice must be"),
        (["bench", "gomoku", "--look-ahead", "0"], "look_ahead must be"),
        (["export", "gomoku", "LICENSE"], "is a file"),
    ],
)
def test_bad_arguments_get_a_sentence_not_a_traceback(arguments, words):
    done = command(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["gomoku", "tictactoe"])
def test_bench_prints_one_object_last(name):
    done = command("bench", name, "--untrained", "--rounds", "1", "--slice", "0.05", "--simulations", "20")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    for key in ("bare", "search", "ratio"):
        for count in (1, 8, 64):
            assert report[f"{key}_{count}"] > 0
    assert report["game"] == name
    assert report["threads"] == 1
    assert report["tree_us_64"] > 0
    assert 0 < report["bytes_per_simulation"] <= 2000
    for count in (1, 8, 64):
        assert report[f"ratio_{count}"] == pytest.approx(report[f"search_{count}"] / report[f"bare_{count}"], rel=0.01)
    assert "turn 1 of 1" in done.stderr


def test_play_a_game_in_the_terminal():
    done = command(
        "play", "tictactoe", "--level", "master", "--seed", "1",
        stdin="help\nhint\nB2\nB2\nZ9\nlevel hard\nlevel none\nundo\nA1\nnew\nswap\nundo\nquit\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = done.stdout
    for words in (
        "take back",
        "Try ",
        "Expected:",
        "is taken",
        "no cell",
        "level hard now",
        "is no level",
        "1 X . .",
        "You play Noughts now",
        "The AI plays",
        "nothing to take back",
    ):
        assert words in text, words


def test_play_to_the_end_and_by_either_side():
    moves = "\n".join("ABC"[c] + str(r) for r in (1, 2, 3) for c in (0, 1, 2))
    done = command("play", "tictactoe", "--side", "second", "--simulations", "50", stdin=moves * 2 + "\nhint\n")
    assert done.returncode == 0, done.stderr
    assert "The AI wins." in done.stdout or "A draw." in done.stdout
    assert "The game is over" in done.stdout


def test_play_chain_reaction_draws_signed_counts():
    done = command("play", "chain_reaction", "--level", "easy", "--seed", "1", stdin="C3\nC3\nquit\n")
    assert done.returncode == 0, done.stderr
    assert "+3" in done.stdout
    assert "-3" in done.stdout


def test_export_is_ready_for_the_hub(tmp_path):
    folder = tmp_path / "export"
    done = command("export", "gomoku", str(folder))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\n")
    assert "AlphaZero for Gomoku" in card
    assert load_player(folder, simulations=10).search(get_game("gomoku").start()).simulations == 10
    again = command("export", "gomoku", str(folder))
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert command("export", "gomoku", str(folder), "--force").returncode == 0


def test_export_of_a_trained_network_tells_its_training(tmp_path):
    game = get_game("tictactoe")
    fresh = Checkpoint.fresh(game)
    trained = Checkpoint(game, fresh.shape, fresh.weights, {"iterations": 12, "cpu_hours": 0.5})
    done = command("export", "tictactoe", str(tmp_path / "b"), "--checkpoint", str(trained.save(tmp_path / "a")))
    assert done.returncode == 0, done.stderr
    assert "| cpu hours | 0.5 |" in (tmp_path / "b" / "README.md").read_text()
