"""The Gumbel root: with few simulations, spend them on a few sampled candidates by sequential halving.

Danihelka et al., "Policy improvement by planning with Gumbel" (ICLR 2022). Every move gets a Gumbel draw g; candidates
are the moves with the highest g + log P, and simulations are halved over those with the highest g + log P + sigma(Q).
Taking the highest is the same as sampling, so the search explores without noise mixed into its priors, and its
improved policy softmax(log P + sigma(Q)) is better than P even after a handful of simulations. Below the root the
search is plain PUCT. Compiled by Numba; Q and every value here are value_to_move of the node looked at.
"""

import numpy as np

from alphazero.kernel import kernel
from alphazero.pool import DRAW, NONE, OPEN, WIN

# sigma(q) = (SIGMA_VISITS + highest visit count) * sigma_scale * q, as in the paper but for q in -1..1.
SIGMA_VISITS = 50.0

LOWEST_PRIOR = 1e-30  # float32 priors underflow to 0; their logarithm must stay a number


@kernel
def considered_visits(simulation, candidates, limit):
    """How many visits a candidate has when simulation number `simulation` (from 0) of `limit` picks it.

    Rounds of halving: all candidates are visited equally often, then the better half, and so on down to two.
    """
    if candidates < 2:
        return simulation
    rounds = 1
    while 1 << rounds < candidates:
        rounds += 1
    first = 0  # the round's first simulation
    visits = 0  # that its candidates have by then
    left = candidates
    while True:
        each = max(1, limit // (rounds * left))
        if simulation < first + each * left:
            return visits + (simulation - first) // left
        first += each * left
        visits += each
        left = max(2, left // 2)


@kernel
def child_count(pool, edge):
    """Visits of an edge's child, virtual ones among them."""
    if edge.child == NONE:
        return 0
    child = pool.nodes[edge.child]
    return child.visits + child.pending


@kernel
def is_lost(pool, edge):
    """Is this move proven to lose?"""
    return edge.child != NONE and pool.nodes[edge.child].visits > 0 and pool.nodes[edge.child].proof == WIN


@kernel
def move_value(pool, edge, otherwise):
    """Q of a move: exact if proven, its mean if visited, else `otherwise`."""
    if edge.child == NONE:
        return otherwise
    child = pool.nodes[edge.child]
    if child.visits == 0:
        return otherwise
    if child.proof != OPEN:
        return 0.0 if child.proof == DRAW else -float(child.proof)
    return -child.value_sum / child.visits


@kernel
def mixed_value(pool, index):
    """What a move not yet tried is taken to be worth: the network's value and the tried moves' values, blended."""
    node = pool.nodes[index]
    edges = pool.edges[index]
    visits = 0
    mass = 0.0
    weighted = 0.0
    for k in range(node.edge_count):
        if edges[k].child == NONE or pool.nodes[edges[k].child].visits == 0:
            continue
        visits += pool.nodes[edges[k].child].visits
        prior = max(float(edges[k].prior), LOWEST_PRIOR)
        mass += prior
        weighted += prior * move_value(pool, edges[k], 0.0)
    if visits == 0:
        return float(node.value)
    return (node.value + visits * weighted / mass) / (1 + visits)


@kernel
def sigma(pool, tree, index):
    """The factor that brings Q to the scale of log P."""
    edges = pool.edges[index]
    most = 0
    for k in range(pool.nodes[index].edge_count):
        most = max(most, child_count(pool, edges[k]))
    return (SIGMA_VISITS + most) * pool.trees[tree].sigma_scale


@kernel
def choose_at_root(pool, tree, index):
    """The edge that this simulation goes through: of those with the visits the schedule asks for, the best one.

    A move proven lost is out. If that leaves too few with the visits asked for, the next best step in: first those
    that were dropped with fewer visits, then those with more.
    """
    node = pool.nodes[index]
    edges = pool.edges[index]
    record = pool.trees[tree]
    candidates = min(record.candidates, node.edge_count)
    asked = considered_visits(node.visits + node.pending - 1, candidates, record.limit)
    otherwise = mixed_value(pool, index)
    scale = sigma(pool, tree, index)
    best = NONE
    best_distance = 0
    best_score = -np.inf
    for k in range(node.edge_count):
        if record.solver and is_lost(pool, edges[k]):
            continue
        count = child_count(pool, edges[k])
        distance = asked - count if count <= asked else 1_000_000 + count
        if best != NONE and distance > best_distance:
            continue
        prior = max(float(edges[k].prior), LOWEST_PRIOR)
        score = pool.noise[tree, edges[k].action] + np.log(prior) + scale * move_value(pool, edges[k], otherwise)
        if (
            best == NONE
            or distance < best_distance
            or score > best_score
            or (score == best_score and edges[k].action < edges[best].action)
        ):
            best = k
            best_distance = distance
            best_score = score
    return max(best, 0)


@kernel
def improved_policy(pool, tree, index, policy):
    """Write softmax(log P + sigma(Q)) over the legal moves into `policy` [actions]; proven losses get 0."""
    edges = pool.edges[index]
    count = pool.nodes[index].edge_count
    otherwise = mixed_value(pool, index)
    scale = sigma(pool, tree, index)
    policy[:] = 0.0
    top = -np.inf
    for k in range(count):
        if not is_lost(pool, edges[k]):
            prior = max(float(edges[k].prior), LOWEST_PRIOR)
            policy[edges[k].action] = np.log(prior) + scale * move_value(pool, edges[k], otherwise)
            top = max(top, policy[edges[k].action])
    total = 0.0
    for k in range(count):
        if not is_lost(pool, edges[k]):
            policy[edges[k].action] = np.exp(policy[edges[k].action] - top)
            total += policy[edges[k].action]
    policy /= total


@kernel
def final_edge(pool, tree, index, temperature):
    """The move that halving has left: of the most visited, the highest temperature * g + log P + sigma(Q)."""
    edges = pool.edges[index]
    count = pool.nodes[index].edge_count
    scale = sigma(pool, tree, index)
    otherwise = mixed_value(pool, index)
    most = -1
    for k in range(count):
        if not is_lost(pool, edges[k]):
            most = max(most, child_count(pool, edges[k]))
    best = NONE
    best_score = -np.inf
    for k in range(count):
        if is_lost(pool, edges[k]) or child_count(pool, edges[k]) < most:
            continue
        prior = max(float(edges[k].prior), LOWEST_PRIOR)
        draw = temperature * pool.noise[tree, edges[k].action]
        score = draw + np.log(prior) + scale * move_value(pool, edges[k], otherwise)
        if best == NONE or score > best_score or (score == best_score and edges[k].action < edges[best].action):
            best = k
            best_score = score
    return best
