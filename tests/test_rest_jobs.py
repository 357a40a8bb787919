"""Training over REST: off by default, a token, one at a time, what comes of it; nothing outlives the server."""

import json
import sys
import time
from dataclasses import asdict

import pytest

from alphazero import get_game
from alphazero.train_settings import TrainSettings
from tests.rest_client import api, ask, error
from web.jobs import Jobs, TrainingBusy

TOKEN = "a token that is hard to guess"
BEARER = {"authorization": f"Bearer {TOKEN}"}

# Stands in for `python -m alphazero`: says its arguments, counts like a training, writes its line of metrics.
FAKE = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--run") + 1])
print("iteration 3  learn ██░░ 1/2  self-play ███░ 3/4  0:30 gone", file=sys.stderr, flush=True)
{what}
folder.mkdir(parents=True, exist_ok=True)
line = dict(iteration=3, policy_loss=1.5, value_loss=0.25, win_rate=0.6, elo_change=70.4, promoted=True)
(folder / "metrics.jsonl").write_text(json.dumps(line) + chr(10))
(folder / "arguments").write_text(json.dumps(sys.argv))
"""


def fake(runs, what="", **options):
    (runs / "tictactoe").mkdir(exist_ok=True)
    (runs / "tictactoe" / "state.json").write_text(json.dumps({"iteration": 2}))
    return Jobs(runs, program=(sys.executable, "-c", FAKE.replace("{what}", what)), **options)


def wait(until):
    for _ in range(6000):
        if until():
            return
        time.sleep(0.02)
    pytest.fail("it never came")


def finished(job):
    wait(lambda: job.status != "running" and job.seconds is not None)
    return job.as_dict()


# -- over REST --------------------------------------------------------------------------------------------------------


def test_training_is_off_by_default():
    assert error(ask(api("tictactoe"), "POST", "/tictactoe/train", headers=BEARER)) == (403, "training_off", None)


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": ""}, {"authorization": TOKEN}, {"authorization": "Bearer"}, {"authorization": "Bearer x"},
     {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer \xff\xfe".encode("latin-1")}],
)  # fmt: skip
def test_a_missing_or_wrong_token_is_401(headers, tmp_path):
    rest = api("tictactoe", training_token=TOKEN, runs=tmp_path)
    refused = ask(rest, "POST", "/tictactoe/train", headers=headers)
    assert error(refused) == (401, "wrong_token", None)
    assert refused.headers["www-authenticate"] == "Bearer"
    assert list(tmp_path.iterdir()) == []


def test_a_job_takes_no_fields(tmp_path):
    rest = api("tictactoe", training_token=TOKEN, runs=tmp_path)
    refused = ask(rest, "POST", "/tictactoe/train", headers=BEARER, json={"iterations": 500})
    assert error(refused) == (400, "unknown_field", "iterations")


@pytest.mark.slow
def test_an_iteration_over_rest(tmp_path):
    """The real thing, with a small run: the second iteration, which has games to learn from."""
    small = TrainSettings(
        iterations=5, games=8, workers=1, parallel=8, channels=4, blocks=1, simulations=4, simulations_end=4,
        candidates=4, batch=16, shard_games=4, gate_pairs=1, gate_simulations=2, gate="none", anchor_every=0,
    )  # fmt: skip
    (tmp_path / "tictactoe").mkdir()
    (tmp_path / "tictactoe" / "settings.json").write_text(json.dumps(asdict(small)))
    rest = api("tictactoe", training_token=TOKEN, runs=tmp_path)
    for iteration in (1, 2):
        asked = ask(rest, "POST", "/tictactoe/train", headers=BEARER)
        assert asked.status_code == 202
        job = asked.json()
        assert (job["status"], job["iteration"], job["game"]) == ("running", iteration, "tictactoe")
        if iteration == 1:
            busy = ask(rest, "POST", "/tictactoe/train", headers=BEARER, json={})
            assert error(busy) == (409, "training_busy", None)
        wait(lambda path=f"/jobs/{job['id']}": ask(rest, "GET", path).json()["status"] != "running")
        done = ask(rest, "GET", f"/jobs/{job['id']}").json()
        assert (done["status"], done["progress"]) == ("done", 1.0), done
    assert done["loss"] > 0
    assert 0 <= done["winRate"] <= 1
    assert isinstance(done["eloChange"], float)
    kept = json.loads((tmp_path / "tictactoe" / "settings.json").read_text())
    assert kept["iterations"] == 5, "the plan stays, and the schedules with it"


# -- the jobs themselves ----------------------------------------------------------------------------------------------


def test_what_a_job_reached_comes_from_the_metrics(tmp_path):
    done = finished(fake(tmp_path).start(get_game("tictactoe")))
    assert (done["status"], done["iteration"], done["progress"]) == ("done", 3, 1.0)
    assert (done["loss"], done["winRate"], done["eloChange"], done["promoted"]) == (1.75, 0.6, 70.4, True)


def test_the_plan_is_kept_until_it_is_reached(tmp_path):
    def arguments(planned):
        (tmp_path / "tictactoe").mkdir(exist_ok=True)
        (tmp_path / "tictactoe" / "settings.json").write_text(json.dumps({"iterations": planned}))
        finished(fake(tmp_path).start(get_game("tictactoe")))
        return json.loads((tmp_path / "tictactoe" / "arguments").read_text())[1:]

    assert arguments(60)[2:] == ["--run", str(tmp_path / "tictactoe"), "--at-most", "1"]
    assert arguments(2)[-2:] == ["--iterations", "3"]


def test_progress_is_read_from_what_it_says(tmp_path):
    jobs = fake(tmp_path, "time.sleep(60)")
    job = jobs.start(get_game("tictactoe"))
    wait(lambda: job.progress)
    assert job.progress == 0.5
    assert job.as_dict()["message"] == "iteration 3 learn 1/2 self-play 3/4 0:30 gone"
    jobs.close()


def test_a_failure_says_why_and_names_no_folder_of_the_machine(tmp_path):
    jobs = fake(tmp_path, "sys.exit(f'another training runs in {folder}')")
    failed = finished(jobs.start(get_game("tictactoe")))
    assert (failed["status"], failed["message"]) == ("failed", "another training runs in tictactoe")
    jobs.start(get_game("tictactoe"))  # and the next may try
    jobs.close()


def test_nothing_outlives_the_server(tmp_path):
    jobs = fake(tmp_path, "time.sleep(600)")
    job = jobs.start(get_game("tictactoe"))
    process = jobs._running[1]
    with pytest.raises(TrainingBusy):
        jobs.start(get_game("tictactoe"))
    jobs.close()
    assert finished(job)["status"] == "cancelled"
    assert process.poll() is not None
    with pytest.raises(TrainingBusy):
        jobs.start(get_game("tictactoe"))


def test_old_jobs_are_forgotten_and_ids_can_not_be_guessed(tmp_path):
    jobs = fake(tmp_path, keep=2)
    ids = []
    for _ in range(3):
        job = jobs.start(get_game("tictactoe"))
        ids.append(job.id)
        finished(job)
        wait(lambda: jobs._running is None)
    assert [jobs.get(name) is not None for name in ids] == [False, True, True]
    assert all(len(name) >= 20 for name in ids)
