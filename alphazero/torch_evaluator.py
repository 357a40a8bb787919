"""The network run by torch: slower, available everywhere, and what the fast path is checked against."""

from __future__ import annotations

import numpy as np
import torch

from alphazero.network import ResNet
from alphazero.settings import NetworkShape


class TorchEvaluator:
    """float32 on one thread. Sets torch's thread count for the whole process (two threads stall on a busy machine)."""

    def __init__(self, weights: dict[str, np.ndarray], shape: NetworkShape):
        torch.set_num_threads(1)
        self.name = "torch f32"
        self._network = ResNet(shape)
        self._network.load_weights(weights)
        self._network.eval()

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with torch.inference_mode():
            logits, values = self._network(torch.from_numpy(planes))
            return logits.numpy(), values.numpy()
