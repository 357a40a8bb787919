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

from alphazero.settings import NetworkShape
from alphazero.weights import fold

WRAPPERS = 512  # input buffers remembered at the most


@cache
def _core() -> openvino.Core:
    return openvino.Core()


def has_bf16() -> bool:
    """Does this CPU multiply in bf16?"""
    return "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


class OpenVINOEvaluator:
    """One compiled model with one inference thread and one request: one evaluator per worker thread.

    A row's answer does not depend on the other rows nor on how many there are (tests/test_evaluator.py), which is
    what makes a search repeatable on a busy engine.
    """

    def __init__(self, weights: dict[str, np.ndarray], shape: NetworkShape, rows: int, cols: int, precision: str):
        if precision == "auto":
            precision = "bf16" if has_bf16() else "f32"
        self.name = f"openvino {precision}"
        compiled = _core().compile_model(
            _build(weights, shape, rows, cols),
            "CPU",
            {
                "INFERENCE_NUM_THREADS": 1,
                "INFERENCE_PRECISION_HINT": precision,
                "PERFORMANCE_HINT": "LATENCY",
            },
        )
        self._request = compiled.create_infer_request()
        self._tensors: dict[tuple[int, int], openvino.Tensor] = {}

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        request = self._request
        request.set_input_tensor(self._tensor(planes))
        request.infer(share_outputs=True)
        return request.get_output_tensor(0).data, request.get_output_tensor(1).data

    def _tensor(self, planes: np.ndarray) -> openvino.Tensor:
        """The array wrapped, not copied. Wrapping costs 20 us, a quarter of a small network, so wrappers are reused:
        a forest sends views of one buffer again and again. A wrapper keeps its buffer alive, so an address stands
        for the same memory as long as it is known here."""
        key = (planes.__array_interface__["data"][0], len(planes))
        tensor = self._tensors.get(key)
        if tensor is None:
            if len(self._tensors) >= WRAPPERS:
                self._tensors.clear()
            tensor = self._tensors[key] = openvino.Tensor(planes, shared_memory=True)
        return tensor


def _build(weights: dict[str, np.ndarray], shape: NetworkShape, rows: int, cols: int) -> openvino.Model:
    def convolve(x: openvino.Node, kernel: np.ndarray, bias: np.ndarray) -> openvino.Node:
        pad = [kernel.shape[2] // 2] * 2
        x = ops.convolution(x, ops.constant(kernel), [1, 1], pad, pad, [1, 1])
        return ops.add(x, ops.constant(bias.reshape(1, -1, 1, 1)))

    def normed(x: openvino.Node, name: str) -> openvino.Node:
        return convolve(x, *fold(weights, name))

    def dense(x: openvino.Node, name: str) -> openvino.Node:
        product = ops.matmul(x, ops.constant(weights[f"{name}.weight"]), False, True)
        return ops.add(product, ops.constant(weights[f"{name}.bias"]))

    planes = ops.parameter([-1, shape.planes, rows, cols], np.float32, name="planes")
    x = ops.relu(normed(planes, "stem"))
    for block in range(shape.blocks):
        inner = ops.relu(normed(x, f"blocks.{block}.first"))
        x = ops.relu(ops.add(x, normed(inner, f"blocks.{block}.second")))
    policy = ops.relu(normed(x, "policy_in"))
    policy = convolve(policy, weights["policy_out.weight"], weights["policy_out.bias"])
    logits = ops.reshape(policy, ops.constant(np.array([-1, rows * cols])), False)
    value = ops.relu(normed(x, "value_in"))
    board = ops.constant(np.array([2, 3]))
    value = ops.concat([ops.reduce_mean(value, board, False), ops.reduce_max(value, board, False)], 1)
    value = dense(ops.relu(dense(value, "value_hidden")), "value_out")
    values = ops.reshape(ops.tanh(value), ops.constant(np.array([-1])), False)
    return openvino.Model([logits, values], [planes], "alphazero")
