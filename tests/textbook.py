"""PUCT as a textbook has it: objects, dictionaries, recursion, one simulation after another. No arrays, no batches.

Independent of alphazero/tree.py; shares with it only the rules, the settings and the arithmetic that is stated in
SearchSettings. Values are value_to_move of each node.
"""

import math

import numpy as np

WIN, LOSS, DRAW = "win", "loss", "draw"


class Node:
    def __init__(self, position):
        self.position = position
        self.visits = 0
        self.total = 0.0
        self.priors = {}  # action -> prior
        self.children = {}  # action -> Node
        self.proof = None
        if position.winner is not None:
            self.proof = DRAW if position.winner == 0 else WIN if position.winner == position.to_move else LOSS

    @property
    def exact(self):
        return {WIN: 1.0, LOSS: -1.0, DRAW: 0.0}[self.proof]


class Textbook:
    def __init__(self, evaluator, settings):
        self.evaluator = evaluator
        self.settings = settings

    def search(self, position, simulations):
        root = Node(position)
        for _ in range(simulations + 1):  # the first one only evaluates the root
            if root.proof and self.settings.solver:
                break
            self.simulate(root)
        return root

    def simulate(self, node):
        """One simulation from this node; its value_to_move."""
        if node.proof and (self.settings.solver or node.position.winner is not None):
            value = node.exact
        elif node.visits == 0:
            value = self.expand(node)
        else:
            action = self.select(node)
            if action not in node.children:
                node.children[action] = Node(node.position.play(action))
            value = -self.simulate(node.children[action])
            if self.settings.solver:
                self.prove(node)
                value = node.exact if node.proof else value
        node.visits += 1
        node.total += value
        return value

    def expand(self, node):
        logits, values = self.evaluator.evaluate(node.position.planes()[None])
        legal = node.position.legal_moves()
        weights = np.exp(logits[0, legal].astype(np.float64) - logits[0, legal].max())
        priors = (weights / weights.sum()).astype(np.float32)
        node.priors = {action: float(prior) for action, prior in zip(legal, priors, strict=True)}
        return float(values[0])

    def select(self, node):
        own = node.total / node.visits
        tried = [a for a in node.children if node.children[a].visits]
        mass = sum(node.priors[a] for a in sorted(tried, key=lambda a: (-node.priors[a], a)))
        best, best_score = None, -math.inf
        for action in sorted(node.priors, key=lambda a: (-node.priors[a], a)):
            child = node.children.get(action)
            if child is None:
                q, visits = own - self.settings.fpu_reduction * math.sqrt(mass), 0
            elif self.settings.solver and child.proof:
                if child.proof == WIN:
                    continue
                q, visits = -child.exact, child.visits
            else:
                q, visits = -child.total / child.visits, child.visits
            score = q + self.settings.c_puct * node.priors[action] * math.sqrt(node.visits) / (1 + visits)
            if score > best_score:
                best, best_score = action, score
        return best

    def prove(self, node):
        results = [node.children[a].proof if a in node.children else None for a in node.priors]
        if LOSS in results:
            node.proof = WIN
        elif None not in results:
            node.proof = DRAW if DRAW in results else LOSS
