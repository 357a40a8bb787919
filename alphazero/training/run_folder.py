"""The folder of a training run: what is in it, and how it survives a kill at any instant.

    settings.json     all settings
    state.json        where the run stands; names the files below that belong to it
    metrics.jsonl     one line an iteration
    log.txt           what happened, with times
    replay/           games, shard by shard
    learner/          optimiser and weights to go on from, by iteration
    snapshots/        every network that became the best, by iteration: checkpoint folders
    best/             a copy of the latest, for players

Everything but state.json is written under a new name, whole, before state.json (replaced in one step) speaks of it.
Whatever a killed run had written beyond that is removed or written again.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from alphazero.checkpoint import Checkpoint, write_atomically
from alphazero.game import Game
from alphazero.train_settings import TrainSettings
from alphazero.training import TrainingError
from alphazero.training.replay import Replay
from alphazero.training.samples import DamagedShard, read_shard

FORMAT = 1
# What a run folder holds, names without their endings.
OURS = {"settings", "state", "metrics", "log", "lock", "replay", "learner", "snapshots", "best", "report"}


class RunError(TrainingError):
    """A run folder that can't be used or written; the message says what to do."""


@dataclass(frozen=True)
class State:
    """Where a run stands after a whole iteration. Paths are relative to the folder."""

    game: str
    iteration: int = 0  # finished ones
    first_shard: int = 1  # where the games of the next iteration begin
    new_samples: int = 0  # that the last iteration brought to learn from
    games: int = 0
    brought_games: int = 0  # of them, those that came from another run
    best: str | None = None
    learner: str | None = None
    best_learner: str | None = None  # the learner as it was when the best was promoted
    refusals: int = 0  # in a row
    elo: float = 0.0  # of the best over the untrained network, as a sum of promotions
    cpu_seconds: float = 0.0
    format: int = field(default=FORMAT)


class RunFolder:
    def __init__(self, path: Path, game: Game):
        self.path = path
        self.game = game
        self._check_ours()
        for name in ("replay", "learner", "snapshots"):
            (path / name).mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock()
        self.state = self._read_state()
        self._check_whole()
        self._tidy()
        self.show_best()  # a kill right after a commit may have come before it

    def _check_ours(self) -> None:
        """Never begin in, let alone tidy up, a folder that holds something else."""
        if not self.path.exists() or (self.path / "state.json").exists() or (self.path / "settings.json").exists():
            return
        strange = sorted(
            entry.name for entry in self.path.iterdir() if entry.name.lstrip(".").split(".")[0] not in OURS
        )
        if strange:
            raise RunError(f"{self.path} is no run folder: it holds {strange[0]!r}; give an empty or new one (--run)")

    def _check_whole(self) -> None:
        """Without its state a run looks like a new one, and its snapshots like leftovers: better to stop."""
        if (self.path / "state.json").exists():
            return
        later = [path for path in self.path.glob("snapshots/*") if path.name.isdigit() and int(path.name) > 1]
        if later or len(self.metrics()) > 1:
            raise RunError(f"{self.path} holds a run but no state.json; restore it, or begin another run (--run)")

    # -- opening ------------------------------------------------------------------------------------------------------

    def _take_lock(self) -> IO[str]:
        """Two trainers in one folder would destroy it. The lock goes with the process, however that ends."""
        file = open(self.path / "lock", "a")  # noqa: SIM115 - held for as long as the run
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks on this system
            pass
        except OSError:
            file.close()
            raise RunError(f"another training runs in {self.path}; give this one another folder (--run)") from None
        return file

    def _read_state(self) -> State:
        path = self.path / "state.json"
        if not path.exists():
            return State(self.game.name)
        try:
            state = State(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError, OSError) as error:
            raise RunError(f"{path} can't be read ({error}); restore it, or begin another run (--run)") from None
        if state.format != FORMAT or state.game != self.game.name:
            raise RunError(f"{path} is of a run of {state.game}, format {state.format}; give another folder (--run)")
        return state

    def _tidy(self) -> None:
        """Remove what a killed run left behind, and lines of metrics that its state does not know of."""
        for pattern in (".*.json*.*", "replay/.*", "learner/.*", "best/.*", "snapshots/*/.*"):
            for leftover in list(self.path.glob(pattern)):  # temporary files of writes that were cut short
                leftover.unlink()
        for snapshot in self.path.glob("snapshots/*"):
            if snapshot.name.isdigit() and int(snapshot.name) > self.state.iteration:
                shutil.rmtree(snapshot)
        self._forget_learners()
        lines = [line for line in self.metrics() if line["iteration"] <= self.state.iteration]
        if lines or self.metrics_path.exists():
            self._write_metrics(lines)

    def settings(self, given: TrainSettings | None) -> TrainSettings:
        """Check the settings against those of the run and write them; `given` None means as before."""
        path = self.path / "settings.json"
        if path.exists():
            try:
                before = TrainSettings.from_dict(json.loads(path.read_text("utf-8")))
            except (ValueError, TypeError) as error:
                raise RunError(f"{path}: {error}") from None
            given = given or before
            if self.state.iteration and before.network(self.game.network) != given.network(self.game.network):
                raise RunError(
                    f"the run in {self.path} trains a network of another size (channels {before.channels}, blocks "
                    f"{before.blocks}); a new size needs a new run (--run)"
                )
            for name, value in vars(given).items():
                if getattr(before, name) != value:
                    self.log(f"setting {name}: {getattr(before, name)} -> {value}")
        given = given or self.game.training
        write(path, json.dumps(asdict(given), indent=2) + "\n")
        return given

    def start_from(self, checkpoint: Checkpoint) -> None:
        """Begin a new run with a network that has learnt already."""
        if self.state.iteration or self.state.best:
            raise RunError(f"the run in {self.path} has begun already; --start-from needs a new one (--run)")
        elo = checkpoint.training.get("elo_over_untrained", 0.0)
        self.state = replace(self.state, best=self.save_snapshot(0, checkpoint), elo=elo)
        self._write_state()
        self.show_best()

    def bring_games(self, run: Path, warn: Callable[[str], None]) -> None:
        """Begin a new run with the games of another one, to be learnt from at once; that run may still be going."""
        if self.state.iteration or self.state.games:
            raise RunError(f"the run in {self.path} has begun already; --games-from needs a new one (--run)")
        if not (run / "replay").is_dir():
            raise RunError(f"{run} is no run folder: it has no replay to bring games from")
        for shard in Replay(run / "replay", self.game, warn).shards:
            try:
                content = shard.path.read_bytes()
                read_shard(shard.path, self.game)
            except (DamagedShard, OSError) as error:  # theirs to set aside, or gone since
                warn(f"replay: {shard.path} was left out: {error}")
                continue
            with clear_errors(self.path / "replay"):
                write_atomically(self.path / "replay" / shard.path.name, content)
        ours = Replay(self.path / "replay", self.game, warn)
        if not ours.shards:
            raise RunError(f"{run / 'replay'} holds no games of {self.game.title} to learn from")
        brought = sum(shard.games for shard in ours.shards)
        self.state = replace(
            self.state,
            first_shard=ours.next_number,
            games=brought,
            brought_games=brought,
            new_samples=sum(shard.samples for shard in ours.shards),
        )
        self._write_state()

    # -- committing ---------------------------------------------------------------------------------------------------

    def commit(self, metrics: dict[str, Any], **changes: Any) -> None:
        """Make an iteration last: its line of metrics, then the state that knows of it."""
        self._write_metrics([*self.metrics(), metrics])
        self.state = replace(self.state, iteration=self.state.iteration + 1, **changes)
        self._write_state()
        self._forget_learners()

    def _write_state(self) -> None:
        write(self.path / "state.json", json.dumps(asdict(self.state), indent=2) + "\n")

    def _forget_learners(self) -> None:
        used = {self.state.learner, self.state.best_learner}
        for path in self.path.glob("learner/*.safetensors"):
            if f"learner/{path.name}" not in used:
                path.unlink()

    def learner_path(self, iteration: int) -> str:
        return f"learner/{iteration:06d}.safetensors"

    def save_snapshot(self, iteration: int, checkpoint: Checkpoint) -> str:
        name = f"snapshots/{iteration:06d}"
        with clear_errors(self.path / name):
            checkpoint.save(self.path / name)
        return name

    def show_best(self) -> None:
        """Bring best/ up to date; nothing depends on it, so a kill between its two files only means to do it again."""
        if self.state.best is not None:
            with clear_errors(self.path / "best"):
                (self.path / "best").mkdir(exist_ok=True)
                for file in (self.path / self.state.best).iterdir():
                    write_atomically(self.path / "best" / file.name, file.read_bytes())

    # -- metrics and log ----------------------------------------------------------------------------------------------

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

    def metrics(self) -> list[dict[str, Any]]:
        return read_metrics(self.metrics_path)

    def _write_metrics(self, lines: list[dict[str, Any]]) -> None:
        write(self.metrics_path, "".join(json.dumps(line) + "\n" for line in lines))

    def log(self, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n"
        try:
            with open(self.path / "log.txt", "a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:  # a log that can't be written must not be what ends a run
            print(f"log.txt can't be written: {error}", file=sys.stderr)

    def close(self) -> None:
        self._lock.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file; a broken last line (somebody else's copy, cut short) is left out."""
    lines = []
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
    return lines


def write(path: Path, text: str) -> None:
    with clear_errors(path):
        write_atomically(path, text.encode())


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what a disk can do to us into a sentence. What was saved before is untouched."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            free = shutil.disk_usage(path.parent if path.parent.exists() else os.curdir).free >> 20
            raise RunError(
                f"the disk is full ({free} MB free): {path} could not be written. Nothing saved before is harmed; "
                "free some space and run the same command again."
            ) from None
        raise RunError(f"{path} could not be written: {error.strerror or error}") from None
