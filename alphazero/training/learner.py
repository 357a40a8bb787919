"""The learner: batches of samples in, better weights out. It knows nothing of search or games' rules.

loss = -pi . log p + value_weight * (target - v)^2, target = (1 - q_weight) z + q_weight q, AdamW. Played with is the
running average of the weights. When a step yields NaN, infinity or a loss far above the running median, weights and
optimiser go back to the last stable state and the learning rate is halved.
"""

from __future__ import annotations

import json
import statistics
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.nn import functional

from alphazero.checkpoint import write_atomically
from alphazero.game import Game
from alphazero.network import ResNet
from alphazero.settings import NetworkShape
from alphazero.train_settings import TrainSettings
from alphazero.training import TrainingError
from alphazero.training.samples import encode_batch

STABLE_EVERY = 100  # steps between states to go back to
MEDIAN_STEPS = 100  # over how many losses the running median is taken
FAR_ABOVE = 3.0  # times the median: no longer noise
LOWEST_FACTOR = 2.0**-8  # after so many halvings something else is wrong


class LearnerError(TrainingError):
    """Learning can't go on; the message says what to do."""


class Learner:
    """One network, its optimiser and its average. One thread; bf16 where the CPU has it (twice as fast here)."""

    def __init__(self, game: Game, shape: NetworkShape, settings: TrainSettings):
        torch.set_num_threads(1)
        self._game = game
        self._settings = settings
        self._device = pick_device(settings.device)
        self._half = self._device.type == "cuda" or _cpu_has_bf16()
        self.shape = shape
        self.network = ResNet(shape, settings.seed).to(self._device)
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a fifth faster
        self._optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._average = {name: tensor.clone() for name, tensor in self._floats().items()}
        self.steps = 0
        self.factor = 1.0  # of the learning rate; halved at every roll-back
        self._recent: deque[float] = deque(maxlen=MEDIAN_STEPS)
        self._stable = self._state()

    def _floats(self) -> dict[str, Tensor]:
        """Weights and running statistics by name, the network's own tensors."""
        return {name: tensor for name, tensor in self.network.state_dict().items() if tensor.is_floating_point()}

    def averaged_weights(self) -> dict[str, np.ndarray]:
        """The weights to play with."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._average.items()}

    def start_from(self, weights: dict[str, np.ndarray]) -> None:
        """Begin with these weights instead of random ones."""
        self.network.load_weights(weights)
        self._average = {name: tensor.clone() for name, tensor in self._floats().items()}
        self._stable = self._state()

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(
        self,
        draw: Callable[[], dict[str, np.ndarray]],
        steps: int,
        learning_rate: float,
        rng: np.random.Generator,
        on_step: Callable[[int], None],
        warn: Callable[[str], None],
    ) -> dict[str, float]:
        """Take so many steps on batches from `draw`; mean losses over them."""
        self._stable = self._state()
        totals = np.zeros(2)
        taken = 0
        for step in range(steps):
            for group in self._optimiser.param_groups:
                group["lr"] = learning_rate * self.factor
            policy_loss, value_loss = self._step(draw(), rng)
            trouble = self._trouble(policy_loss + value_loss)
            if trouble:
                self._roll_back(trouble, learning_rate, warn)
            else:
                totals += policy_loss, value_loss
                taken += 1
                if taken % STABLE_EVERY == 0:
                    self._stable = self._state()
            on_step(step + 1)
        policy_loss, value_loss = totals / max(taken, 1)
        return {"policy_loss": float(policy_loss), "value_loss": float(value_loss), "steps": taken}

    def _step(self, columns: dict[str, np.ndarray], rng: np.random.Generator) -> tuple[float, float]:
        symmetry = rng.integers(len(self._game.symmetries), size=len(columns["outcome"]))
        planes, policy = (self._tensor(array) for array in encode_batch(self._game, columns, symmetry))
        q = self._settings.q_weight
        target = self._tensor((1 - q) * columns["outcome"] + q * columns["search_value"])
        self.network.train()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._half):
            logits, value = self.network(planes.to(memory_format=torch.channels_last))
        policy_loss = -(policy * functional.log_softmax(logits.float(), 1)).sum(1).mean()
        value_loss = functional.mse_loss(value.float(), target)
        loss = policy_loss + self._settings.value_weight * value_loss
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._optimiser.step()
        self.steps += 1
        # At the start the average follows closely, or it would hold on to the random weights for long.
        decay = min(self._settings.average, self.steps / (self.steps + 10))
        with torch.no_grad():
            for name, tensor in self._floats().items():
                self._average[name].lerp_(tensor, 1 - decay)
        return policy_loss.item(), value_loss.item()

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.astype(np.float32, copy=False)).to(self._device)

    def _trouble(self, loss: float) -> str | None:
        """Why this loss can't be left to stand, or None; a loss that can joins the running median."""
        if not np.isfinite(loss):
            return f"the loss is {loss}"
        if len(self._recent) == MEDIAN_STEPS and loss > FAR_ABOVE * statistics.median(self._recent) + 0.1:
            return f"the loss is {loss:.3g}, far above its running median {statistics.median(self._recent):.3g}"
        if not all(torch.isfinite(tensor).all() for tensor in self._floats().values()):
            return "the weights hold NaN or infinity"
        self._recent.append(loss)
        return None

    def _roll_back(self, trouble: str, learning_rate: float, warn: Callable[[str], None]) -> None:
        self.factor /= 2
        if self.factor < LOWEST_FACTOR:
            raise LearnerError(
                f"step {self.steps}: {trouble}, even at {LOWEST_FACTOR:g} of the learning rate. Nothing saved is lost; "
                "start again with a lower learning_rate, or look into the replay."
            )
        factor, steps = self.factor, self.steps
        self._restore(self._stable)
        self.factor = factor
        warn(
            f"step {steps}: {trouble}; weights and optimiser are back at step {self.steps}, "
            f"learning rate {learning_rate * factor:.2g}"
        )

    # -- measuring ----------------------------------------------------------------------------------------------------

    def measure(self, columns: dict[str, np.ndarray] | None) -> dict[str, float | None]:
        """The averaged network on held-out samples: KL(search || network), value MSE against outcome and search."""
        names = ("policy_kl", "value_mse_outcome", "value_mse_search", "policy_top1")
        if columns is None:
            return dict.fromkeys(names)
        network = ResNet(self.shape).to(self._device)
        network.load_weights(self.averaged_weights())
        network.eval()
        rows: list[np.ndarray] = []
        count = len(columns["outcome"])
        for first in range(0, count, 512):
            part = {name: column[first : first + 512] for name, column in columns.items()}
            planes, policy = encode_batch(self._game, part, np.zeros(len(part["outcome"]), np.int64))
            with torch.inference_mode():
                logits, value = network(self._tensor(planes))
            # Only legal moves count, as in play.
            legal = self._legal(part)
            logits = logits.cpu().masked_fill(~torch.from_numpy(legal), -1e9)
            log_p = functional.log_softmax(logits, 1).numpy()
            entropy = np.where(policy > 0, policy * np.log(np.maximum(policy, 1e-30)), 0).sum(1)
            cross = -(policy * np.where(policy > 0, log_p, 0)).sum(1)
            v = value.cpu().numpy()
            same = log_p.argmax(1) == policy.argmax(1)
            rows.append(
                np.stack([entropy + cross, (v - part["outcome"]) ** 2, (v - part["search_value"]) ** 2, same], 1)
            )
        means = np.concatenate(rows).mean(0)
        return {name: float(mean) for name, mean in zip(names, means, strict=True)}

    def _legal(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        mask = np.zeros(columns["cells"].shape, np.bool_)
        for i, cells in enumerate(columns["cells"].astype(np.int16)):
            self._game.legal(cells, int(columns["to_move"][i]), int(columns["ply"][i]), mask[i])
        return mask

    # -- keeping ------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        """Everything that learning goes on from, as named tensors of its own."""
        state = {f"network.{name}": tensor.detach().clone() for name, tensor in self.network.state_dict().items()}
        state |= {f"average.{name}": tensor.detach().clone() for name, tensor in self._average.items()}
        for number, slots in self._optimiser.state_dict()["state"].items():
            state |= {f"optimiser.{number}.{slot}": torch.as_tensor(value).clone() for slot, value in slots.items()}
        state["numbers"] = torch.tensor([self.steps, self.factor], dtype=torch.float64)
        state["recent"] = torch.tensor(list(self._recent), dtype=torch.float64)
        return state

    def _restore(self, state: dict[str, Tensor]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "average": {}, "optimiser": {}}
        for name, tensor in state.items():
            kind, _, rest = name.partition(".")
            if kind in parts:
                parts[kind][rest] = tensor.clone()
        self.network.load_state_dict(parts["network"])
        self._average = parts["average"]
        slots: dict[int, dict[str, Any]] = {}
        for name, tensor in parts["optimiser"].items():
            number, _, slot = name.partition(".")
            slots.setdefault(int(number), {})[slot] = tensor
        self._optimiser.load_state_dict(self._optimiser.state_dict() | {"state": slots})
        self.steps = int(state["numbers"][0])
        self.factor = float(state["numbers"][1])
        self._recent = deque(state["recent"].tolist(), maxlen=MEDIAN_STEPS)

    def save(self, path: Path) -> None:
        metadata = {"shape": json.dumps(vars(self.shape))}
        state = {name: tensor.detach().cpu().contiguous() for name, tensor in self._state().items()}
        write_atomically(path, save(state, metadata))

    def restore(self, path: Path) -> None:
        """Go on from a file that `save` wrote; LearnerError if it can't be used."""
        try:
            state = load(path.read_bytes())
            self._restore({name: tensor.to(self._device) for name, tensor in state.items()})
        except (OSError, safetensors.SafetensorError, RuntimeError, KeyError, ValueError) as error:
            raise LearnerError(f"{path} can't be used to go on: {error}") from None
        self._stable = self._state()


def pick_device(name: str) -> torch.device:
    if name == "cuda" and not torch.cuda.is_available():
        raise LearnerError("device = cuda, but torch finds no GPU here; leave it at cpu, or install a CUDA build.")
    return torch.device(name)


def _cpu_has_bf16() -> bool:
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())
