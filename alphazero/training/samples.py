"""Samples: what self-play hands to the learner, as columns; and the files they are kept in.

A shard file is a safetensors file of the columns. Its name carries its place in the sequence, its counts and a digest
of its content, so a damaged one is found out when it is read: `00000012-50g-1234s-<digest>.safetensors`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors
from safetensors.numpy import load, save

from alphazero.checkpoint import write_atomically
from alphazero.game import Game
from alphazero.kernel import bind

NAME = re.compile(r"(\d{8})-(\d+)g-(\d+)s-([0-9a-f]{16})\.safetensors")


@dataclass(frozen=True, eq=False)
class Samples:
    """n samples of g whole games, in the order of play. Both values are value_to_move of the sample's position."""

    cells: np.ndarray  # int8 [n, cells]
    to_move: np.ndarray  # int8 [n]
    last: np.ndarray  # int16 [n], -1 before the first move
    ply: np.ndarray  # int16 [n], moves made before
    policy: np.ndarray  # float16 [n, actions], sums to about 1 over legal moves
    outcome: np.ndarray  # int8 [n], z: 1 won, 0 drawn, -1 lost
    search_value: np.ndarray  # float32 [n], q
    game: np.ndarray  # int32 [n], which of the g games
    plies: np.ndarray  # int16 [g], length of each game, random opening included
    winner: np.ndarray  # int8 [g]

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def games(self) -> int:
        return len(self.winner)

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        columns: dict[str, Any] = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)
        }
        before = np.cumsum([0, *(part.games for part in parts[:-1])])
        shifts = np.repeat(before, [len(part) for part in parts])
        columns["game"] = (columns["game"] + shifts).astype(np.int32)
        return cls(**columns)

    def take(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        """The per-sample columns of some samples, by mask or index."""
        return {name: getattr(self, name)[chosen] for name in PER_SAMPLE}


PER_SAMPLE = ("cells", "to_move", "last", "ply", "policy", "outcome", "search_value")


def column_types(game: Game) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Column -> (type, shape of one row)."""
    return {
        "cells": (np.int8, (game.num_actions,)),
        "to_move": (np.int8, ()),
        "last": (np.int16, ()),
        "ply": (np.int16, ()),
        "policy": (np.float16, (game.num_actions,)),
        "outcome": (np.int8, ()),
        "search_value": (np.float32, ()),
        "game": (np.int32, ()),
        "plies": (np.int16, ()),
        "winner": (np.int8, ()),
    }


class DamagedShard(Exception):
    """A replay file that can't be trusted; the message says why."""


def write_shard(folder: Path, number: int, samples: Samples) -> Path:
    blob = save({field.name: np.ascontiguousarray(getattr(samples, field.name)) for field in fields(samples)})
    digest = hashlib.sha256(blob).hexdigest()[:16]
    path = folder / f"{number:08d}-{samples.games}g-{len(samples)}s-{digest}.safetensors"
    write_atomically(path, blob)
    return path


def read_shard(path: Path, game: Game) -> Samples:
    """The samples of one file, checked; DamagedShard if anything is wrong with it."""
    match = NAME.fullmatch(path.name)
    if match is None:
        raise DamagedShard("it is not named as a shard")
    blob = path.read_bytes()
    if hashlib.sha256(blob).hexdigest()[:16] != match[4]:
        raise DamagedShard("its content is not what was written (the digest differs)")
    try:
        samples = Samples(**load(blob))
    except (safetensors.SafetensorError, ValueError, TypeError, KeyError) as error:
        raise DamagedShard(f"it can't be read ({error})") from None
    _check(samples, game)
    return samples


def _check(samples: Samples, game: Game) -> None:
    games, count = samples.games, len(samples)
    for name, (kind, row) in column_types(game).items():
        column = getattr(samples, name)
        rows = games if name in ("plies", "winner") else count
        if column.dtype != kind or column.shape != (rows, *row):
            raise DamagedShard(f"{name} is {column.dtype} {list(column.shape)}")
    sums = samples.policy.astype(np.float32).sum(1)
    if not (np.isfinite(samples.search_value).all() and np.isfinite(sums).all() and (abs(sums - 1) < 0.05).all()):
        raise DamagedShard("it holds numbers that are none")


# -- from samples to what the network is trained on ------------------------------------------------------------------

rules_encode: Any = None


def _encode_batch(cells, to_move, last, policy, tables, symmetry, planes, targets):
    """Write samples, each seen through its symmetry, as planes [n, planes, cells] and policy targets [n, actions]."""
    turned = np.zeros(cells.shape[1], np.int16)
    for i in range(cells.shape[0]):
        table = tables[symmetry[i]]
        total = np.float32(0.0)
        for cell in range(turned.size):
            turned[table[cell]] = cells[i, cell]
            targets[i, table[cell]] = policy[i, cell]
            total += targets[i, table[cell]]
        targets[i] /= total
        planes[i] = 0.0
        rules_encode(turned, to_move[i], table[last[i]] if last[i] >= 0 else -1, planes[i])


@lru_cache(maxsize=64)
def _compile(game: Game) -> Any:
    return bind([_encode_batch], {"rules_encode": game.encode}, game.name)["encode_batch"]


def encode_batch(game: Game, columns: dict[str, np.ndarray], symmetry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(planes float32 [n, planes, rows, cols], policy float32 [n, actions]) under the given symmetries int [n]."""
    count = len(columns["outcome"])
    planes = np.zeros((count, game.network.planes, game.num_actions), np.float32)
    targets = np.zeros((count, game.num_actions), np.float32)
    policy = columns["policy"].astype(np.float32)  # Numba has no half precision
    _compile(game)(
        columns["cells"], columns["to_move"], columns["last"], policy, game.symmetries, symmetry, planes, targets
    )
    return planes.reshape(count, -1, game.rows, game.cols), targets
