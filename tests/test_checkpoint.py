"""Checkpoints: written whole, read back the same, and every kind of damage answered by one clear sentence."""

import hashlib
import json
import os
import pickle
import stat

import numpy as np
import pytest
from safetensors.numpy import save

from alphazero import Checkpoint, CheckpointError, NetworkShape, UnknownGame, get_game, load_checkpoint, load_player
from alphazero.checkpoint import CONFIG, WEIGHTS, write_atomically


@pytest.fixture
def folder(tmp_path):
    game = get_game("tictactoe")
    return Checkpoint.fresh(game, NetworkShape(2, 8, 1, 4, 4), seed=3).save(tmp_path / "net")


def test_round_trip(folder):
    loaded = load_checkpoint(folder)
    fresh = Checkpoint.fresh(get_game("tictactoe"), NetworkShape(2, 8, 1, 4, 4), seed=3)
    assert loaded.game is get_game("tictactoe")
    assert loaded.shape == fresh.shape
    assert loaded.training == {"iterations": 0}
    assert loaded.weights.keys() == fresh.weights.keys()
    assert all((loaded.weights[name] == array).all() for name, array in fresh.weights.items())


def edit_config(folder, **changes):
    config = json.loads((folder / CONFIG).read_text())
    config.update(changes)
    (folder / CONFIG).write_text(json.dumps({k: v for k, v in config.items() if v != "REMOVE"}))


def replace_weights(folder, change):
    weights = dict(load_checkpoint(folder).weights)
    change(weights)
    blob = save(weights)
    (folder / WEIGHTS).write_bytes(blob)
    edit_config(folder, weights_sha256=hashlib.sha256(blob).hexdigest())


def rename(weights):
    weights["foreign"] = weights.pop("value_out.bias")


def reshape(weights):
    weights["stem.conv.weight"] = weights["stem.conv.weight"][:4].copy()


def half(weights):
    weights["stem.conv.weight"] = weights["stem.conv.weight"].astype(np.float16)


def poison(weights):
    weights["value_out.weight"] = np.full_like(weights["value_out.weight"], np.nan)


def lessen(weights):
    weights["stem.norm.running_var"] = -weights["stem.norm.running_var"]


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def truncate(path, keep):
    path.write_bytes(path.read_bytes()[:keep])


DAMAGE = {
    "no config": (lambda f: (f / CONFIG).unlink(), CONFIG, "missing"),
    "empty config": (lambda f: (f / CONFIG).write_text(""), CONFIG, "not valid JSON"),
    "broken config": (lambda f: truncate(f / CONFIG, 40), CONFIG, "not valid JSON"),
    "binary config": (lambda f: (f / CONFIG).write_bytes(b"\xff\xfe\x00"), CONFIG, "not valid JSON"),
    "deep config": (lambda f: (f / CONFIG).write_text("[" * 100_000), CONFIG, "not valid JSON"),
    "list config": (lambda f: (f / CONFIG).write_text("[]"), CONFIG, "not a JSON object"),
    "foreign config": (lambda f: (f / CONFIG).write_text('{"architectures": ["Bert"]}'), CONFIG, "another program"),
    "huge config": (lambda f: (f / CONFIG).write_text(" " * (2 << 20)), CONFIG, "more than"),
    "true as a number": (lambda f: edit_config(f, rules_version=True), CONFIG, "whole number"),
    "long value": (lambda f: edit_config(f, rows="9\n" * 50_000), CONFIG, "whole number"),
    "new format": (lambda f: edit_config(f, format=2), CONFIG, "format 1"),
    "unknown key": (lambda f: edit_config(f, mood="good"), CONFIG, "mood"),
    "missing key": (lambda f: edit_config(f, rules_version="REMOVE"), CONFIG, "rules_version"),
    "other rules": (lambda f: edit_config(f, rules_version=2), CONFIG, "rules version 2"),
    "other game": (lambda f: edit_config(f, game="chess"), CONFIG, "chess"),
    "game is a module": (lambda f: edit_config(f, game="antigravity"), CONFIG, "antigravity"),
    "game is no name": (lambda f: edit_config(f, game=[1]), CONFIG, "game"),
    "other board": (lambda f: edit_config(f, rows=4), CONFIG, "4x3"),
    "bad shape": (lambda f: edit_config(f, network={"planes": 2, "channels": -1}), CONFIG, "channels"),
    "unknown shape": (lambda f: edit_config(f, network={"planes": 2, "depth": 3}), CONFIG, "depth"),
    "no planes": (lambda f: edit_config(f, network={}), CONFIG, "planes"),
    "other planes": (lambda f: edit_config(f, network={"planes": 3}), CONFIG, "input planes"),
    "shape no object": (lambda f: edit_config(f, network=5), CONFIG, "network"),
    "other size": (lambda f: edit_config(f, network={"planes": 2, "channels": 9}), WEIGHTS, "config"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), WEIGHTS, "missing"),
    "empty weights": (lambda f: truncate(f / WEIGHTS, 0), WEIGHTS, "truncated"),
    "cut header": (lambda f: truncate(f / WEIGHTS, 20), WEIGHTS, "truncated"),
    "cut weights": (lambda f: truncate(f / WEIGHTS, 4000), WEIGHTS, "truncated"),
    "lfs pointer": (lambda f: (f / WEIGHTS).write_text("version https://git-lfs\noid sha256:1"), WEIGHTS, "git lfs"),
    "pickle": (lambda f: (f / WEIGHTS).write_bytes(pickle.dumps({"a": 1})), WEIGHTS, "no safetensors"),
    "foreign arrays": (lambda f: replace_weights(f, rename), WEIGHTS, "another kind"),
    "other shape": (lambda f: replace_weights(f, reshape), WEIGHTS, "stem.conv.weight"),
    "half floats": (lambda f: replace_weights(f, half), WEIGHTS, "float16"),
    "negative variance": (lambda f: replace_weights(f, lessen), WEIGHTS, "negative variance"),
    "pipe": (lambda f: pipe(f / CONFIG), CONFIG, "no plain file"),
    "NaN": (lambda f: replace_weights(f, poison), WEIGHTS, "NaN"),
    "swapped weights": (lambda f: edit_config(f, weights_sha256="0" * 64), WEIGHTS, "SHA-256"),
    "folder as file": (lambda f: ((f / WEIGHTS).unlink(), (f / WEIGHTS).mkdir()), WEIGHTS, "can't be read"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_one_clear_sentence(folder, damage):
    harm, file, word = DAMAGE[damage]
    harm(folder)
    with pytest.raises(CheckpointError) as caught:
        load_player(folder)
    message = str(caught.value)
    assert str(folder / file) in message
    assert word in message
    assert "\n" not in message
    assert len(message) < 450


def test_any_truncation_is_noticed(folder):
    whole = (folder / WEIGHTS).read_bytes()
    for keep in np.random.default_rng(0).integers(0, len(whole), 60):
        (folder / WEIGHTS).write_bytes(whole[:keep])
        with pytest.raises(CheckpointError, match=WEIGHTS):
            load_checkpoint(folder)


def test_any_flipped_bit_is_noticed(folder):
    whole = (folder / WEIGHTS).read_bytes()
    rng = np.random.default_rng(1)
    for at in rng.integers(0, len(whole), 60):
        broken = bytearray(whole)
        broken[at] ^= 1 << int(rng.integers(8))
        (folder / WEIGHTS).write_bytes(bytes(broken))
        with pytest.raises(CheckpointError, match=WEIGHTS):
            load_checkpoint(folder)


def test_a_folder_that_is_not_there(tmp_path):
    for source in (tmp_path / "nothing", str(tmp_path / "nothing"), "./nothing/here"):
        with pytest.raises(CheckpointError, match="no checkpoint folder"):
            load_player(source)
    for source in ("~nosuchuser/x", "a/" + "b" * 5000, tmp_path / ("c" * 300)):
        with pytest.raises(CheckpointError):
            load_player(source)


def test_unknown_name_lists_the_games():
    with pytest.raises(UnknownGame, match=r"gomoku.*Hub repo id"):
        load_player("chess")
    for wrong in ("", None, 3, get_game("gomoku")):
        with pytest.raises(CheckpointError, match="Hub repo id"):
            load_player(wrong)
    with pytest.raises(CheckpointError, match="folder"):
        load_checkpoint(None)


def test_a_plain_word_is_a_game_not_a_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gomoku").mkdir()
    (tmp_path / "chess").mkdir()
    assert load_player("gomoku").game.name == "gomoku"
    with pytest.raises(UnknownGame, match="chess"):
        load_player("chess")
    Checkpoint.fresh(get_game("tictactoe")).save(tmp_path / "mine")
    assert load_player("mine").game.name == "tictactoe"


def test_every_shipped_checkpoint_loads():
    for name in ("chain_reaction", "gomoku", "tictactoe"):
        player = load_player(name, simulations=20)
        assert player.game.name == name
        assert player.search(player.game.start()).simulations == 20


def test_write_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
