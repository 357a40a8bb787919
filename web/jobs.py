"""Training jobs: one iteration of a run, in a process of its own, asked for over REST and stopped with the server.

The process is `python -m alphazero train GAME --run FOLDER --at-most 1`: the run goes on where it stands, keeps its
plan, and survives being stopped at any instant. What it reached is read from the run's metrics.jsonl.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alphazero import Game

PROJECT = Path(__file__).resolve().parent.parent
COUNTER = re.compile(r"(\d+)/(\d+)")
STOP_SECONDS = 5.0  # between asking a training to stop and ending it


class TrainingBusy(Exception):
    """A job is running already, or the server is closing."""


@dataclass(eq=False)
class Job:
    """One iteration of training, from its start to what it reached."""

    id: str
    game: str
    folder: Path
    iteration: int
    started: float = field(default_factory=time.monotonic)
    status: str = "running"
    progress: float = 0.0
    message: str = "starting"
    seconds: float | None = None  # once it has ended
    result: dict[str, Any] = field(default_factory=dict)  # its line of metrics

    def as_dict(self) -> dict[str, Any]:
        policy, value = (_number(self.result.get(name)) for name in ("policy_loss", "value_loss"))
        promoted = self.result.get("promoted")
        return {
            "id": self.id,
            "game": self.game,
            "status": self.status,
            "progress": self.progress,
            "message": self.message,
            "seconds": round(time.monotonic() - self.started if self.seconds is None else self.seconds, 1),
            "iteration": self.iteration,
            "loss": None if policy is None or value is None else policy + value,
            "winRate": _number(self.result.get("win_rate")),
            "eloChange": _number(self.result.get("elo_change")),
            "promoted": promoted if isinstance(promoted, bool) else None,
        }


class Jobs:
    """Thread-safe. One job runs at a time; the latest `keep` are remembered, by ids that nobody can guess."""

    def __init__(self, runs: Path, *, keep: int = 32, program: Sequence[str] = (sys.executable, "-m", "alphazero")):
        self._runs = runs
        self._keep = keep
        self._program = tuple(program)
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._running: tuple[Job, subprocess.Popen[str]] | None = None
        self._closed = False

    def start(self, game: Game) -> Job:
        """Begin the next iteration of the game's run; TrainingBusy if one is under way."""
        with self._lock:
            if self._closed:
                raise TrainingBusy("The server is closing.")
            if self._running is not None:
                raise TrainingBusy(f"A training of {self._running[0].game} is running; wait until it is done.")
            folder = self._runs.resolve() / game.name
            done = _read_number(folder / "state.json", "iteration", 0)
            planned = _read_number(folder / "settings.json", "iterations", game.training.iterations)
            # A run that has reached its plan goes on by one; otherwise the plan, and the schedules with it, stay.
            further = ["--iterations", str(done + 1)] if done >= planned else []
            process = subprocess.Popen(
                [*_nice(), *self._program, "train", game.name, "--run", str(folder), "--at-most", "1", *further],
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # so that its workers can be stopped with it
            )
            job = Job(secrets.token_urlsafe(16), game.name, folder, done + 1)
            self._jobs[job.id] = job
            while len(self._jobs) > self._keep:
                self._jobs.popitem(last=False)
            self._running = job, process
        atexit.register(self.close)
        threading.Thread(target=self._follow, args=(job, process), name="training-job", daemon=True).start()
        return job

    def get(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def close(self) -> None:
        """Stop what runs and take no more."""
        with self._lock:
            self._closed = True
            running = self._running
        if running is not None:
            job, process = running
            job.status = "cancelled"
            _stop(process)
        atexit.unregister(self.close)

    def _follow(self, job: Job, process: subprocess.Popen[str]) -> None:
        """Read what the process says until it ends, then what it has reached."""
        said: deque[str] = deque(maxlen=1)
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                if line.strip():
                    said.append(line.strip())
                    job.message = _plain(line)
                    job.progress = max(job.progress, _progress(line))
        code = process.wait()
        result = _metrics_line(job.folder / "metrics.jsonl", job.iteration)
        with self._lock:
            job.seconds = time.monotonic() - job.started
            self._running = None
            # The status last: whoever reads it may rely on the rest.
            if code == 0 and result is not None:
                job.result, job.progress, job.message = result, 1.0, f"iteration {job.iteration} is done"
                job.status = "done"
            elif job.status == "cancelled":
                job.message = "stopped with the server"
            else:
                job.message = _plain(said[-1]) if said else f"the training ended with code {code}"
                job.status = "failed"


def _nice() -> list[str]:
    """Those who play go first."""
    program = shutil.which("nice")
    return [program, "-n", "10"] if program else []


def _stop(process: subprocess.Popen[str]) -> None:
    for number, wait in ((signal.SIGINT, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        try:
            os.killpg(process.pid, number)
            process.wait(wait)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _plain(line: str) -> str:
    """A line for everybody's eyes: no bars, no paths of this machine, not at any length."""
    words = (Path(word).name if os.sep in word and Path(word).is_absolute() else word for word in line.split())
    return re.sub(r"[█░]+ ", "", " ".join(words))[:200]


def _progress(line: str) -> float:
    """How far the slowest counter of a progress line is."""
    if "█" not in line and "░" not in line:
        return 0.0
    parts = [int(done) / int(total) for done, total in COUNTER.findall(line) if int(total)]
    return min(1.0, min(parts, default=0.0))


def _read_number(path: Path, name: str, default: int) -> int:
    try:
        value = json.loads(path.read_text("utf-8"))[name]
    except (OSError, ValueError, KeyError, TypeError):
        return default  # no run yet; if it is broken, the training itself says so
    return value if type(value) is int else default


def _metrics_line(path: Path, iteration: int) -> dict[str, Any] | None:
    try:
        for text in reversed(path.read_text("utf-8").splitlines()):
            line = json.loads(text)
            if isinstance(line, dict) and line.get("iteration") == iteration:
                return line
    except (OSError, ValueError):
        pass
    return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
