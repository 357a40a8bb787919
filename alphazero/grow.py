"""A larger network that begins where a smaller one stands: the same answers, and room to learn more.

After Chen, Goodfellow and Shlens, "Net2Net" (ICLR 2016), with zeros in place of copies: new channels are random
features that nothing listens to yet, and a new block adds nothing to what passes through it. Both have gradients, so
learning brings them in.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from alphazero.checkpoint import Checkpoint
from alphazero.settings import NetworkShape
from alphazero.weights import untrained


def grown(checkpoint: Checkpoint, shape: NetworkShape, seed: int = 0) -> Checkpoint:
    """The same network in a shape of as many channels and blocks or more; ValueError if it does not fit in there."""
    small = checkpoint.shape
    if replace(small, channels=shape.channels, blocks=shape.blocks) != shape:
        others = ", ".join(
            f"{name} from {vars(small)[name]} to {size}"
            for name, size in vars(shape).items()
            if name not in ("channels", "blocks") and size != vars(small)[name]
        )
        raise ValueError(f"only channels and blocks of a network can grow; this would change its {others}")
    if shape.channels < small.channels or shape.blocks < small.blocks:
        raise ValueError(f"a network can grow but not shrink: {_words(small)} does not fit into {_words(shape)}")
    weights = untrained(shape, seed)
    for name, old in checkpoint.weights.items():
        new = weights[name]
        if new.ndim == 4:
            new[: old.shape[0], old.shape[1] :] = 0.0  # the channels that were there do not listen to the new ones
        new[tuple(slice(size) for size in old.shape)] = old
    for block in range(small.blocks, shape.blocks):
        weights[f"blocks.{block}.second.norm.weight"] = np.zeros(shape.channels, np.float32)
    return replace(checkpoint, shape=shape, weights=weights)


def _words(shape: NetworkShape) -> str:
    return f"{shape.channels} channels and {shape.blocks} blocks"
