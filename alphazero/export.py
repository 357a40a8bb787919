"""Write a checkpoint as a folder ready for the Hugging Face Hub: weights, config and a model card."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from alphazero.checkpoint import CONFIG, WEIGHTS, Checkpoint, write_atomically
from alphazero.game import get_game
from alphazero.player import checkpoint_for

CARD_FILE = "README.md"
CARD = """\
---
license: mit
library_name: alphazero-playground
pipeline_tag: reinforcement-learning
tags:
- alphazero
- mcts
- board-games
- {name}
---

# AlphaZero for {title}

A small AlphaZero network for {title} on {rows}x{cols} (rules version {rules}), to be used with the AlphaZero
Playground code.

| | |
| --- | --- |
| input | {planes} planes of {rows}x{cols}, from the side of the player to move |
| trunk | {blocks} residual blocks, {channels} channels |
| output | a logit per cell; value_to_move in -1..1 |
| parameters | {parameters:,} |
| weights | `{weights}`, float32; SHA-256 in `{config}` |

## Use
```python
from alphazero import load_player

player = load_player("OWNER/NAME", simulations=400)  # this repo's id, or the folder it was downloaded to
result = player.search(player.game.start())
print(result.action, result.value_to_move)
```
`OWNER/NAME@COMMIT` pins a commit.

## Training
{training}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="where to write; made if it is not there")
    parser.add_argument("--checkpoint", help="folder or Hub repo id of the network (default: the shipped one)")
    parser.add_argument("--force", action="store_true", help="write over an export that is already there")


def run(args: argparse.Namespace) -> int:
    game = get_game(args.game)
    checkpoint = checkpoint_for(game, args.checkpoint)
    export(checkpoint, Path(args.folder), force=args.force)
    print(f"Wrote {CONFIG}, {WEIGHTS} and README.md to {args.folder}.")
    print(f"To publish: hf upload OWNER/NAME {args.folder}")
    return 0


def export(checkpoint: Checkpoint, folder: Path, *, force: bool = False) -> None:
    """Write the three files. Only an earlier export is ever written over, and only with `force`."""
    if folder.is_file():
        raise ValueError(f"{folder} is a file; give a folder")
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if there - {CONFIG, WEIGHTS, CARD_FILE}:
        raise ValueError(f"{folder} holds other files; choose an empty folder or a new one")
    if there and not force:
        raise ValueError(f"{folder} holds an export already; choose another folder or add --force")
    checkpoint.save(folder)
    write_atomically(folder / CARD_FILE, model_card(checkpoint).encode())


def model_card(checkpoint: Checkpoint) -> str:
    game, shape = checkpoint.game, checkpoint.shape
    if checkpoint.training.get("iterations") == 0:
        training = "None yet: these are fresh weights that call all moves alike. The search alone plays."
    else:
        rows = "\n".join(f"| {key.replace('_', ' ')} | {_plain(value)} |" for key, value in checkpoint.training.items())
        training = f"By self-play from nothing; no human games.\n\n| | |\n| --- | --- |\n{rows}"
    return CARD.format(
        name=game.name,
        title=game.title,
        rows=game.rows,
        cols=game.cols,
        rules=game.rules_version,
        planes=shape.planes,
        blocks=shape.blocks,
        channels=shape.channels,
        parameters=sum(array.size for array in checkpoint.weights.values()),
        weights=WEIGHTS,
        config=CONFIG,
        training=training,
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
