"""The arrays of the network by name: which there are, their shapes, and batch norm folded away for inference.

    stem        3x3 conv, batch norm, ReLU
    blocks      per block: conv, norm, ReLU, conv, norm, add the block's input, ReLU
    policy      1x1 conv, norm, ReLU, 1x1 conv to one plane: a logit per cell
    value       1x1 conv, norm, ReLU, mean and maximum over the board, two dense layers, tanh

Plain numpy, so that playing needs no torch.
"""

from __future__ import annotations

import numpy as np

from alphazero.settings import NetworkShape

NORM_EPSILON = 1e-5
NORM_PARTS = ("weight", "bias", "running_mean", "running_var")


def normed_convolutions(shape: NetworkShape) -> dict[str, tuple[int, int, int]]:
    """Name -> (channels out, channels in, kernel) of every convolution that a batch norm follows."""
    convolutions = {"stem": (shape.channels, shape.planes, 3)}
    for block in range(shape.blocks):
        for half in ("first", "second"):
            convolutions[f"blocks.{block}.{half}"] = (shape.channels, shape.channels, 3)
    convolutions["policy_in"] = (shape.head_channels, shape.channels, 1)
    convolutions["value_in"] = (shape.head_channels, shape.channels, 1)
    return convolutions


def expected_shapes(shape: NetworkShape) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every array in a checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (out, into, kernel) in normed_convolutions(shape).items():
        shapes[f"{name}.conv.weight"] = (out, into, kernel, kernel)
        shapes.update({f"{name}.norm.{part}": (out,) for part in NORM_PARTS})
    shapes["policy_out.weight"] = (1, shape.head_channels, 1, 1)
    shapes["policy_out.bias"] = (1,)
    shapes["value_hidden.weight"] = (shape.value_units, 2 * shape.head_channels)
    shapes["value_hidden.bias"] = (shape.value_units,)
    shapes["value_out.weight"] = (1, shape.value_units)
    shapes["value_out.bias"] = (1,)
    return shapes


def fold(weights: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """(kernel, bias) of a convolution with its batch norm folded in: the same function, one step fewer."""
    scale, shift, mean, variance = (weights[f"{name}.norm.{part}"].astype(np.float64) for part in NORM_PARTS)
    factor = scale / np.sqrt(variance + NORM_EPSILON)
    kernel = weights[f"{name}.conv.weight"] * factor[:, None, None, None]
    return kernel.astype(np.float32), (shift - mean * factor).astype(np.float32)


def untrained(shape: NetworkShape, seed: int = 0) -> dict[str, np.ndarray]:
    """Fresh weights. The last layer of both heads is zero, so a new network says "all moves alike, nobody ahead"."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    for name, size in expected_shapes(shape).items():
        layer, part = name.rsplit(".", 1)
        if layer.endswith("norm"):
            weights[name] = np.full(size, 1.0 if part in ("weight", "running_var") else 0.0, np.float32)
        elif part == "bias" or layer in ("policy_out", "value_out"):
            weights[name] = np.zeros(size, np.float32)
        else:
            fan_in = int(np.prod(size[1:]))
            weights[name] = rng.standard_normal(size, dtype=np.float32) * np.float32(np.sqrt(2.0 / fan_in))
    return weights
