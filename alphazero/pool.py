"""The pool of nodes that all trees of one game share: its records, and how nodes come, go and change trees.

A node owns a fixed row of edges, one per legal move. Every tree's nodes are linked in order of creation, so a tree is
given back in one splice, and a parent always comes before its children.
"""

from typing import NamedTuple

import numpy as np

from alphazero.kernel import kernel

NONE = -1
NO_MEMORY = -2

# Node status
NEW, WAITING, READY = 0, 1, 2  # state not yet computed; edges known, network not asked; evaluated or terminal

# Proof: what is certain for the player to move
OPEN, WIN, LOSS, DRAW = 0, 1, -1, 2

NODE = np.dtype(
    [
        ("value_sum", np.float64),
        ("visits", np.int32),
        ("pending", np.int32),  # virtual visits while leaves are looked for ahead of time; 0 between steps
        ("parent", np.int32),
        ("link", np.int32),  # next node of the same tree in order of creation, or next free node
        ("value", np.float32),  # the network's own word, or the result of a finished game
        ("action", np.int16),  # the move that led here
        ("edge_count", np.int16),
        ("proof_plies", np.int16),  # a proven result comes within so many plies
        ("proof", np.int8),
        ("status", np.int8),
    ],
    align=True,
)

EDGE = np.dtype([("prior", np.float32), ("child", np.int32), ("action", np.int16)], align=True)

# One running (or kept) search.
TREE = np.dtype(
    [
        ("root", np.int32),
        ("oldest", np.int32),
        ("newest", np.int32),
        ("nodes", np.int32),
        ("limit", np.int32),  # visits of the root's moves at which the search is done
        ("c_puct", np.float64),
        ("fpu_reduction", np.float64),
        ("noise_fraction", np.float64),
        ("candidates", np.int32),  # of a Gumbel root; 0 for PUCT from the root on
        ("sigma_scale", np.float64),  # how much its improved policy trusts Q
        ("leaf_nodes", np.int32),  # for the game's tactics at each new position
        ("solver", np.bool_),
        ("out_of_memory", np.bool_),
    ],
    align=True,
)

# Fields of Pool.counts. Every tree, idle ones included, owns a SHARE of nodes for sure, so a new search always finds
# room; PROMISED is what is still open of all shares. What is AVAILABLE beyond that goes to whoever asks first.
# SIMULATIONS counts those finished in all trees, ever.
FREE_HEAD, FRESH, AVAILABLE, PROMISED, SHARE, SIMULATIONS = 0, 1, 2, 3, 4, 5


class Pool(NamedTuple):
    """The arrays behind every tree of one game.

    nodes NODE [capacity], edges EDGE [capacity, actions], states int16 [capacity, state_size], trees TREE [trees],
    noise float32 [trees, actions] (drawn when a search begins: Dirichlet noise, or Gumbel draws), counts int64 [6].
    """

    nodes: np.ndarray
    edges: np.ndarray
    states: np.ndarray
    trees: np.ndarray
    noise: np.ndarray
    counts: np.ndarray


def make_pool(capacity: int, trees: int, actions: int, state_size: int) -> Pool:
    # np.empty takes address space, not memory: pages become real when a node is first used.
    share = capacity // (2 * trees)
    counts = np.array([NONE, 0, capacity, share * trees, share, 0], np.int64)
    pool = Pool(
        np.empty(capacity, NODE),
        np.empty((capacity, actions), EDGE),
        np.empty((capacity, state_size), np.int16),
        np.zeros(trees, TREE),
        np.zeros((trees, actions), np.float32),
        counts,
    )
    for field in ("root", "oldest", "newest"):
        pool.trees[field] = NONE
    return pool


def node_bytes(actions: int, state_size: int) -> int:
    return NODE.itemsize + actions * EDGE.itemsize + state_size * 2


@kernel
def new_node(pool, tree, parent, action):
    """A fresh node of this tree, or NO_MEMORY when its share is used up and the rest of the pool too."""
    counts = pool.counts
    record = pool.trees[tree]
    if record.nodes < counts[SHARE]:
        counts[PROMISED] -= 1
    elif counts[AVAILABLE] - counts[PROMISED] <= 0:
        record.out_of_memory = True
        return NO_MEMORY
    if counts[FREE_HEAD] != NONE:
        index = counts[FREE_HEAD]
        counts[FREE_HEAD] = pool.nodes[index].link
    else:
        index = counts[FRESH]
        counts[FRESH] += 1
    counts[AVAILABLE] -= 1
    node = pool.nodes[index]
    node.value_sum = 0.0
    node.visits = 0
    node.pending = 0
    node.parent = parent
    node.link = NONE
    node.value = 0.0
    node.action = action
    node.edge_count = 0
    node.proof_plies = 0
    node.proof = OPEN
    node.status = NEW
    if record.newest == NONE:
        record.oldest = index
    else:
        pool.nodes[record.newest].link = index
    record.newest = index
    record.nodes += 1
    return index


@kernel
def close_tree(pool, tree):
    """Give all nodes back. The tree's list is spliced into the free list whole, so this takes no time."""
    record = pool.trees[tree]
    if record.oldest != NONE:
        pool.nodes[record.newest].link = pool.counts[FREE_HEAD]
        pool.counts[FREE_HEAD] = record.oldest
        pool.counts[AVAILABLE] += record.nodes
    pool.counts[PROMISED] += min(record.nodes, pool.counts[SHARE])
    record.root = NONE
    record.oldest = NONE
    record.newest = NONE
    record.nodes = 0


@kernel
def reroot(pool, tree, action):
    """Make the root's child by this action the new root and free the rest; False (and no change) if it can't be."""
    record = pool.trees[tree]
    nodes = pool.nodes
    edges = pool.edges[record.root]
    new_root = NONE
    for k in range(nodes[record.root].edge_count):
        if edges[k].action == action:
            new_root = edges[k].child
    if new_root == NONE or nodes[new_root].status != READY or nodes[new_root].edge_count == 0:
        return False
    # Nodes are linked in order of creation, so a parent's fate is settled before its children come up. `pending`
    # is 0 between steps and serves as the mark.
    index = record.oldest
    while index != NONE:
        parent = nodes[index].parent
        nodes[index].pending = 1 if index == new_root or (parent != NONE and nodes[parent].pending == 1) else 0
        index = nodes[index].link
    index = record.oldest
    record.oldest = NONE
    record.newest = NONE
    freed = 0
    while index != NONE:
        following = nodes[index].link
        if nodes[index].pending == 1:
            nodes[index].link = NONE
            if record.newest == NONE:
                record.oldest = index
            else:
                nodes[record.newest].link = index
            record.newest = index
        else:
            nodes[index].link = pool.counts[FREE_HEAD]
            pool.counts[FREE_HEAD] = index
            freed += 1
        index = following
    index = record.oldest
    while index != NONE:
        nodes[index].pending = 0
        index = nodes[index].link
    pool.counts[AVAILABLE] += freed
    kept = record.nodes - freed
    pool.counts[PROMISED] += min(record.nodes, pool.counts[SHARE]) - min(kept, pool.counts[SHARE])
    record.nodes = kept
    nodes[new_root].parent = NONE
    record.root = new_root
    return True


@kernel
def forget_visits(pool, tree):
    """Keep a tree's nodes and what the network said of them, but take all visits back.

    A search that begins here runs exactly as in a new tree, only without asking the network twice.
    """
    index = pool.trees[tree].oldest
    while index != NONE:
        node = pool.nodes[index]
        node.visits = 0
        node.value_sum = 0.0
        if node.edge_count > 0:  # proofs by search go too; a finished game stays finished
            node.proof = OPEN
            node.proof_plies = 0
        index = node.link
