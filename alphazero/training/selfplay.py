"""Self-play in one process: many games, stepped as one batch.

Each game owns a tree of one Forest. Its search over, a game records what was found, moves and searches on, so the
batch is always full. Games in flight go on when a new network arrives. A game whose outcome is proven ends there
(most of them: `play_on`), with exact targets; so does one that nobody will win any more, if `draw_margin` says so.

Before a search the game's prover may look at the position (`proof_nodes`): a win needs no search, and its line teaches
every move of the winner's; moves that are refuted are neither taught nor played. Some games begin with moves drawn
from the bare network's policy (`loose_plies`): positions as people get into them, with something to find for either
side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from alphazero.evaluator import Evaluator
from alphazero.forest import Forest, draw_noise
from alphazero.game import EXTRA, LAST, PLIES, TO_MOVE, UNDECIDED, Game, Position
from alphazero.pool import LOSS, OPEN, WIN, node_bytes
from alphazero.proof import Effort, Proof
from alphazero.train_settings import TrainSettings
from alphazero.training.samples import Samples
from alphazero.training.targets import harvest, set_out

# Searches in a row within `draw_margin` of even that end a game as a draw. Of 701 such Gomoku games that went on to the
# end (margin 0.08), 699 were drawn, 38 plies later: docs/training-log.md.
QUIET_SEARCHES = 4
NOTHING_PROVEN = Proof()
MOST_WON_OPENINGS = 8  # in a row, before one of them is played
TREE_MEMORY = 512 << 20  # at least; address space, pages become real as trees grow


@dataclass(eq=False)
class _Game:
    """One game in flight: its recorded positions and what was found there."""

    play_on: bool
    plies: int = 0
    quiet: int = 0  # searches in a row that saw nobody ahead
    loose_until: int = 0  # the ply before which moves are drawn from the network's policy, without a search to record
    proof: Proof = NOTHING_PROVEN  # what the prover says of the position
    states: list[np.ndarray] = field(default_factory=list)
    policies: list[np.ndarray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def record(self, state: np.ndarray, policy: np.ndarray, value: float) -> None:
        """Keep a position, what to teach about its moves [actions], and its value_to_move."""
        self.states.append(state.copy())
        self.policies.append(policy)
        self.values.append(value)


class SelfPlay:
    """Deterministic by seed, given the same networks and counts."""

    def __init__(self, game: Game, settings: TrainSettings, seed: int | list[int]):
        self.game = game
        self._settings = settings
        self._search = settings.search(game.search)
        self._rng = np.random.default_rng(seed)
        count = settings.parallel
        most = max(settings.simulations, settings.simulations_end) + 2
        room = 2 * count * most * node_bytes(game.num_actions, game.state_size)
        self._forest = Forest(game, trees=count, memory_bytes=max(TREE_MEMORY, room), max_batch=count)
        self._games: list[_Game | None] = [None] * count
        self._full = np.zeros(count, np.bool_)  # is this tree's search one to record?
        self._active = np.arange(count, dtype=np.int64)
        self._one = np.ones(count, np.int64)
        self._empty = (np.zeros((0, game.num_actions), np.float32), np.zeros(0, np.float32))
        self.evaluations = 0
        self.simulations = settings.simulations

    def play(self, evaluator: Evaluator, games: int, simulations: int) -> list[Samples]:
        """Step all games until so many more have ended; those, in the order they ended."""
        self.simulations = simulations
        finished: list[Samples] = []
        for tree, game in enumerate(self._games):
            if game is None:
                finished += self._begin(tree)
        while len(finished) < games:
            finished += self.step(evaluator)
        return finished

    def step(self, evaluator: Evaluator) -> list[Samples]:
        """One evaluation of every game in flight; the games that ended by it."""
        batch = self._forest.gather(self._active, self._one)
        self.evaluations += len(batch)
        done = self._forest.scatter(*(evaluator.evaluate(batch) if len(batch) else self._empty))
        return [] if done is None else self._move(np.flatnonzero(done))

    def simulations_done(self) -> int:
        """In all searches so far; more than evaluations, since trees that go on ask the network only once."""
        return self._forest.total_simulations()

    def _begin(self, tree: int) -> list[Samples]:
        """A new game in this tree, from the empty board or after some random moves; and those that ended as they began.

        The prover may know an opening to be won: that game is over with the proof's samples, and the next begins. After
        a few of them one is played on, since a prover may know all openings that there are.
        """
        ended: list[Samples] = []
        while True:
            position = self._opening()
            play_on = self._rng.random() < self._settings.play_on or len(ended) == MOST_WON_OPENINGS
            game = _Game(play_on=play_on, plies=position.plies)
            if self._settings.loose_plies and self._rng.random() < self._settings.loose_fraction:
                game.loose_until = game.plies + int(self._rng.integers(1, self._settings.loose_plies + 1))
            if not self._is_won(game, position.state):
                break
            ended.append(_samples(game, position.to_move))
        self._games[tree] = game
        self._forest.begin(tree, position, 1, self._search, seed=0)
        self._set_out(np.array([tree]))
        return ended

    def _is_won(self, game: _Game, state: np.ndarray) -> bool:
        """Ask the prover about the game's next position: is it over, won by a move that needs no search?"""
        if not self._settings.proof_nodes or game.plies < game.loose_until or self.game.prove is None:
            return False
        game.proof = self.game.prove(Position(self.game, state), Effort(self._settings.proof_nodes))
        if game.proof.result != "win" or game.play_on:
            return False
        for position, policy in won_line(Position(self.game, state), game.proof):
            game.record(position.state, policy, 1.0)
        return True

    def _opening(self) -> Position:
        position = self.game.start()
        if self._rng.random() < self._settings.opening_fraction:
            for _ in range(self._rng.integers(1, self._settings.opening_plies + 1)):
                following = position.play(int(self._rng.choice(position.legal_moves())))
                if following.winner is not None:
                    break
                position = following
        return position

    def _set_out(self, trees: np.ndarray) -> None:
        """Begin the next search of these trees: a full one, or with PUCT mostly a cheap one (playout cap).

        In a loose opening one simulation is enough: under a Gumbel root it goes to a move drawn from the policy.
        """
        count, settings = len(trees), self._settings
        full = np.ones(count, np.bool_)
        if settings.root == "puct":
            full = self._rng.random(count) < settings.full_fraction
        cheap = max(2, round(self.simulations * settings.cheap_fraction))
        limits = np.where(full, self.simulations, cheap)
        noise = draw_noise(self._rng, self._search, (count, self.game.num_actions))
        for i, tree in enumerate(trees.tolist()):
            game = self._games[tree]
            if game is not None and game.plies < game.loose_until:
                full[i], limits[i] = False, 1
                noise[i] *= settings.loose_temperature
        self._full[trees] = full
        set_out(self._forest.pool, trees, limits, np.where(full, self._search.noise_fraction, 0.0), noise)

    def _move(self, trees: np.ndarray) -> list[Samples]:
        """Record and make the moves of trees whose searches are done; the games that ended by it."""
        count, actions = len(trees), self.game.num_actions
        games = [self._games[tree] for tree in trees]
        temperatures = np.array([self._settings.temperature_at(game.plies) for game in games if game])
        policies = np.zeros((count, actions), np.float32)
        values = np.zeros(count)
        proofs = np.zeros(count, np.int64)
        moves = np.zeros(count, np.int64)
        pool = self._forest.pool
        harvest(pool, trees, temperatures, self._rng.random(count), policies, values, proofs, moves)
        states = pool.states[pool.trees["root"][trees]]
        ended: list[Samples] = []
        going: list[int] = []
        for i, (tree, game) in enumerate(zip(trees.tolist(), games, strict=True)):
            assert game is not None
            proven, value, move = int(proofs[i]), float(values[i]), int(moves[i])
            if game.proof.moves and proven == OPEN:
                proven, value, move = _heed(game.proof, policies[i], value, move)
            if self._full[tree] or proven != OPEN:
                game.record(states[i], policies[i], value)
            searched = game.plies >= game.loose_until  # else the value is the bare network's
            game.quiet = game.quiet + 1 if searched and abs(value) < self._settings.draw_margin else 0
            if (proven != OPEN or game.quiet == QUIET_SEARCHES) and not game.play_on:
                self._forest.close(tree)
                to_move = int(states[i, TO_MOVE])
                winner = {WIN: to_move, LOSS: -to_move}.get(proven, 0)
            else:
                winner = self._forest.advance(tree, move)
                game.plies += 1
                game.proof = NOTHING_PROVEN
                if winner == UNDECIDED and self._is_won(game, pool.states[pool.trees["root"][tree]]):
                    self._forest.close(tree)
                    winner = -int(states[i, TO_MOVE])
            if winner == UNDECIDED:
                going.append(tree)
                continue
            if game.states:  # with few recorded moves a short game may have none
                ended.append(_samples(game, winner))
            ended += self._begin(tree)
        if going:
            self._set_out(np.array(going))
        return ended


def won_line(position: Position, proof: Proof) -> Iterator[tuple[Position, np.ndarray]]:
    """The winner's positions along a proven win, each with what to teach about its moves [actions].

    A game that ends at the proof would otherwise never show how the win goes on. What the loser may try is left out: a
    proof knows of all his moves that they lose, and prefers none.
    """
    yield position, proven_policy(proof, np.zeros(position.game.num_actions, np.float32))
    for ply, move in enumerate(proof.line):
        if ply and ply % 2 == 0:
            policy = np.zeros(position.game.num_actions, np.float32)
            policy[move] = 1.0
            yield position, policy
        position = position.play(move)


def proven_policy(proof: Proof, policy: np.ndarray) -> np.ndarray:
    """Write into `policy` [actions], and return, what a proof of a win teaches: all moves known to win, alike."""
    wins = [move for move, word in proof.moves.items() if word == "win"]
    policy[:] = 0.0
    policy[wins] = 1.0 / len(wins)
    return policy


def _heed(proof: Proof, policy: np.ndarray, value: float, move: int) -> tuple[int, float, int]:
    """(result, value_to_move, move) of a search corrected by what is proven; so is its policy [actions], in place."""
    if proof.result == "win":
        proven_policy(proof, policy)
        return WIN, 1.0, proof.line[0]
    if proof.result == "loss":
        return LOSS, -1.0, move  # all moves lose: which of them the search would try is still worth learning
    sound = policy.copy()
    sound[[lost for lost, word in proof.moves.items() if word == "loss"]] = 0.0
    if sound.sum() > 0.0:  # a search may have seen nothing but what is refuted: then its policy has to do
        policy[:] = sound / sound.sum()
        move = move if policy[move] > 0.0 else int(policy.argmax())
    return OPEN, value, move


def _samples(game: _Game, winner: int) -> Samples:
    """The recorded moves of one finished game, outcome filled in for whoever was to move."""
    states = np.stack(game.states)
    to_move = states[:, TO_MOVE]
    return Samples(
        cells=states[:, :-EXTRA].astype(np.int8),
        to_move=to_move.astype(np.int8),
        last=states[:, LAST].astype(np.int16),
        ply=states[:, PLIES].astype(np.int16),
        policy=np.stack(game.policies).astype(np.float16),
        outcome=(winner * to_move).astype(np.int8),
        search_value=np.array(game.values, np.float32),
        game=np.zeros(len(states), np.int32),
        plies=np.array([game.plies], np.int16),
        winner=np.array([winner], np.int8),
    )
