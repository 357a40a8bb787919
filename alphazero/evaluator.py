"""Evaluators: arrays in, arrays out. The search knows nothing else of the network.

OpenVINO runs it fast, one thread each; torch is the fallback and the reference. Both are made from the same weights.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Protocol

import numpy as np

from alphazero.settings import NetworkShape

BACKENDS = ("auto", "openvino", "torch")
PRECISIONS = ("auto", "bf16", "f32", "int8")


class Evaluator(Protocol):
    """The seam between search and network."""

    name: str

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float32 [batch, planes, rows, cols] -> float32 logits [batch, actions], value_to_move [batch].

        Both stay valid until the next call. One thread at a time.
        """
        ...


def make_evaluator(
    weights: dict[str, np.ndarray],
    shape: NetworkShape,
    rows: int,
    cols: int,
    *,
    backend: str = "auto",
    precision: str = "auto",
    calibration: np.ndarray | None = None,
) -> Evaluator:
    """The fastest evaluator there is for these weights, or the one asked for.

    int8 needs planes [n, planes, rows, cols] to see how far its steps must reach: `calibration` (quantize.py).
    """
    check_choices(backend, precision)
    if backend == "auto":
        backend = "openvino" if has_openvino() else "torch"
    if backend == "openvino":
        from alphazero.openvino_evaluator import OpenVINOEvaluator

        return OpenVINOEvaluator(weights, shape, rows, cols, precision, calibration)
    if precision == "int8":
        raise ValueError(
            "precision int8 needs OpenVINO: pip install openvino, or leave precision and ALPHAZERO_PRECISION at auto"
        )
    from alphazero.torch_evaluator import TorchEvaluator

    return TorchEvaluator(weights, shape)


def check_choices(backend: str, precision: str) -> None:
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")


def has_openvino() -> bool:
    if "openvino" in sys.modules:
        return sys.modules["openvino"] is not None
    return importlib.util.find_spec("openvino") is not None
