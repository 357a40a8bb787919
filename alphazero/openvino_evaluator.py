"""The network as an OpenVINO graph, built straight from the weights.

Built by hand rather than converted from torch: 0.1 s instead of 2 s a game and no torch in the process, which is most
of what a fast start is (docs/performance.md). A test holds it to the torch network.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np

os.environ.setdefault("OPENVINO_TELEMETRY_ENABLED", "0")

import openvino
from openvino import opset13 as ops

from alphazero.quantize import highest, in_steps, kernel_in_steps
from alphazero.settings import NetworkShape
from alphazero.weights import fold


@cache
def _core() -> openvino.Core:
    return openvino.Core()


def has_bf16() -> bool:
    """Does this CPU multiply in bf16?"""
    return "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def padded(rows: int) -> int:
    """The batch size that is run for so many rows: exact up to 8, then at most an eighth more."""
    step = 1 << max(0, (rows - 1).bit_length() - 3)
    return -(-rows // step) * step


class OpenVINOEvaluator:
    """One inference thread: one evaluator per worker thread.

    A model of fixed batch size is compiled for each size when it is first needed (30 ms). One model for all sizes
    would spend 0.1 ms at every change of size, and searches change it at nearly every step (docs/performance.md).

    A row's answer does not depend on the other rows nor on how many there are (tests/test_network.py), which is what
    makes a search repeatable on a busy engine.
    """

    def __init__(
        self,
        weights: dict[str, np.ndarray],
        shape: NetworkShape,
        rows: int,
        cols: int,
        precision: str,
        calibration: np.ndarray | None = None,
    ):
        floats = "bf16" if has_bf16() else "f32"  # what int8 leaves is computed in these
        self._precision = precision if precision in ("bf16", "f32") else floats
        self.name = f"openvino {self._precision if precision == 'auto' else precision}"
        self._model, into = _build(weights, shape, rows, cols)
        if precision == "int8":
            if calibration is None:
                raise ValueError("precision int8 needs positions to calibrate on (alphazero/quantize.py)")
            seen = openvino.Model(list(into.values()), self._model.get_parameters(), "seen")
            reach = dict(zip(into, highest(seen, calibration), strict=True))
            self._model, _ = _build(weights, shape, rows, cols, reach)
        self._batches: dict[int, _FixedBatch] = {}

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = len(planes)
        batch = self._batches.get(rows)
        if batch is None:
            size = padded(rows)
            batch = self._batches.get(size) or _FixedBatch(self._model, size, self._precision)
            self._batches[rows] = self._batches[size] = batch
        batch.planes[:rows] = planes
        batch.request.infer(share_outputs=True)
        return batch.logits[:rows], batch.values[:rows]


class _FixedBatch:
    """The network compiled for one batch size, its input and output arrays bound once and for all."""

    def __init__(self, model: openvino.Model, size: int, precision: str):
        model = model.clone()
        shape = [size, *(dimension.get_length() for dimension in list(model.input(0).partial_shape)[1:])]
        model.reshape(shape)
        options = {
            "INFERENCE_NUM_THREADS": 1,
            "INFERENCE_PRECISION_HINT": precision,
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,  # pinned, every process computes on the same core, and the others stand idle
        }
        self.request = _core().compile_model(model, "CPU", options).create_infer_request()
        self.planes = np.zeros(shape, np.float32)
        self.request.set_input_tensor(openvino.Tensor(self.planes, shared_memory=True))
        self.logits = self.request.get_output_tensor(0).data
        self.values = self.request.get_output_tensor(1).data


def _build(
    weights: dict[str, np.ndarray], shape: NetworkShape, rows: int, cols: int, reach: dict[str, float] | None = None
) -> tuple[openvino.Model, dict[str, openvino.Node]]:
    """The graph, and what goes into each convolution that may be done in integers.

    With `reach`, how high that goes, those are. The others see few channels, or decide about the answer's last digits.
    """
    into: dict[str, openvino.Node] = {}

    def convolve(x: openvino.Node, kernel: np.ndarray, bias: np.ndarray, high: float | None = None) -> openvino.Node:
        pad = [kernel.shape[2] // 2] * 2
        steps = ops.constant(kernel) if high is None else kernel_in_steps(kernel)
        x = ops.convolution(x if high is None else in_steps(x, high), steps, [1, 1], pad, pad, [1, 1])
        return ops.add(x, ops.constant(bias.reshape(1, -1, 1, 1)))

    def normed(x: openvino.Node, name: str) -> openvino.Node:
        into[name] = x
        return convolve(x, *fold(weights, name), (reach or {}).get(name))

    def dense(x: openvino.Node, name: str) -> openvino.Node:
        # As a 1x1 convolution: it treats every row alike, while a matrix product rounds differently with the batch.
        return convolve(x, weights[f"{name}.weight"][:, :, None, None], weights[f"{name}.bias"])

    planes = ops.parameter([-1, shape.planes, rows, cols], np.float32, name="planes")
    x = ops.relu(convolve(planes, *fold(weights, "stem")))
    for block in range(shape.blocks):
        inner = ops.relu(normed(x, f"blocks.{block}.first"))
        x = ops.relu(ops.add(x, normed(inner, f"blocks.{block}.second")))
    policy = ops.relu(normed(x, "policy_in"))
    policy = convolve(policy, weights["policy_out.weight"], weights["policy_out.bias"])
    logits = ops.reshape(policy, ops.constant(np.array([-1, rows * cols])), False)
    value = ops.relu(normed(x, "value_in"))
    board = ops.constant(np.array([2, 3]))
    value = ops.concat([ops.reduce_mean(value, board, True), ops.reduce_max(value, board, True)], 1)
    value = dense(ops.relu(dense(value, "value_hidden")), "value_out")
    values = ops.reshape(ops.tanh(value), ops.constant(np.array([-1])), False)
    return openvino.Model([logits, values], [planes], "alphazero"), into
