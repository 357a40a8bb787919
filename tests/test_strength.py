"""The page about strength says what the evidence says, and the evidence is about the networks that are shipped."""

import importlib.util
import json
from dataclasses import replace

import pytest

from alphazero import get_game
from alphazero.checkpoint import CHECKPOINTS, Checkpoint, load_checkpoint
from alphazero.game import PROJECT
from alphazero.grow import grown

GAMES = ("chain_reaction", "gomoku", "tictactoe")


def load_script(name="strength"):
    spec = importlib.util.spec_from_file_location(name, PROJECT / "docs" / f"{name}.py")
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


def write_metrics(folder, lines):
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def metrics_line(iteration, promoted, **others):
    line = {"iteration": iteration, "games": 10 * iteration, "steps": 2 * iteration, "cpu_hours": 0.5 * iteration}
    return {**line, "promoted": promoted, **others}


@pytest.fixture
def folders(tmp_path):
    """(a run that was begun with the shipped network and promoted its second iteration, the shipped folder)"""
    game = get_game("tictactoe")
    old, new = (Checkpoint.fresh(game, seed=seed) for seed in (1, 2))
    run, shipped = tmp_path / "run", tmp_path / "shipped"
    replace(old, training={"iterations": 7, "games": 70, "cpu_hours": 3.5}).save(shipped)
    write_metrics(shipped, [metrics_line(7, True)])
    old.save(run / "snapshots" / "000000")
    replace(new, training={"iterations": 2, "games": 20, "cpu_hours": 1.0, "settings": {}}).save(run / "best")
    write_metrics(run, [metrics_line(1, False), metrics_line(2, True), metrics_line(3, False)])
    return run, shipped


def test_a_run_that_went_on_from_the_shipped_network_is_counted_on(folders):
    run, shipped = folders
    load_script("ship").ship(run, shipped)
    lines = [json.loads(line) for line in (shipped / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [(line["iteration"], line["games"], line["cpu_hours"]) for line in lines] == [
        (7, 70, 3.5),
        (8, 80, 4.0),
        (9, 90, 4.5),
    ]
    training = load_checkpoint(shipped).training
    assert training == {"iterations": 9, "games": 90, "cpu_hours": 4.5, "settings": {}}
    assert (shipped / "model.safetensors").read_bytes() == (run / "best" / "model.safetensors").read_bytes()


def test_a_run_whose_network_grew_out_of_the_shipped_one_is_counted_on(folders):
    run, shipped = folders
    there = load_checkpoint(shipped)
    larger = replace(there.shape, channels=there.shape.channels + 16)
    grown(there, larger, seed=5).save(run / "snapshots" / "000000")
    (run / "settings.json").write_text(json.dumps({"seed": 5}), "utf-8")
    history_before = load_script("ship").history_before
    assert [line["iteration"] for line in history_before(run, shipped)] == [7]
    grown(there, larger, seed=6).save(run / "snapshots" / "000000")
    assert history_before(run, shipped) == []


def test_a_run_that_is_shipped_again_keeps_what_came_before_it(folders):
    run, shipped = folders
    ship = load_script("ship").ship
    load_checkpoint(run / "best").save(run / "snapshots" / "000002")
    ship(run, shipped)
    newest = Checkpoint.fresh(get_game("tictactoe"), seed=9)
    replace(newest, training={"iterations": 4, "games": 40, "cpu_hours": 2.0, "settings": {}}).save(run / "best")
    write_metrics(run, [metrics_line(number, number in (2, 4)) for number in (1, 2, 3, 4)])
    metrics = ship(run, shipped)
    assert [line["iteration"] for line in metrics] == [7, 8, 9, 10, 11]
    assert [line.get("run", 1) for line in metrics] == [1, 2, 2, 2, 2]


def test_a_run_from_nothing_stands_alone(folders):
    run, shipped = folders
    Checkpoint.fresh(get_game("tictactoe"), seed=3).save(run / "snapshots" / "000000")
    load_script("ship").ship(run, shipped)
    lines = (shipped / "metrics.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2]


def test_a_run_without_a_promotion_ships_nothing(folders):
    run, shipped = folders
    write_metrics(run, [metrics_line(1, False)])
    before = (shipped / "model.safetensors").read_bytes()
    with pytest.raises(SystemExit, match="promoted no network"):
        load_script("ship").ship(run, shipped)
    assert (shipped / "model.safetensors").read_bytes() == before
