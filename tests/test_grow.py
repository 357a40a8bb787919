"""A network that grows says the same as before, and learns with what is new."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from alphazero import get_game
from alphazero.checkpoint import Checkpoint
from alphazero.grow import grown
from alphazero.network import ResNet
from alphazero.settings import NetworkShape
from tests.test_network import lively_weights

SMALL = NetworkShape(planes=4, channels=8, blocks=2, head_channels=4, value_units=8)
PLANES = torch.randn(16, 4, 9, 9, generator=torch.Generator().manual_seed(1))


def small():
    return Checkpoint(get_game("gomoku"), SMALL, lively_weights(SMALL), {"iterations": 3})


def network_of(checkpoint):
    network = ResNet(checkpoint.shape)
    network.load_weights(checkpoint.weights)
    return network


@pytest.mark.parametrize(("channels", "blocks"), [(8, 2), (13, 2), (8, 5), (24, 4)])
@pytest.mark.parametrize("training", [False, True])
def test_a_grown_network_gives_the_same_answers(channels, blocks, training):
    """Also as it learns, when batch norm goes by the batch and not by what it remembers."""
    start = small()
    large = grown(start, replace(SMALL, channels=channels, blocks=blocks))
    assert large.training == start.training
    answers = []
    for checkpoint in (start, large):
        logits, values = network_of(checkpoint).train(training)(PLANES)
        answers.append((logits.detach(), values.detach()))
    (logits, values), (large_logits, large_values) = answers
    assert logits.std() > 0.01
    assert torch.allclose(logits, large_logits, atol=1e-4)
    assert torch.allclose(values, large_values, atol=1e-4)


def test_what_is_new_takes_part_in_learning():
    large = grown(small(), replace(SMALL, channels=12, blocks=3))
    network = network_of(large).train()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(3):
        logits, values = network(PLANES)
        (logits[:, 0].mean() + (values - 0.5).pow(2).mean()).backward()
        optimiser.step()
        optimiser.zero_grad()
    learnt = network.weights()
    for name, part in {
        "blocks.0.first.conv.weight": np.s_[:8, 8:],  # the old channels listen to the new ones
        "blocks.0.first.conv.weight ": np.s_[8:],  # and those change, too
        "blocks.2.second.norm.weight": np.s_[:],  # the new block adds something
        "policy_in.conv.weight": np.s_[:, 8:],
    }.items():
        assert not np.allclose(learnt[name.strip()][part], large.weights[name.strip()][part], atol=1e-7), name


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        (replace(SMALL, channels=7), "can grow but not shrink"),
        (replace(SMALL, blocks=1), "can grow but not shrink"),
        (replace(SMALL, planes=5), "would change its planes from 4 to 5$"),
    ],
)
def test_what_does_not_fit_is_refused(shape, complaint):
    with pytest.raises(ValueError, match=complaint):
        grown(small(), shape)
