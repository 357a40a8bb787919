"""Checkpoints: a folder with `config.json` and `model.safetensors`. Nothing is ever unpickled.

config.json holds all that is needed to rebuild the network: game, rules version, board, shape, and what the training
was. Whatever is wrong with a folder comes out as a CheckpointError, one sentence that names the file and the remedy.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import load, save

from alphazero.game import PROJECT, Game, UnknownGame, get_game
from alphazero.settings import NetworkShape, check_type, short
from alphazero.weights import expected_shapes, untrained

FORMAT = 1
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
CHECKPOINTS = PROJECT / "checkpoints"
MAX_CONFIG_BYTES = 1 << 20
MAX_WEIGHTS_BYTES = 1 << 28
CONFIG_KEYS = {"format", "game", "rules_version", "rows", "cols", "network", "weights_sha256", "training"}


class CheckpointError(Exception):
    """A checkpoint that can't be used; the message names the file and says what to do."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Weights of one network, the game it plays and how it came to be."""

    game: Game
    shape: NetworkShape
    weights: dict[str, np.ndarray]
    training: dict[str, Any] = field(default_factory=dict)  # what a reader wants to know: iterations, games, hours, ...
    source: str = "memory"

    @staticmethod
    def fresh(game: Game, shape: NetworkShape | None = None, seed: int = 0) -> Checkpoint:
        """An untrained network for this game."""
        check_type("game", game, Game)
        shape = shape or game.network
        return Checkpoint(game, shape, untrained(shape, seed), {"iterations": 0}, "untrained")

    def save(self, folder: Path | str) -> Path:
        """Write the folder. Each file appears whole or not at all; the weights' digest ties the two together."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        blob = save({name: np.ascontiguousarray(array, np.float32) for name, array in self.weights.items()})
        config = {
            "format": FORMAT,
            "game": self.game.name,
            "rules_version": self.game.rules_version,
            "rows": self.game.rows,
            "cols": self.game.cols,
            "network": asdict(self.shape),
            "weights_sha256": hashlib.sha256(blob).hexdigest(),
            "training": self.training,
        }
        write_atomically(folder / WEIGHTS, blob)
        write_atomically(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode())
        return folder


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash at any moment, sees the old content or the new, never a mixture."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_checkpoint(folder: Path | str, source: str | None = None) -> Checkpoint:
    """Read and check a checkpoint folder."""
    if not isinstance(folder, str | Path):
        raise CheckpointError(f"A checkpoint is a folder, given as text or Path, not {folder!r}.")
    folder = Path(folder)
    if not folder.is_dir():
        raise CheckpointError(
            f"There is no checkpoint folder {folder}; give another, or save a new network there with "
            '`Checkpoint.fresh(get_game("NAME")).save(FOLDER)`.'
        )
    config, game, shape = read_config(folder / CONFIG)
    weights = _read_weights(folder / WEIGHTS, shape, config["weights_sha256"])
    return Checkpoint(game, shape, weights, config["training"], source or str(folder))


def _read(path: Path, limit: int) -> bytes:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise CheckpointError(f"{path} can't be read (it is no plain file); copy the checkpoint folder again.")
        if size > limit:
            raise CheckpointError(f"{path} has {size} bytes, more than the {limit} allowed; is it the right file?")
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; copy the whole checkpoint folder again.") from None
    except OSError as error:
        raise CheckpointError(f"{path} can't be read ({error.strerror}); check its permissions.") from None


def read_config(path: Path) -> tuple[dict[str, Any], Game, NetworkShape]:
    """A checked config.json."""
    config = _read_json(path)
    return config, *_check_config(path, config)


def _read_json(path: Path) -> dict[str, Any]:
    blob = _read(path, MAX_CONFIG_BYTES)
    try:
        config = json.loads(blob)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is not valid JSON; copy it again from where it came from.") from None
    if not isinstance(config, dict):
        raise CheckpointError(f"{path} is not a JSON object; is it the config of another program?")
    return config


def _check_config(path: Path, config: dict[str, Any]) -> tuple[Game, NetworkShape]:
    missing = sorted(CONFIG_KEYS - set(config))
    if missing:
        raise CheckpointError(
            f"{path} has no {missing[0]!r}; is it the config of another program? Save it with `python -m alphazero`."
        )
    unknown = sorted(set(config) - CONFIG_KEYS)
    if unknown:
        raise CheckpointError(f"{path} has the unknown key {short(unknown[0])}; remove it or update this program.")
    for key in ("format", "rules_version", "rows", "cols"):
        if type(config[key]) is not int:
            raise CheckpointError(f"{path}: {key!r} must be a whole number, not {short(config[key])}; copy it again.")
    if config["format"] != FORMAT:
        raise CheckpointError(f"{path} is of format {config['format']}; this program reads format {FORMAT}.")
    if not isinstance(config["training"], dict) or not isinstance(config["network"], dict):
        raise CheckpointError(f"{path}: 'network' and 'training' must be JSON objects; copy the file again.")
    try:
        game = get_game(config["game"])
    except (UnknownGame, TypeError) as error:
        raise CheckpointError(f"{path} is for a game this program does not have: {error}") from None
    if config["rules_version"] != game.rules_version:
        raise CheckpointError(
            f"{path} was trained under rules version {config['rules_version']} of {game.title}, this program plays "
            f"version {game.rules_version}; train it anew or use the matching release."
        )
    if [config["rows"], config["cols"]] != [game.rows, game.cols]:
        raise CheckpointError(
            f"{path} is for a board of {config['rows']}x{config['cols']}, {game.title} has {game.rows}x{game.cols}; "
            "use a checkpoint for this board."
        )
    try:
        shape = NetworkShape.from_dict(config["network"])
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path}: the network's shape is wrong: {error}; copy the file again.") from None
    if shape.planes != game.network.planes:
        raise CheckpointError(
            f"{path} expects {shape.planes} input planes, {game.title} gives {game.network.planes}; train it anew."
        )
    return game, shape


def _read_weights(path: Path, shape: NetworkShape, digest: object) -> dict[str, np.ndarray]:
    blob = _read(path, MAX_WEIGHTS_BYTES)
    try:
        weights = load(blob)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(
            f"{path} is truncated or no safetensors file; copy it again (with git, run `git lfs pull` first)."
        ) from None
    expected = expected_shapes(shape)
    odd = sorted(set(expected) ^ set(weights))
    if odd:
        state = "lacks" if odd[0] in expected else "holds the unexpected"
        raise CheckpointError(f"{path} {state} array {odd[0]!r}; it belongs to a network of another kind or config.")
    for name, array in weights.items():
        if array.shape != expected[name] or array.dtype != np.float32:
            raise CheckpointError(
                f"{path}: {name!r} is {array.dtype} {list(array.shape)} where {CONFIG} asks for float32 "
                f"{list(expected[name])}; use the config that came with these weights."
            )
        if name.endswith("running_var") and (array < 0).any():
            raise CheckpointError(f"{path}: {name!r} holds a negative variance; go back to an earlier snapshot.")
        if not np.isfinite(array).all():
            raise CheckpointError(f"{path}: {name!r} holds NaN or infinity; go back to an earlier snapshot.")
    if hashlib.sha256(blob).hexdigest() != digest:
        raise CheckpointError(
            f"{path} is not the file that {CONFIG} beside it was written for (SHA-256 differs); copy both again."
        )
    return weights
