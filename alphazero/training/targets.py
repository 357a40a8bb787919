"""What a finished self-play search teaches and plays. Compiled by Numba, for many trees at a time."""

import numpy as np

from alphazero.gumbel import final_edge, improved_policy, is_lost
from alphazero.kernel import kernel
from alphazero.pool import NONE, OPEN, READY
from alphazero.tree import best_edge, exact_value, mix_noise


@kernel
def visit_policy(pool, index, policy):
    """Write each legal move's share of the visits into `policy` [actions]; proven losses get 0."""
    edges = pool.edges[index]
    policy[:] = 0.0
    total = 0.0
    for k in range(pool.nodes[index].edge_count):
        if edges[k].child != NONE and not is_lost(pool, edges[k]):
            visits = pool.nodes[edges[k].child].visits
            policy[edges[k].action] = visits
            total += visits
    if total == 0.0:  # all tried moves lose: whatever was not tried is as good as any
        for k in range(pool.nodes[index].edge_count):
            if not is_lost(pool, edges[k]):
                policy[edges[k].action] = 1.0
                total += 1.0
    policy /= total


@kernel
def sample(policy, temperature, draw):
    """An action drawn from policy^(1/temperature), `draw` uniform in 0..1; the likeliest at temperature 0."""
    top = policy.max()
    weights = np.zeros(policy.size)
    total = 0.0
    for action in range(policy.size):
        if temperature > 0.0:
            weights[action] = (policy[action] / top) ** (1.0 / max(temperature, 0.01))
        else:
            weights[action] = 1.0 if policy[action] == top else 0.0
        total += weights[action]
    chosen = 0
    reached = 0.0
    for action in range(policy.size):
        if weights[action] > 0.0:
            chosen = action
            reached += weights[action] / total
            if draw < reached:
                break
    return chosen


@kernel
def harvest(pool, trees, temperatures, draws, policies, values, proofs, actions):
    """Read what finished searches found: improved policy [n, actions], root value and proof (value_to_move), move."""
    for i in range(trees.size):
        tree = trees[i]
        index = pool.trees[tree].root
        root = pool.nodes[index]
        edges = pool.edges[index]
        proofs[i] = root.proof
        if root.proof != OPEN:
            values[i] = exact_value(root.proof)
            actions[i] = edges[best_edge(pool, index)].action
            policies[i, :] = 0.0
            policies[i, actions[i]] = 1.0
            continue
        values[i] = root.value_sum / root.visits
        if pool.trees[tree].candidates > 0:
            improved_policy(pool, tree, index, policies[i])
            actions[i] = edges[final_edge(pool, tree, index, temperatures[i])].action
        else:
            visit_policy(pool, index, policies[i])
            actions[i] = sample(policies[i], temperatures[i], draws[i])


@kernel
def set_out(pool, trees, limits, noise_fractions, noise):
    """Begin the next search in trees that have moved on. noise [n, actions] is drawn already."""
    for i in range(trees.size):
        record = pool.trees[trees[i]]
        record.limit = limits[i]
        record.out_of_memory = False
        record.noise_fraction = noise_fractions[i]
        pool.noise[trees[i], :] = noise[i]
        if record.noise_fraction > 0.0 and pool.nodes[record.root].status == READY:
            mix_noise(pool, trees[i])  # a root the network has yet to see gets it then
