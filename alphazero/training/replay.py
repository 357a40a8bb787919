"""The replay: games on disk, one shard after another, and the window of them that the learner draws from.

The window is a ring of columns with a fixed number of places, so memory is bounded whatever the games' length:
`window_mb`, 1024 MB by default (at most 50,000 games; a Gomoku sample takes 255 bytes, one of Chain Reaction 87).
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from alphazero.game import Game
from alphazero.training.samples import NAME, PER_SAMPLE, DamagedShard, Samples, column_types, read_shard, write_shard

HELD_OUT_SAMPLES = 4096  # the latest held-out samples are enough to measure on


class Window:
    """A ring of samples, oldest out first, for at most so many games and so many bytes."""

    def __init__(self, game: Game, megabytes: int):
        types = {name: column_types(game)[name] for name in PER_SAMPLE}
        row = sum(np.dtype(kind).itemsize * int(np.prod(shape, dtype=int)) for kind, shape in types.values())
        self.capacity = max(1, (megabytes << 20) // row)
        # np.empty takes address space; memory is used as the ring fills.
        self._columns = {name: np.empty((self.capacity, *shape), kind) for name, (kind, shape) in types.items()}
        self._shards: deque[tuple[int, int]] = deque()  # (games, samples) of each, oldest first
        self._first = 0
        self.games = 0
        self.samples = 0

    def add(self, samples: dict[str, np.ndarray], games: int) -> None:
        count = len(samples["outcome"])
        if count > self.capacity:
            samples = {name: column[-self.capacity :] for name, column in samples.items()}
            count = self.capacity
        while self.samples + count > self.capacity:
            self._drop()
        places = (self._first + self.samples + np.arange(count)) % self.capacity
        for name, column in samples.items():
            self._columns[name][places] = column
        self._shards.append((games, count))
        self.games += games
        self.samples += count

    def keep(self, games: int) -> None:
        """Let the oldest shards go until no more than so many games are left; the latest shard always stays."""
        while len(self._shards) > 1 and self.games > games:
            self._drop()

    def _drop(self) -> None:
        games, count = self._shards.popleft()
        self._first = (self._first + count) % self.capacity
        self.games -= games
        self.samples -= count

    def take(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Samples by their number, 0 the oldest."""
        places = (self._first + numbers) % self.capacity
        return {name: column[places] for name, column in self._columns.items()}


@dataclass(frozen=True)
class ShardInfo:
    """What a shard's name tells."""

    path: Path
    number: int
    games: int
    samples: int


class Replay:
    """The shard files of one run."""

    def __init__(self, folder: Path, game: Game, warn: Callable[[str], None], first: int = 1):
        self.folder = folder
        self.game = game
        self._warn = warn
        self._first = first  # numbers never go back below it, whatever shards were set aside
        folder.mkdir(parents=True, exist_ok=True)
        self.shards = sorted(filter(None, map(_info, folder.iterdir())), key=lambda shard: shard.number)

    @property
    def next_number(self) -> int:
        return max(self._first, self.shards[-1].number + 1 if self.shards else 1)

    def append(self, samples: Samples) -> ShardInfo:
        info = _info(write_shard(self.folder, self.next_number, samples))
        assert info is not None
        self.shards.append(info)
        return info

    def read(self, shard: ShardInfo) -> Samples | None:
        """A shard's samples; None if it is damaged, and then it is set aside."""
        try:
            return read_shard(shard.path, self.game)
        except FileNotFoundError:
            self._warn(f"replay: {shard.path.name} has gone; going on without it")
        except (DamagedShard, OSError) as error:
            aside = self.folder / "damaged"
            aside.mkdir(exist_ok=True)
            shard.path.replace(aside / shard.path.name)
            self._warn(f"replay: {shard.path.name} was set aside in {aside}: {error}")
        self.shards.remove(shard)
        return None

    def forget_before(self, number: int) -> None:
        """Remove the files of shards that no window will ask for again."""
        for shard in [shard for shard in self.shards if shard.number < number]:
            shard.path.unlink(missing_ok=True)
            self.shards.remove(shard)


class LearningData:
    """The window to learn from and the latest held-out samples, fed shard by shard."""

    def __init__(self, game: Game, megabytes: int, held_out: float):
        self.window = Window(game, megabytes)
        self.held_out = Window(game, 16)
        self._fraction = held_out

    def add(self, number: int, samples: Samples) -> int:
        """Take in shard `number`; how many samples came into the window. Whole games are held out."""
        draws = np.array([zlib.crc32(f"{number}/{game}".encode()) / 2**32 for game in range(samples.games)])
        held = draws < self._fraction
        apart = held[samples.game]
        if held.any():
            self.held_out.add(samples.take(apart), int(held.sum()))
        self.window.add(samples.take(~apart), samples.games)  # held-out games count, or the window would reach further
        return int((~apart).sum())

    def held_out_samples(self) -> dict[str, np.ndarray] | None:
        count = self.held_out.samples
        if count == 0:
            return None
        return self.held_out.take(np.arange(max(0, count - HELD_OUT_SAMPLES), count))


def _info(path: Path) -> ShardInfo | None:
    match = NAME.fullmatch(path.name)
    return ShardInfo(path, int(match[1]), int(match[2]), int(match[3])) if match and path.is_file() else None
