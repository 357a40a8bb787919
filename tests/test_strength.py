"""The page about strength says what the evidence says, and the evidence is about the networks that are shipped."""

import importlib.util
import json

import pytest

from alphazero.checkpoint import CHECKPOINTS
from alphazero.game import PROJECT

GAMES = ("chain_reaction", "gomoku", "tictactoe")


def load_script():
    spec = importlib.util.spec_from_file_location("strength", PROJECT / "docs" / "strength.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_page_is_made_of_the_evidence_that_is_here():
    for path, text in load_script().write().items():
        assert path.read_text("utf-8") == text, "run python docs/strength.py"


@pytest.mark.parametrize("game", GAMES)
def test_the_evidence_is_about_the_shipped_weights(game):
    config = json.loads((CHECKPOINTS / game / "config.json").read_text("utf-8"))
    path = CHECKPOINTS / game / "evidence.json"
    if path.is_file():
        assert json.loads(path.read_text("utf-8"))["weights_sha256"] == config["weights_sha256"]
