"""The network in torch: the reference for inference, and what training trains. weights.py draws its shape."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from alphazero.settings import NetworkShape
from alphazero.weights import NORM_EPSILON, expected_shapes, untrained


class NormedConv(nn.Module):
    def __init__(self, into: int, out: int, kernel: int):
        super().__init__()
        self.conv = nn.Conv2d(into, out, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(out, eps=NORM_EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x))


class Block(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.first = NormedConv(channels, channels, 3)
        self.second = NormedConv(channels, channels, 3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(functional.relu(self.first(x))))


class ResNet(nn.Module):
    """float32 planes [batch, planes, rows, cols] -> logits [batch, cells], value_to_move [batch] in -1..1."""

    def __init__(self, shape: NetworkShape, seed: int = 0):
        super().__init__()
        self.shape = shape
        self.stem = NormedConv(shape.planes, shape.channels, 3)
        self.blocks = nn.ModuleList(Block(shape.channels) for _ in range(shape.blocks))
        self.policy_in = NormedConv(shape.channels, shape.head_channels, 1)
        self.policy_out = nn.Conv2d(shape.head_channels, 1, 1)
        self.value_in = NormedConv(shape.channels, shape.head_channels, 1)
        self.value_hidden = nn.Linear(2 * shape.head_channels, shape.value_units)
        self.value_out = nn.Linear(shape.value_units, 1)
        self.load_weights(untrained(shape, seed))

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        x = functional.relu(self.stem(planes))
        for block in self.blocks:
            x = block(x)
        logits = self.policy_out(functional.relu(self.policy_in(x))).flatten(1)
        v = functional.relu(self.value_in(x))
        v = torch.cat([v.mean(dim=(2, 3)), v.amax(dim=(2, 3))], dim=1)
        v = self.value_out(functional.relu(self.value_hidden(v)))
        return logits, torch.tanh(v).squeeze(1)

    def weights(self) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint, by name, the caller's own copies."""
        state = self.state_dict()
        return {name: state[name].detach().cpu().float().numpy().copy() for name in expected_shapes(self.shape)}

    def load_weights(self, weights: dict[str, np.ndarray]) -> None:
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}
        # strict=False only because batch norms also count their batches, which no inference needs.
        missing, unexpected = self.load_state_dict(tensors, strict=False)
        if unexpected or any(not name.endswith("num_batches_tracked") for name in missing):
            raise ValueError(f"these weights do not fit the network: missing {missing}, unexpected {unexpected}")
