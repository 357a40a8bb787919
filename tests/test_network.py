"""Torch and OpenVINO run the same function; a row's answer does not depend on its batch; OpenVINO may be absent."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from alphazero import Checkpoint, NetworkShape, get_game, load_checkpoint
from alphazero.checkpoint import CHECKPOINTS
from alphazero.evaluator import make_evaluator
from alphazero.model import Model
from alphazero.network import ResNet
from alphazero.openvino_evaluator import OpenVINOEvaluator, _FixedBatch, has_bf16
from alphazero.quantize import calibration_planes
from alphazero.weights import expected_shapes, untrained
from tests.helpers import random_position

GAMES = ["chain_reaction", "gomoku", "tictactoe"]


def lively_weights(shape, seed=0):
    """Random weights with nothing left at its neutral start: heads, biases and batch norms included."""
    rng = np.random.default_rng(seed)
    weights = untrained(shape, seed)
    for name, array in weights.items():
        noise = rng.standard_normal(array.shape).astype(np.float32)
        if name.endswith("running_var"):
            weights[name] = 0.5 + np.abs(noise)
        elif ".norm." in name:
            weights[name] = array + 0.1 * noise
        elif name.endswith("bias"):
            weights[name] = 0.1 * noise
        elif name == "policy_out.weight":
            weights[name] = noise
        elif name == "value_out.weight":
            weights[name] = 0.02 * noise
    return weights


def boards(game, count, seed=0):
    rng = np.random.default_rng(seed)
    return [random_position(game, rng, int(rng.integers(12))) for _ in range(count)]


def evaluators(game, *kinds):
    weights = lively_weights(game.network)
    return [
        make_evaluator(
            weights,
            game.network,
            game.rows,
            game.cols,
            backend=backend,
            precision=precision,
            calibration=calibration_planes(game),
        )
        for backend, precision in kinds
    ]


@pytest.mark.parametrize("name", GAMES)
def test_openvino_f32_equals_torch(name):
    game = get_game(name)
    reference, fast = evaluators(game, ("torch", "auto"), ("openvino", "f32"))
    planes = np.stack([p.planes() for p in boards(game, 200)])
    logits, values = reference.evaluate(planes)
    fast_logits, fast_values = fast.evaluate(planes)
    assert np.abs(logits - fast_logits).max() < 1e-4
    assert np.abs(values - fast_values).max() < 1e-4
    assert logits.std() > 0.1, "the weights must be lively enough for this to mean something"
    assert values.std() > 0.02


@pytest.mark.parametrize("name", ["chain_reaction", "gomoku"])
def test_openvino_bf16_agrees_on_the_best_move(name):
    if not has_bf16():
        pytest.skip("this CPU has no bf16, so the app runs f32 here")
    game = get_game(name)
    reference, fast = evaluators(game, ("torch", "auto"), ("openvino", "bf16"))
    positions = boards(game, 1000)
    planes = np.stack([p.planes() for p in positions])
    logits, values = reference.evaluate(planes)
    fast_logits, fast_values = fast.evaluate(planes)
    legal = np.full(logits.shape, -np.inf)
    for row, position in enumerate(positions):
        legal[row, position.legal_moves()] = 0
    same = (logits + legal).argmax(1) == (fast_logits + legal).argmax(1)
    assert same.mean() >= 0.97
    assert np.abs(values - fast_values).max() < 0.1


@pytest.mark.parametrize("name", GAMES)
def test_int8_says_nearly_what_f32_says(name):
    """On positions that it was not calibrated on, with the shipped weights: integers depend on what they stand for."""
    checkpoint = load_checkpoint(CHECKPOINTS / name)
    reference, fast = (Model.of(checkpoint, precision=kind).make_evaluator() for kind in ("f32", "int8"))
    assert fast.name == "openvino int8"
    positions = [p for p in boards(checkpoint.game, 600, seed=5) if p.winner is None]
    planes = np.stack([p.planes() for p in positions])
    legal = np.full((len(planes), checkpoint.game.num_actions), -np.inf)
    for row, position in enumerate(positions):
        legal[row, position.legal_moves()] = 0

    def answers(evaluator):
        logits, values = evaluator.evaluate(planes)
        shares = np.exp(logits + legal - (logits + legal).max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True), values.copy()

    policy, value = answers(reference)
    in_steps, value_in_steps = answers(fast)
    kl = np.where(policy > 0, policy * np.log(np.maximum(policy, 1e-30) / np.maximum(in_steps, 1e-30)), 0).sum(1)
    assert 0 < kl.mean() < 0.01, "0 would mean that nothing was done in integers"
    assert np.sqrt(np.square(value - value_in_steps).mean()) < 0.05


def test_int8_needs_positions_and_openvino(monkeypatch):
    game = get_game("tictactoe")
    with pytest.raises(ValueError, match="calibrate"):
        make_evaluator(untrained(game.network), game.network, 3, 3, backend="openvino", precision="int8")
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ValueError, match="needs OpenVINO"):
        Model.of(Checkpoint.fresh(game), precision="int8").make_evaluator()


def test_the_environment_says_what_auto_means(monkeypatch):
    checkpoint = Checkpoint.fresh(get_game("tictactoe"))
    monkeypatch.setenv("ALPHAZERO_PRECISION", "int8")
    assert Model.of(checkpoint).make_evaluator().name == "openvino int8"
    assert Model.of(checkpoint, precision="f32").make_evaluator().name == "openvino f32"
    assert Model.of(checkpoint, backend="torch").make_evaluator().name == "torch f32"
    monkeypatch.setenv("ALPHAZERO_PRECISION", "int3")
    with pytest.raises(ValueError, match="must be one of"):
        Model.of(checkpoint)


@pytest.mark.parametrize("precision", ["auto", "int8"])
@pytest.mark.parametrize("name", GAMES)
def test_a_row_does_not_depend_on_its_batch(name, precision):
    """Bit for bit. This is what makes a search on a busy engine repeatable."""
    game = get_game(name)
    (fast,) = evaluators(game, ("openvino", precision))
    planes = np.stack([p.planes() for p in boards(game, 64)])
    logits, values = (array.copy() for array in fast.evaluate(planes))
    for size in (1, 2, 3, 5, 8, 9, 13, 31, 33, 63):
        for begin in range(0, 64 - size, 17):
            part = planes[begin : begin + size].copy()
            part_logits, part_values = fast.evaluate(part)
            assert (part_logits == logits[begin : begin + size]).all()
            assert (part_values == values[begin : begin + size]).all()


def test_input_buffers_are_never_confused():
    """Arrays of changing sizes that come and go: each must be read afresh, and no padding may shine through."""
    game = get_game("tictactoe")
    fast, reference = evaluators(game, ("openvino", "f32"), ("torch", "auto"))
    for seed in range(100):
        planes = np.stack([p.planes() for p in boards(game, 1 + seed * 7 % 20, seed)])
        assert np.allclose(fast.evaluate(planes)[0], reference.evaluate(planes)[0], atol=1e-4)


def test_no_process_takes_a_core_for_itself():
    """By default OpenVINO pins every process's thread to the same first core: two then go at half speed each."""
    shape = NetworkShape(planes=2, channels=8, blocks=1)
    batch = _FixedBatch(OpenVINOEvaluator(untrained(shape, 0), shape, 3, 3, "f32")._model, 1, "f32")
    assert batch.request.get_compiled_model().get_property("ENABLE_CPU_PINNING") is False


def test_a_new_network_knows_nothing():
    game = get_game("gomoku")
    network = ResNet(game.network).eval()
    logits, values = network(torch.randn(3, 4, 9, 9))
    assert (logits == 0).all()
    assert (values == 0).all()


@pytest.mark.parametrize("shape", [NetworkShape(planes=2), NetworkShape(3, 16, 0, 8, 8), NetworkShape(4, 24, 7)])
def test_torch_names_and_shapes_are_those_of_the_checkpoint(shape):
    network = ResNet(shape)
    assert {name: array.shape for name, array in network.weights().items()} == expected_shapes(shape)
    weights = lively_weights(shape)
    network.load_weights(weights)
    again = network.weights()
    assert all((again[name] == weights[name]).all() for name in weights)
    with pytest.raises(ValueError, match="stem"):
        network.load_weights({k: v for k, v in weights.items() if not k.startswith("stem")})


@pytest.mark.parametrize(
    ("field", "value"), [("channels", 0), ("blocks", -1), ("planes", 1.5), ("channels", True), ("blocks", 10**9)]
)
def test_bad_shapes_are_refused(field, value):
    with pytest.raises(ValueError, match=field):
        NetworkShape(**{"planes": 2, field: value})


def test_unknown_backend_is_refused():
    game = get_game("tictactoe")
    for wrong in ({"backend": "onnx"}, {"precision": "int4"}):
        with pytest.raises(ValueError, match="must be one of"):
            make_evaluator({}, game.network, 3, 3, **wrong)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


def test_works_with_openvino_absent(tmp_path):
    Checkpoint.fresh(get_game("tictactoe")).save(tmp_path)
    done = run_python(
        "import sys; sys.modules['openvino'] = None\n"
        "from alphazero import load_player\n"
        f"player = load_player({str(tmp_path)!r}, simulations=50)\n"
        "print(player.search(player.game.start()).simulations, player.model.make_evaluator().name)"
    )
    assert done.stdout.split() == ["50", "torch", "f32"], done.stderr


def test_playing_with_openvino_needs_no_torch(tmp_path):
    Checkpoint.fresh(get_game("tictactoe")).save(tmp_path)
    done = run_python(
        "import sys; sys.modules['torch'] = None\n"
        "from alphazero import load_player\n"
        f"player = load_player({str(tmp_path)!r}, simulations=50)\n"
        "print(player.search(player.game.start()).simulations)"
    )
    assert done.stdout.split() == ["50"], done.stderr
