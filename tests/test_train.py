"""The training loop: settings, resuming, gates, workers and disks that fail, and one seed, one result."""

import argparse
import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import numpy as np
import pytest

from alphazero import get_game, load_player
from alphazero.checkpoint import Checkpoint
from alphazero.elo import Sprt, Tally
from alphazero.game import PROJECT
from alphazero.grow import grown
from alphazero.train import add_arguments, read_settings
from alphazero.training.crew import LocalCrew, Task, WorkerFailed, run_tasks
from alphazero.training.gate import judge
from alphazero.training.interrupt import interrupts_at_safe_points, safe_point
from alphazero.training.loop import Trainer
from alphazero.training.run_folder import RunError, RunFolder, State

TINY = {
    "games": 40,
    "shard_games": 10,
    "parallel": 16,
    "simulations": 8,
    "simulations_end": 8,
    "candidates": 4,
    "batch": 32,
    "gate_pairs": 4,
    "gate_simulations": 4,
    "anchor_every": 0,
    "workers": 1,
    "channels": 8,
    "blocks": 1,
}
GAME = get_game("tictactoe")


def flags(**settings):
    return [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def train_command(folder, game="tictactoe", **settings):
    return [sys.executable, "-m", "alphazero", "train", game, "--run", str(folder), *flags(**TINY | settings)]


def train(folder, game="tictactoe", **settings):
    return subprocess.run(
        train_command(folder, game, **settings), cwd=PROJECT, capture_output=True, text=True, timeout=300
    )


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


class InlineCrew:
    """One worker in this very process: what the loop does, without the seconds that processes take to start."""

    size = 1

    def __init__(self, game, settings, seed=(0,)):
        from alphazero.training.worker import Worker

        self.worker = Worker(game.name, vars(settings), list(seed))
        self.waiting = []

    def share(self, thing):
        return thing

    def present(self):
        return [0]

    def submit(self, worker, task):
        self.waiting.append(task)

    def collect(self):
        from alphazero.training.crew import Answer

        task = self.waiting.pop(0)
        return [Answer(0, getattr(self.worker, task.method)(*task.arguments))]

    def close(self):
        pass


def tiny(**changes):
    return replace(GAME.training, **{**TINY, **changes})


def make_trainer(path, **changes):
    settings = tiny(**changes)
    folder = RunFolder(path, GAME)
    return Trainer(folder, folder.settings(settings), InlineCrew(GAME, settings))


# -- settings ---------------------------------------------------------------------------------------------------------


def parsed(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


def test_flags_stand_above_toml_above_the_games_own(tmp_path):
    config = tmp_path / "run.toml"
    config.write_text("games = 7\nlearning_rate = 0.5\n")
    folder = RunFolder(tmp_path / "run", GAME)
    settings = read_settings(GAME, parsed("--config", str(config), "--learning-rate", "0.25"), folder)
    assert settings == replace(GAME.training, games=7, learning_rate=0.25)


def test_a_run_that_goes_on_keeps_its_settings_and_notes_changes(tmp_path):
    folder = RunFolder(tmp_path, GAME)
    folder.settings(tiny())
    assert json.loads((tmp_path / "settings.json").read_text()) == asdict(tiny())
    assert read_settings(GAME, parsed(), folder) == tiny()
    folder.settings(read_settings(GAME, parsed("--games", "99"), folder))
    assert "games: 40 -> 99" in (tmp_path / "log.txt").read_text()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gamess = 7", "unknown setting 'gamess'"),
        ("games = 0", "games must be a whole number from 1"),
        ('games = "many"', "games must be a whole number"),
        ("games = true", "games must be a whole number"),
        ('root = "beam"', "root must be one of gumbel, puct"),
        ("gate_elo0 = 50", "gate_elo1 must be more"),
        ("games =", "can't be read as TOML"),
    ],
)
def test_bad_settings_are_refused_in_words(tmp_path, text, complaint):
    config = tmp_path / "run.toml"
    config.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        read_settings(GAME, parsed("--config", str(config)), RunFolder(tmp_path / "run", GAME))


def test_what_the_environment_makes_of_auto_is_on_record(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path, GAME)
    assert read_settings(GAME, parsed(), folder).precision == "auto"
    monkeypatch.setenv("ALPHAZERO_PRECISION", "int8")
    assert read_settings(GAME, parsed(), folder).precision == "int8"
    assert read_settings(GAME, parsed("--precision", "f32"), folder).precision == "f32"


RECIPES = sorted((PROJECT / "docs" / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_recipes_of_later_stages_can_be_followed(tmp_path, path):
    game = get_game(path.stem.rpartition("-")[0])
    settings = read_settings(game, parsed("--config", str(path)), RunFolder(tmp_path, game))
    assert settings != game.training
    start = Checkpoint.fresh(game)  # as the first stage makes it
    assert grown(start, settings.network(game.network)).shape == settings.network(game.network)
    assert f"docs/recipes/{path.name}" in path.read_text("utf-8"), "its first lines say how to follow it"


@pytest.mark.parametrize("name", ["chain_reaction", "gomoku", "tictactoe"])
def test_schedules_run_from_first_to_last(name):
    settings = get_game(name).training
    steps = [settings.simulations_at(i) for i in range(1, settings.iterations + 10)]
    assert steps[0] == settings.simulations
    assert steps[settings.iterations - 1 :] == [settings.simulations_end] * 10
    assert steps == sorted(steps)
    assert settings.learning_rate_at(settings.iterations) == pytest.approx(settings.learning_rate_end)
    assert settings.window_at(0) == settings.window_start
    assert settings.window_at(10**9) == settings.window_games


# -- the loop ---------------------------------------------------------------------------------------------------------


def test_an_iteration_leaves_everything_it_should(tmp_path):
    trainer = make_trainer(tmp_path, gate="none", anchor_every=2, anchors="random rollout@10", anchor_pairs=2)
    first, second = trainer.iterate(), trainer.iterate()
    assert first["policy_loss"] is None  # nothing to learn from yet
    assert first["gate"] is None
    assert second["policy_loss"] > 0
    assert second["promoted"]
    assert set(second["anchors"]) == {"random", "rollout@10"}
    assert second["anchors"]["random"]["games"] == 4
    for key in (
        *("policy_loss", "value_loss", "policy_kl", "value_mse_outcome", "win_rate", "elo_change", "elo_change_low"),
        *("elo", "games_per_second", "evaluations_per_second", "game_length", "draw_rate", "seconds", "cpu_hours"),
    ):
        assert second[key] is not None, key
    assert set(second["seconds"]) >= {"learn", "self_play", "gate", "anchors", "total"}
    assert metrics(tmp_path) == [first, second]
    state = trainer.folder.state
    assert state.iteration == 2
    assert state.games == sum(shard.games for shard in trainer.replay.shards) >= 80
    player = load_player(tmp_path / "best", simulations=4)
    assert player.checkpoint.training["iterations"] == 2
    assert (tmp_path / state.best / "model.safetensors").read_bytes() == (
        tmp_path / "best" / "model.safetensors"
    ).read_bytes()


def test_a_stopped_run_goes_on_with_its_buffer_best_and_learner(tmp_path):
    through = make_trainer(tmp_path / "through", gate="none")
    for _ in range(3):
        through.iterate()
    parts = make_trainer(tmp_path / "parts", gate="none")
    parts.iterate()
    parts.iterate()
    window, steps = parts.data.window.samples, parts.learner.steps
    parts.folder.close()
    resumed = make_trainer(tmp_path / "parts", gate="none")
    assert resumed.data.window.samples == window
    assert resumed.learner.steps == steps
    assert resumed.best.weights["stem.conv.weight"].tolist() == parts.best.weights["stem.conv.weight"].tolist()
    line = resumed.iterate()
    assert line["iteration"] == 3
    # The learner goes on as if nothing had happened; only the games are others.
    assert line["policy_loss"] == metrics(tmp_path / "through")[2]["policy_loss"]


def test_an_iteration_cut_short_keeps_its_finished_games(tmp_path):
    trainer = make_trainer(tmp_path)
    trainer.iterate()
    before = trainer.replay.next_number
    worker = trainer.crew.worker
    for _ in range(2):  # as if killed after two shards of the second iteration
        trainer.replay.append(worker.play(trainer._network(trainer.best.weights), 10, 8).samples)
    kept = sum(shard.games for shard in trainer.replay.shards if shard.number >= before)
    trainer.folder.close()
    resumed = make_trainer(tmp_path)
    line = resumed.iterate()
    assert line["new_games"] >= 40
    fresh = [shard for shard in resumed.replay.shards if shard.number >= before]
    assert sum(shard.games for shard in fresh) == line["new_games"]
    assert sum(shard.games for shard in fresh[2:]) <= 40 - kept + 16


def test_a_damaged_shard_does_not_stop_a_run(tmp_path):
    trainer = make_trainer(tmp_path)
    trainer.iterate()
    trainer.replay.shards[0].path.write_bytes(b"rubbish")
    trainer.folder.close()
    resumed = make_trainer(tmp_path)
    resumed.iterate()
    assert "set aside" in (tmp_path / "log.txt").read_text()
    assert len(list((tmp_path / "replay" / "damaged").iterdir())) == 1


def test_start_from_a_network_that_has_learnt(tmp_path):
    settings = tiny(gate="none")
    start = Checkpoint.fresh(GAME, settings.network(GAME.network), seed=5)
    start.weights["policy_out.bias"][:] = 0.25
    folder = RunFolder(tmp_path, GAME)
    folder.start_from(start)
    trainer = Trainer(folder, folder.settings(settings), InlineCrew(GAME, settings))
    for weights in (trainer.best.weights, trainer.learner.averaged_weights()):
        assert weights["policy_out.bias"] == pytest.approx(0.25)
        assert np.array_equal(weights["stem.conv.weight"], start.weights["stem.conv.weight"])
    trainer.iterate()
    with pytest.raises(RunError, match="has begun"):
        folder.start_from(start)


def test_begin_with_the_games_of_another_run(tmp_path):
    other = make_trainer(tmp_path / "other")
    other.iterate()
    other.iterate()
    damaged, *sound = [shard.path for shard in other.replay.shards]
    damaged.write_bytes(b"rubbish")
    folder, said = RunFolder(tmp_path / "new", GAME), []
    settings = tiny(gate="none", steps=3)
    folder.bring_games(tmp_path / "other", said.append)
    assert damaged.exists()
    assert [damaged.name in text for text in said] == [True]
    assert sorted(path.name for path in (folder.path / "replay").iterdir()) == [path.name for path in sound]
    trainer = Trainer(folder, folder.settings(settings), InlineCrew(GAME, settings))
    brought = folder.state.games
    assert trainer.data.window.games == brought == sum(shard.games for shard in other.replay.shards[1:])
    first = trainer.iterate()
    assert first["steps"] == 3  # at once, and so many whatever came
    assert trainer.iterate()["steps"] == 6
    assert folder.state.games - brought > first["games"] > 0  # a run counts only its own games as its own
    with pytest.raises(RunError, match="has begun"):
        folder.bring_games(tmp_path / "other", said.append)


def test_games_that_the_window_can_not_hold_are_not_learnt_from_in_other_ones(tmp_path):
    other = make_trainer(tmp_path / "other")
    other.iterate()
    folder = RunFolder(tmp_path / "new", GAME)
    folder.bring_games(tmp_path / "other", print)
    settings = tiny(gate="none", window_start=1, window_fraction=0.01, reuse=2.0)
    trainer = Trainer(folder, folder.settings(settings), InlineCrew(GAME, settings))
    there = trainer.data.window.samples
    assert 0 < there < folder.state.new_samples
    assert trainer.iterate()["steps"] == round(there * settings.reuse / settings.batch)


@pytest.mark.parametrize(("other", "message"), [("nothing", "no run folder"), ("empty", "no games")])
def test_games_can_only_come_from_a_run_that_has_some(tmp_path, other, message):
    (tmp_path / "empty" / "replay").mkdir(parents=True)
    with pytest.raises(RunError, match=message):
        RunFolder(tmp_path / "new", GAME).bring_games(tmp_path / other, print)


def test_old_games_leave_the_disk(tmp_path):
    trainer = make_trainer(tmp_path, window_games=50, window_start=50)
    for _ in range(4):
        trainer.iterate()
    on_disk = sum(shard.games for shard in trainer.replay.shards)
    assert on_disk <= 50
    assert len(list((tmp_path / "replay").glob("*.safetensors"))) == len(trainer.replay.shards)
    assert trainer.data.window.games >= 40


# -- the gate ---------------------------------------------------------------------------------------------------------


def tally(*pairs):
    result = Tally()
    for first, second, count in pairs:
        for _ in range(count):
            result.add(first, second)
    return result


@pytest.mark.parametrize(
    ("gate", "pairs", "promoted"),
    [
        ("score", [(1, 0, 11), (0, -1, 9)], False),  # 52.5 %
        ("score", [(1, 0, 12), (0, -1, 8)], True),  # exactly 55 %
        ("score", [(0, 0, 50)], False),
        ("sprt", [(0, 0, 100)], False),
        ("sprt", [(1, 1, 30), (1, -1, 10)], True),
        ("sprt", [(1, -1, 100)], False),
        ("sprt", [(1, 0, 3)], False),  # undecided
        ("sprt", [(-1, -1, 30), (1, -1, 10)], False),
    ],
)
def test_who_passes_the_gate(gate, pairs, promoted):
    assert judge(tiny(gate=gate), tally(*pairs), Sprt(0, 35))[0] is promoted


def test_all_draws_do_not_promote_whatever_the_threshold():
    promote, why = judge(tiny(gate="score", gate_score=0.5), tally((0, 0, 20)), None)
    assert not promote
    assert "drawn" in why


class RiggedCrew(InlineCrew):
    """Self-play is real; matches end as told."""

    outcome = (0, 0)

    def collect(self):
        from alphazero.training.crew import Answer
        from alphazero.training.worker import PairResult

        task = self.waiting[0]
        if task.method != "match":
            return super().collect()
        self.waiting.pop(0)
        openings = task.arguments[3]
        moves = ((0, 1, 2), (0, 1, 2))
        return [Answer(0, ([PairResult(*self.outcome, moves) for _ in openings], 0.1))]


def rigged(path, **changes):
    settings = tiny(gate_pairs=40, **{"gate": "sprt", **changes})
    folder = RunFolder(path, GAME)
    return Trainer(folder, folder.settings(settings), RiggedCrew(GAME, settings))


def test_a_better_candidate_becomes_the_best_and_the_rest_is_refused(tmp_path):
    trainer = rigged(tmp_path)
    trainer.iterate()
    untrained = trainer.best
    trainer.crew.outcome = (1, 1)
    line = trainer.iterate()
    assert line["promoted"]
    assert line["gate"]["pairs"] < 40  # stopped as soon as it was clear
    assert line["elo"] > 0
    better = trainer.best
    assert better is not untrained
    trainer.crew.outcome = (0, 0)
    line = trainer.iterate()
    assert not line["promoted"]
    assert trainer.best is better
    assert trainer.folder.state.best == "snapshots/000002"


def test_identical_games_are_reported(tmp_path):
    trainer = rigged(tmp_path)
    trainer.iterate()
    line = trainer.iterate()
    assert line["gate"]["distinct_games"] == 1
    assert "games are distinct" in (tmp_path / "log.txt").read_text()


def test_after_many_refusals_learning_goes_back_to_the_best(tmp_path):
    trainer = rigged(tmp_path, patience=1)
    trainer.iterate()
    trainer.crew.outcome = (1, 1)
    trainer.iterate()
    best = trainer.learner.steps
    trainer.crew.outcome = (-1, -1)
    trainer.iterate()
    assert trainer.learner.steps > best  # one refusal is borne
    trainer.iterate()
    assert trainer.learner.steps == best
    assert "goes back to the best" in (tmp_path / "log.txt").read_text()
    assert trainer.folder.state.refusals == 0


# -- what can happen --------------------------------------------------------------------------------------------------


def test_a_full_disk_is_a_sentence_and_harms_nothing(tmp_path, monkeypatch):
    trainer = make_trainer(tmp_path, gate="none")
    trainer.iterate()
    trainer.iterate()
    names = ("replay/*.safetensors", "snapshots/*/*")
    saved = {path: path.read_bytes() for name in names for path in tmp_path.glob(name)}
    for allowed in range(20):  # the disk fills up at every write of an iteration in turn
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", DiskWithRoomFor(allowed))
            if trainer.folder.state.iteration == 2:
                with pytest.raises(RunError, match="disk is full"):
                    trainer.iterate()
        trainer.folder.close()
        assert all(path.read_bytes() == blob for path, blob in saved.items())
        trainer = make_trainer(tmp_path, gate="none")  # and it goes on
        assert [line["iteration"] for line in metrics(tmp_path)] == list(range(1, trainer.folder.state.iteration + 1))
        if trainer.folder.state.iteration == 3:
            break  # only the copy in best/ was still to come
    assert allowed >= 4  # snapshot (two files), learner, metrics, state
    trainer.iterate()
    assert trainer.folder.state.iteration == 4


class DiskWithRoomFor:
    """Stands for os.fsync: so many files can be written, then no more."""

    def __init__(self, files):
        self.left = files

    def __call__(self, handle):
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_one_run_folder_one_trainer(tmp_path):
    folder = RunFolder(tmp_path, GAME)
    with pytest.raises(RunError, match="another training"):
        RunFolder(tmp_path, GAME)
    folder.close()
    RunFolder(tmp_path, GAME)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"game": "gomoku"}', '{"game": "tictactoe", "sheep": 1}'])
def test_a_broken_state_is_a_sentence(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(RunError, match=r"state\.json"):
        RunFolder(tmp_path, GAME)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / ".bashrc").write_text("mine")
    with pytest.raises(RunError, match="no run folder"):
        RunFolder(tmp_path, GAME)
    assert (tmp_path / ".bashrc").read_text() == "mine"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "settings.json").write_text(json.dumps(asdict(tiny())))
    (tmp_path / "run" / ".env").write_text("mine, too")
    (tmp_path / "run" / "best").mkdir()
    (tmp_path / "run" / "best" / ".model.safetensors.x1y2").write_text("a write cut short")
    RunFolder(tmp_path / "run", GAME)
    assert (tmp_path / "run" / ".env").exists()
    assert not any((tmp_path / "run" / "best").iterdir())


def test_a_run_that_has_lost_its_state_is_not_taken_for_a_new_one(tmp_path):
    trainer = make_trainer(tmp_path, gate="none")
    for _ in range(3):
        trainer.iterate()
    trainer.folder.close()
    (tmp_path / "state.json").unlink()
    with pytest.raises(RunError, match=r"no state\.json"):
        RunFolder(tmp_path, GAME)
    assert (tmp_path / "snapshots" / "000003" / "model.safetensors").exists()


def test_best_is_brought_up_to_date_at_the_next_start(tmp_path):
    trainer = make_trainer(tmp_path, gate="none")
    trainer.iterate()
    trainer.iterate()
    trainer.folder.close()
    shown = tmp_path / "best" / "model.safetensors"
    latest = shown.read_bytes()
    shown.write_bytes(b"as it was before")
    RunFolder(tmp_path, GAME)
    assert shown.read_bytes() == latest


def test_a_caller_that_stops_at_the_first_of_two_answers_is_not_kept_waiting():
    from alphazero.training.crew import Answer

    class Twins(InlineCrew):
        size = 2

        def __init__(self):
            self.asked = 0

        def present(self):
            return [0, 1]

        def submit(self, worker, task):
            self.asked += 1

        def collect(self):
            assert self.asked == 2, "nothing is under way any more"
            self.asked = 0
            return [Answer(0, "one"), Answer(1, "two")]

    results = run_tasks(Twins(), iter([Task("play", ()), Task("play", ())]), print)
    assert next(results)[1] == "one"
    results.close()


def test_a_wrong_anchor_is_told_at_the_start(tmp_path):
    result = train(tmp_path, anchors="nonsense")
    assert result.returncode == 2
    assert "nonsense" in result.stderr
    assert "Traceback" not in result.stderr


def test_shard_numbers_never_go_back(tmp_path):
    trainer = make_trainer(tmp_path)
    trainer.iterate()
    first = trainer.folder.state.first_shard
    trainer.replay.shards[-1].path.write_bytes(b"rubbish")
    trainer.folder.close()
    assert make_trainer(tmp_path).replay.next_number == first


def test_another_size_of_network_needs_another_run(tmp_path):
    trainer = make_trainer(tmp_path)
    trainer.iterate()
    with pytest.raises(RunError, match="another size"):
        trainer.folder.settings(tiny(channels=16))


def test_lost_workers_are_replaced_and_their_tasks_done(tmp_path):
    settings = tiny(workers=2)
    crew = LocalCrew(GAME, settings, 2, [0])
    network = make_trainer(tmp_path)._network(Checkpoint.fresh(GAME, settings.network(GAME.network)).weights)
    warnings = []
    try:
        done = []
        tasks = iter([Task("play", (network, 30, 8), label=number) for number in range(8)])
        for task, played in run_tasks(crew, tasks, warnings.append):
            done.append(task.label)
            assert played.samples.games >= 30
            if len(done) == 2:
                for pid in crew.pids():
                    os.kill(pid, signal.SIGKILL)
        assert sorted(done) == list(range(8))
        assert warnings
        assert "was lost" in warnings[0]
    finally:
        crew.close()


def test_a_workers_own_error_comes_back_with_its_traceback(tmp_path):
    crew = LocalCrew(GAME, tiny(), 1, [0])
    try:
        with pytest.raises(WorkerFailed, match="AttributeError"):
            list(run_tasks(crew, iter([Task("fly", ())]), print))
    finally:
        crew.close()


def digest(folder):
    files = [*folder.glob("snapshots/*/model.safetensors"), *folder.glob("learner/*.safetensors")]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_games_and_matches_are_computed_in_the_precision_asked_for(tmp_path):
    trainer = make_trainer(tmp_path / "run", precision="int8", iterations=2)
    trainer.run(2)
    assert trainer.folder.metrics()[1]["gate"]["games"] > 0
    engine = trainer.crew.worker._engine[1]
    evaluators = [trainer.crew.worker._evaluator_of(trainer._network(trainer.best.weights))]
    evaluators += [model.make_evaluator() for model in trainer.crew.worker._models.values()]
    assert engine is not None
    assert {evaluator.name for evaluator in evaluators} == {"openvino int8"}


@pytest.mark.slow
def test_one_worker_and_a_seed_give_the_same_weights_twice(tmp_path):
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        result = train(tmp_path / name, iterations=3, seed=seed, gate="none")
        assert result.returncode == 0, result.stderr
    one, two, three = (digest(tmp_path / name) for name in ("one", "two", "three"))
    assert len(one) >= 3
    assert one == two
    assert one != three


def test_ctrl_c_waits_for_a_safe_point_and_a_second_one_does_not():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interrupts_at_safe_points():
            safe_point()
            signal.raise_signal(signal.SIGINT)  # as inside a callback of compiled code, where raising would be lost
            with pytest.raises(KeyboardInterrupt):
                safe_point()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_ctrl_c_ends_cleanly_and_leaves_nobody_behind(tmp_path):
    process = subprocess.Popen(
        train_command(tmp_path, iterations=10_000, gate="none"),
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background with Ctrl-C ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for(lambda: (tmp_path / "metrics.jsonl").exists(), process)
    children = [int(pid) for pid in _children(process.pid)]
    assert children
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in errors
    assert "Traceback" not in errors
    wait_for(lambda: not any(_alive(pid) for pid in children))
    assert RunFolder(tmp_path, GAME).state.iteration >= 1


def _children(pid):
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True).stdout.split()
    return [child for child in found if _alive(int(child))]


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, process=None, seconds=120):
    """For tests that watch another process; the limit only ends a test that hangs."""
    end = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.mark.slow
def test_twenty_kills_at_random_moments_lose_at_most_the_games_in_flight(tmp_path):
    """kill -9 at random, a third of them while a file is being written; the same command goes on every time."""
    rng = np.random.default_rng(0)
    command = train_command(tmp_path, iterations=10_000, gate="none", games=30)
    iterations, committed = 0, set()
    kills = 0
    while kills < 21:
        process = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True)
        before = _shards(tmp_path)
        # Right after the first new file, so that every run gets to write something.
        wait_for(lambda before=before: _shards(tmp_path) - before, process)
        if kills % 3 == 0:
            wait_for(lambda: any(tmp_path.rglob(".*.safetensors.*")) or any(tmp_path.glob(".*.json*")), process)
        else:
            time.sleep(float(rng.uniform(0, 0.6)))
        process.kill()
        process.wait()
        kills += 1
        shards = _shards(tmp_path)
        assert committed <= shards, "games that were on disk have gone"
        committed = shards
        state = _state(tmp_path)
        assert state.iteration >= iterations
        iterations = state.iteration
    result = train(tmp_path, iterations=iterations + 2, gate="none", games=30)
    assert result.returncode == 0, result.stderr
    assert "set aside" not in (tmp_path / "log.txt").read_text()
    lines = metrics(tmp_path)
    assert [line["iteration"] for line in lines] == list(range(1, iterations + 3))
    assert all(line["new_games"] >= 30 for line in lines)
    load_player(tmp_path / "best", simulations=4)
    assert not any(tmp_path.rglob(".*.safetensors.*"))


def _shards(folder):
    return {path.name for path in folder.glob("replay/*.safetensors")}


def _state(folder):
    path = folder / "state.json"
    return State(**json.loads(path.read_text())) if path.exists() else State("tictactoe")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain_reaction", "gomoku"])
def test_two_tiny_iterations_with_a_resume_between(tmp_path, name):
    tiny_run = {"games": 20, "gate_pairs": 2, "gate_simulations": 4, "gate": "none"}
    for iterations in (1, 2):
        result = train(tmp_path, name, iterations=iterations, **tiny_run)
        assert result.returncode == 0, result.stderr
    second = metrics(tmp_path)[1]
    assert second["games"] >= 40
    assert second["window_games"] == second["games"]
    assert np.isfinite([second["policy_loss"], second["value_loss"]]).all()
    result = load_player(tmp_path / "best", simulations=16).search(get_game(name).start())
    assert result.simulations == 16
    done = train(tmp_path, name, iterations=2, **tiny_run)
    assert done.returncode == 0
    assert "are done" in done.stderr
