"""The steps every search is made of: choose, descend, back up, prove. Compiled by Numba; knows no game.

Edges are kept so that those tried come first and the next one to try, the highest prior left, stands right behind
them: choosing a move reads only the tried ones and one more, however many moves are legal.

Points of view: a node's `value_sum`, `value` and `proof` belong to the player to move AT the node (value_to_move). A
parent therefore reads its child's numbers with the sign turned.
"""

import numpy as np

from alphazero.gumbel import choose_at_root
from alphazero.kernel import kernel
from alphazero.pool import DRAW, LOSS, NO_MEMORY, NONE, OPEN, READY, SIMULATIONS, WIN, new_node

NOT_A_NUMBER = -1


@kernel
def set_edges(pool, index, mask):
    """One edge per legal move, in ascending order, priors still unknown."""
    edges = pool.edges[index]
    count = 0
    for action in range(mask.size):
        if mask[action]:
            edges[count].prior = 0.0
            edges[count].child = NONE
            edges[count].action = action
            count += 1
    pool.nodes[index].edge_count = count


@kernel
def swap(edges, a, b):
    prior, child, action = edges[a].prior, edges[a].child, edges[a].action
    edges[a].prior = edges[b].prior
    edges[a].child = edges[b].child
    edges[a].action = edges[b].action
    edges[b].prior = prior
    edges[b].child = child
    edges[b].action = action


@kernel
def bring_best_forward(edges, first, count):
    """Put the highest prior of edges[first:count] at `first`; equal priors go by the smaller action."""
    best = first
    for k in range(first + 1, count):
        if edges[k].prior > edges[best].prior or (
            edges[k].prior == edges[best].prior and edges[k].action < edges[best].action
        ):
            best = k
    if best != first:
        swap(edges, first, best)


@kernel
def exact_value(proof):
    """value_to_move of a proven node."""
    return 0.0 if proof == DRAW else float(proof)


@kernel
def choose(pool, tree, index):
    """The edge with the highest PUCT score: Q + c_puct * P * sqrt(N_parent) / (1 + N), Q as value_to_move here."""
    nodes = pool.nodes
    node = nodes[index]
    record = pool.trees[tree]
    edges = pool.edges[index]
    explore = record.c_puct * np.sqrt(float(node.visits + node.pending))
    own = node.value_sum / node.visits if node.visits > 0 else float(node.value)
    tried_mass = 0.0
    best = NONE
    best_score = -np.inf
    for k in range(node.edge_count):
        prior = float(edges[k].prior)
        child_index = edges[k].child
        count = 0
        if child_index != NONE:
            child = nodes[child_index]
            count = child.visits + child.pending
        if count == 0:
            # Nothing behind this edge can score higher: the same Q, a smaller prior.
            if own - record.fpu_reduction * np.sqrt(tried_mass) + explore * prior > best_score:
                best = k
            break
        tried_mass += prior
        child = nodes[child_index]
        if record.solver and child.proof != OPEN and child.visits > 0:
            if child.proof == WIN:
                continue  # the other side wins there: never again
            q = -exact_value(child.proof)
        elif child.visits > 0:
            q = -child.value_sum / child.visits
        else:
            q = own  # visited only virtually: taken to turn out as the node itself stands
        score = q + explore * prior / (1 + count)
        if score > best_score:
            best_score = score
            best = k
    return max(best, 0)  # all known to be lost, yet not proven (a tree begun without the solver): any will do


@kernel
def descend(pool, tree):
    """From the root to the node where this simulation ends: unvisited, waiting, finished, or made just now (NEW)."""
    index = pool.trees[tree].root
    while True:
        node = pool.nodes[index]
        if node.visits + node.pending == 0 or node.status != READY or node.proof != OPEN:
            return index
        edges = pool.edges[index]
        if pool.trees[tree].candidates > 0 and node.parent == NONE:
            k = choose_at_root(pool, tree, index)
            while k > 0 and edges[k].child == NONE and edges[k - 1].child == NONE:
                swap(edges, k, k - 1)  # tried ones come first, here too
                k -= 1
        else:
            k = choose(pool, tree, index)
        if edges[k].child == NONE:
            child = new_node(pool, tree, index, edges[k].action)
            if child != NO_MEMORY:
                edges[k].child = child
                if k + 1 < node.edge_count:
                    bring_best_forward(edges, k + 1, node.edge_count)
            return child
        index = edges[k].child


@kernel
def add_pending(pool, index, amount):
    """Virtual visits on the path from a node up to its root."""
    while index != NONE:
        pool.nodes[index].pending += amount
        index = pool.nodes[index].parent


@kernel
def prove(pool, index):
    """Try to prove a node from its visited children; True if it is proven."""
    node = pool.nodes[index]
    edges = pool.edges[index]
    all_proven = True
    any_draw = False
    shortest_win = np.int16(32767)
    longest = np.int16(0)
    for k in range(node.edge_count):
        if edges[k].child == NONE or pool.nodes[edges[k].child].visits == 0:
            all_proven = False
            continue
        child = pool.nodes[edges[k].child]
        if child.proof == LOSS:
            shortest_win = min(shortest_win, child.proof_plies + 1)
        elif child.proof == OPEN:
            all_proven = False
        else:
            any_draw |= child.proof == DRAW
            longest = max(longest, child.proof_plies + 1)
    if shortest_win < 32767:
        node.proof = WIN
        node.proof_plies = shortest_win
    elif all_proven:
        node.proof = DRAW if any_draw else LOSS
        node.proof_plies = longest
    return node.proof != OPEN


@kernel
def back_up(pool, tree, index):
    """Count one finished simulation that ended at this node, up to the root, with any proof it brings."""
    solver = pool.trees[tree].solver
    node = pool.nodes[index]
    proven = node.proof != OPEN
    value = exact_value(node.proof) if proven else float(node.value)
    if node.parent != NONE:  # the root's own evaluation is no simulation
        pool.counts[SIMULATIONS] += 1
    while True:
        node.visits += 1
        node.value_sum += value
        if node.parent == NONE:
            break
        index = node.parent
        node = pool.nodes[index]
        proven = solver and proven and prove(pool, index)
        value = exact_value(node.proof) if proven else -value


@kernel
def is_done(pool, tree):
    """Has this search all the visits it wants, or a proven root?"""
    record = pool.trees[tree]
    root = pool.nodes[record.root]
    return root.visits > record.limit or (root.proof != OPEN and record.solver) or record.out_of_memory


@kernel
def mix_noise(pool, tree):
    """Blend the drawn noise into the root's priors and put the edges in order again, visited ones first."""
    record = pool.trees[tree]
    edges = pool.edges[record.root]
    count = pool.nodes[record.root].edge_count
    total = 0.0
    for k in range(count):
        total += pool.noise[tree, edges[k].action]
    visited = 0
    for k in range(count):
        share = pool.noise[tree, edges[k].action] / total if total > 0.0 else 1.0 / count
        edges[k].prior = (1.0 - record.noise_fraction) * edges[k].prior + record.noise_fraction * share
        if edges[k].child != NONE and pool.nodes[edges[k].child].visits > 0:
            visited += 1  # they already stand first
    for k in range(visited, count):
        bring_best_forward(edges, k, count)


@kernel
def evaluate_node(pool, index, logits, value):
    """Take in the network's answer: softmax over the legal moves, and value_to_move. False if it is no number."""
    edges = pool.edges[index]
    node = pool.nodes[index]
    count = node.edge_count
    top = -np.inf
    for k in range(count):
        top = max(top, logits[edges[k].action])
    total = 0.0
    for k in range(count):
        weight = np.exp(logits[edges[k].action] - top)
        edges[k].prior = weight
        total += weight
    if not (0.0 < total < np.inf and -2.0 < value < 2.0):
        return False
    for k in range(count):
        edges[k].prior /= total
    bring_best_forward(edges, 0, count)
    node.value = value
    node.status = READY
    return True


@kernel
def scatter(pool, rows, leaf_nodes, leaf_trees, ahead, logits, values, active, done):
    """Take in a batch of `rows` answers; rows evaluated only ahead of time are stored, the others backed up.

    Marks in `done` which of the trees `active` need no more steps, and returns how many those are; NOT_A_NUMBER if
    the network's answer holds NaN or infinity, which would lead a search astray for good.
    """
    for row in range(rows):
        index = leaf_nodes[row]
        tree = leaf_trees[row]
        if not evaluate_node(pool, index, logits[row], values[row]):
            return NOT_A_NUMBER
        if index == pool.trees[tree].root and pool.trees[tree].noise_fraction > 0.0:
            mix_noise(pool, tree)
        if not ahead[row]:
            back_up(pool, tree, index)
    finished = 0
    for i in range(active.size):
        done[i] = is_done(pool, active[i])
        finished += done[i]
    return finished


@kernel
def best_edge(pool, index):
    """The move to make at a node: the quickest proven win; else the most visited that is not lost; else the slowest
    loss. Equal ones go by prior, then by the smaller action."""
    edges = pool.edges[index]
    best = NONE
    best_key = (0, 0, 0, 0.0, 0)
    for k in range(pool.nodes[index].edge_count):
        rank, speed, visits = 1, 0, 0
        if edges[k].child != NONE:
            child = pool.nodes[edges[k].child]
            visits = child.visits
            if visits > 0 and child.proof == LOSS:
                rank, speed = 0, child.proof_plies
            elif visits > 0 and child.proof == WIN:
                rank, speed = 2, -child.proof_plies
        key = (-rank, -speed, visits, float(edges[k].prior), -edges[k].action)
        if best == NONE or key > best_key:
            best = k
            best_key = key
    return best


@kernel
def main_line(pool, index, line):
    """Write the expected play from a node into `line`, best_edge by best_edge; how many moves that is."""
    length = 0
    while length < line.size and pool.nodes[index].edge_count > 0:
        k = best_edge(pool, index)
        child = pool.edges[index, k].child
        unvisited = child == NONE or pool.nodes[child].visits == 0
        if unvisited and length > 0:
            break
        line[length] = pool.edges[index, k].action
        length += 1
        if unvisited:
            break
        index = child
    return length
