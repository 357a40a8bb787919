"""Integers for the network's convolutions: what goes into each is cut to 256 steps, each kernel to 255.

On a CPU with VNNI and without bf16 that is 1.6 to 2.3 times as fast as f32 (docs/performance.md), and policies move
by a KL of 0.001. How far the steps must reach is seen on positions of random games, the same ones every time, so
one network always becomes the same integers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import openvino
from openvino import opset13 as ops

from alphazero.game import Game

GAMES = 24
LONGEST = 60  # plies of each: later positions are like those before
EVERY = 6  # of these only: all values of all layers are kept at once, 30 MB a layer for all
# Values above are cut off. The highest of all would spend the steps on what hardly ever comes.
QUANTILE = 0.9999
LEAST = 1e-6  # a layer that nothing passes through must not be divided by 0


@lru_cache(maxsize=16)
def calibration_planes(game: Game) -> np.ndarray:
    """Positions of random games, float32 [n, planes, rows, cols]."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(GAMES):
        position = game.start()
        while position.winner is None and position.plies < LONGEST:
            found.append(position.planes())
            position = position.play(int(rng.choice(position.legal_moves())))
    return np.stack(found[::EVERY])


def highest(model: openvino.Model, planes: np.ndarray) -> list[float]:
    """How high the values of each of the model's outputs reach on these positions."""
    # In f32, for the integers should not depend on the machine that finds them.
    options = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
    request = openvino.compile_model(model, "CPU", options).create_infer_request()
    request.infer([planes])
    return [
        max(LEAST, float(np.quantile(request.get_output_tensor(i).data, QUANTILE))) for i in range(len(model.outputs))
    ]


def in_steps(x: openvino.Node, high: float) -> openvino.Node:
    """Values of 0 (they come out of a ReLU) to `high` as 256 steps."""
    return ops.fake_quantize(x, np.float32(0), np.float32(high), np.float32(0), np.float32(high), 256)


def kernel_in_steps(kernel: np.ndarray) -> openvino.Node:
    """A kernel [out, in, height, width] as 255 steps, of a size of their own for every channel out."""
    high = np.maximum(np.abs(kernel).max(axis=(1, 2, 3), keepdims=True), LEAST).astype(np.float32)
    return ops.fake_quantize(ops.constant(kernel), -high, high, -high, high, 255)
