"""Self-play: samples that are legal and tell the truth, games that repeat by seed; shards and the replay window."""

from dataclasses import fields, replace

import numpy as np
import pytest

from alphazero import get_game
from alphazero.game import Position
from alphazero.proof import Effort, Proof
from alphazero.train_settings import TrainSettings
from alphazero.training.replay import LearningData, Replay, Window
from alphazero.training.samples import (
    PER_SAMPLE,
    DamagedShard,
    Samples,
    column_types,
    encode_batch,
    read_shard,
    write_shard,
)
from alphazero.training.selfplay import SelfPlay
from tests.helpers import FixedEvaluator

GAMES = ["chain_reaction", "gomoku", "tictactoe"]
SMALL = TrainSettings(parallel=16, simulations=12, candidates=6)


def play(name, games=12, seed=0, **changes):
    game = get_game(name)
    selfplay = SelfPlay(game, replace(SMALL, **changes), seed)
    return selfplay.play(FixedEvaluator(game), games, 12)


def columns(samples):
    return {field.name: getattr(samples, field.name) for field in fields(samples)}


def position_of(game, samples, i):
    """A sample's position, put together from its columns."""
    state = [*samples.cells[i], samples.to_move[i], samples.last[i], 2, samples.ply[i]]
    return Position(game, np.array(state, np.int16))


@pytest.mark.parametrize("root", ["gumbel", "puct"])
@pytest.mark.parametrize("name", GAMES)
def test_every_sample_is_a_position_of_its_game_and_teaches_legal_moves(name, root):
    game = get_game(name)
    for samples in play(name, root=root, play_on=0.5):
        assert samples.games == 1
        assert set(np.unique(samples.game)) <= {0}
        for i in range(len(samples)):
            position = position_of(game, samples, i)
            illegal = np.ones(game.num_actions, bool)
            illegal[position.legal_moves()] = False
            policy = samples.policy[i].astype(np.float32)
            assert (policy[illegal] == 0).all()
            assert policy.sum() == pytest.approx(1, abs=2e-3)
            assert -1 <= samples.search_value[i] <= 1
            assert samples.outcome[i] == samples.winner[0] * samples.to_move[i]
            if i and root == "gumbel":  # each position follows from the one before by a move that was not refuted
                before = position_of(game, samples, i - 1)
                assert samples.ply[i] == samples.ply[i - 1] + 1
                after = before.play(int(samples.last[i]))
                assert after.state[:-4].tolist() == samples.cells[i].tolist()
                assert after.to_move == samples.to_move[i]


@pytest.mark.parametrize("name", GAMES)
def test_games_played_on_end_as_the_rules_say_and_others_are_proven(name):
    game = get_game(name)
    for samples in play(name, play_on=1.0, opening_fraction=0.0):
        assert samples.ply[0] == 0
        assert samples.plies[0] == samples.ply[-1] + 1
        last = position_of(game, samples, len(samples) - 1)
        ends = [last.play(move).winner for move in last.legal_moves()]
        assert samples.winner[0] in ends
    for samples in play(name, play_on=0.0):
        assert abs(samples.search_value[-1]) in (0, 1)
        assert samples.search_value[-1] == samples.outcome[-1]


def test_puct_records_a_fraction_of_the_moves():
    samples = Samples.join(play("chain_reaction", games=20, root="puct", full_fraction=0.25, play_on=1.0))
    moves = samples.plies.sum()
    assert 0.1 * moves < len(samples) < 0.4 * moves


def test_games_begin_with_random_moves_and_without():
    begins = [int(samples.ply[0]) for samples in play("gomoku", games=60, opening_fraction=0.5, opening_plies=3)]
    assert {0, 1, 2, 3} == set(begins)


@pytest.mark.parametrize("root", ["gumbel", "puct"])
def test_same_seed_same_games(root):
    first, again, other = (Samples.join(play("chain_reaction", root=root, seed=seed)) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(columns(first).values(), columns(again).values(), strict=True))
    assert not np.array_equal(first.policy, other.policy)


def test_games_in_flight_go_on_between_calls():
    game = get_game("tictactoe")
    at_once = SelfPlay(game, SMALL, 3).play(FixedEvaluator(game), 30, 12)
    selfplay = SelfPlay(game, SMALL, 3)
    in_parts: list[Samples] = []
    while len(in_parts) < len(at_once):
        in_parts += selfplay.play(FixedEvaluator(game), 1, 12)
    for one, two in zip(at_once, in_parts, strict=False):
        assert np.array_equal(one.cells, two.cells)


def test_temperature_falls_with_the_move_number():
    settings = TrainSettings(temperature=1.0, temperature_end=0.1, temperature_plies=4)
    temperatures = [settings.temperature_at(ply) for ply in range(40)]
    assert temperatures[0] == 1
    assert temperatures[4] == 0.5
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[-1] == 0.1


# -- samples on their way to the learner ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_turned_sample_is_the_sample_of_the_turned_position(name):
    game = get_game(name)
    samples = Samples.join(play(name, games=4))
    for symmetry in range(8):
        chosen = np.arange(len(samples))
        planes, policy = encode_batch(game, samples.take(chosen), np.full(len(samples), symmetry))
        for i in range(len(samples)):
            turned = position_of(game, samples, i).transform(symmetry)
            assert np.array_equal(planes[i], turned.planes())
            moved = np.zeros(game.num_actions)
            moved[game.symmetries[symmetry]] = samples.policy[i]
            assert policy[i] == pytest.approx(moved / moved.sum(), abs=1e-3)


def test_a_shard_comes_back_as_it_was(tmp_path):
    game = get_game("gomoku")
    samples = Samples.join(play("gomoku"))
    path = write_shard(tmp_path, 7, samples)
    assert path.name.startswith(f"00000007-{samples.games}g-{len(samples)}s-")
    back = read_shard(path, game)
    assert all(np.array_equal(a, b) for a, b in zip(columns(samples).values(), columns(back).values(), strict=True))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other game", "nan", "name"])
def test_a_damaged_shard_is_set_aside_and_the_rest_is_read(tmp_path, damage):
    game = get_game("tictactoe")
    samples = Samples.join(play("tictactoe"))
    warnings = []
    replay = Replay(tmp_path, game, warnings.append)
    for _ in range(3):
        replay.append(samples)
    path = replay.shards[1].path
    blob = bytearray(path.read_bytes())
    if damage == "flip":
        blob[len(blob) // 2] ^= 1
        path.write_bytes(bytes(blob))
    elif damage == "cut":
        path.write_bytes(bytes(blob[: len(blob) // 2]))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage in ("other game", "nan"):
        path.unlink()
        other = Samples.join(play("chain_reaction"))
        bad = other if damage == "other game" else replace(samples, search_value=samples.search_value * np.nan)
        path = write_shard(tmp_path, 2, bad)
    else:
        path = path.rename(path.with_name(path.name.replace("00000002", "00000009")))
    replay = Replay(tmp_path, game, warnings.append)
    read = [replay.read(shard) for shard in list(replay.shards)]
    if damage == "name":  # a renamed file is still whole
        assert all(read)
        return
    assert [part is None for part in read] == [False, True, False]
    assert (tmp_path / "damaged" / path.name).exists()
    assert not path.exists()
    assert len(warnings) == 1
    assert path.name in warnings[0]
    assert replay.next_number == 4


def test_the_window_is_a_queue_of_whole_shards():
    game = get_game("tictactoe")
    window = Window(game, 1)
    window.capacity = 100  # the arrays are larger; the ring must not care
    rng = np.random.default_rng(0)
    model: list[list[int]] = []
    stamp = 0
    for _ in range(300):
        count, games = int(rng.integers(1, 40)), int(rng.integers(1, 4))
        numbers = np.arange(stamp, stamp + count) % 30_000
        stamp += count
        part = {name: np.zeros((count, *row), kind) for name, (kind, row) in column_types(game).items()}
        part["ply"] = numbers.astype(np.int16)
        window.add({name: part[name] for name in PER_SAMPLE}, games)
        model.append([games, *numbers.tolist()])
        while sum(len(shard) - 1 for shard in model) > 100:
            model.pop(0)
        limit = int(rng.integers(2, 12))
        window.keep(limit)
        while len(model) > 1 and sum(shard[0] for shard in model) > limit:
            model.pop(0)
        expected = [number for shard in model for number in shard[1:]]
        assert window.take(np.arange(window.samples))["ply"].tolist() == expected
        assert window.games == sum(shard[0] for shard in model)


def test_the_windows_memory_is_bounded_by_what_it_says():
    for name in GAMES:
        game = get_game(name)
        window = Window(game, game.training.window_mb)
        size = sum(column.nbytes for column in window._columns.values())
        assert size <= game.training.window_mb << 20 < 2 << 30


def test_whole_games_are_held_out():
    game = get_game("tictactoe")
    data = LearningData(game, 16, held_out=0.2)
    samples = Samples.join(play("tictactoe", games=100))
    data.add(1, samples)
    held, learnt = data.held_out.samples, data.window.samples
    assert held + learnt == len(samples)
    assert 0.05 * len(samples) < held < 0.45 * len(samples)
    again = LearningData(game, 16, held_out=0.2)
    again.add(1, samples)
    assert again.held_out.samples == held  # a resumed run holds out the same games


def test_reading_says_what_is_wrong(tmp_path):
    path = tmp_path / "games.bin"
    path.write_bytes(b"x")
    with pytest.raises(DamagedShard, match="not named"):
        read_shard(path, get_game("gomoku"))


@pytest.mark.parametrize(("root", "recorded"), [("gumbel", 4), ("puct", None)])
def test_a_game_that_stays_even_ends_as_a_draw_unless_played_on(root, recorded):
    """A margin of 1 takes every unproven search for even: the game ends at the fourth, cheap ones of puct included."""
    for samples in play("gomoku", games=20, root=root, draw_margin=1.0, play_on=0.0, opening_fraction=0.0):
        assert len(samples) == recorded if recorded else len(samples) <= 4
        assert samples.winner[0] == 0
        assert not samples.outcome.any()
    assert all(len(samples) > 4 for samples in play("gomoku", games=3, draw_margin=1.0, play_on=1.0))


def test_tactics_prove_games_sooner():
    plain, sharp = (play("gomoku", games=40, leaf_nodes=nodes, draw_margin=0.0, play_on=0.0) for nodes in (0, 50))
    assert np.mean([len(samples) for samples in sharp]) < np.mean([len(samples) for samples in plain])
    assert all(abs(samples.search_value[-1]) in (0, 1) for samples in sharp)


def test_a_prover_ends_games_and_teaches_every_move_that_it_knows_to_win():
    game, effort = get_game("gomoku"), Effort(2000)
    wins = longer = 0
    for samples in play("gomoku", games=40, proof_nodes=effort.nodes, leaf_nodes=0, play_on=0.0):
        for i in range(len(samples)):
            position = position_of(game, samples, i)
            proof = game.prove(position, effort)
            policy = samples.policy[i]
            if proof.result == "win":
                wins += 1
                longer += i + 1 < len(samples)
                assert samples.search_value[i] == samples.outcome[i] == 1
                assert set(np.flatnonzero(policy)) == {move for move, word in proof.moves.items() if word == "win"}
                check_line(samples, i, proof.line)
                break
            if proof.result is None:
                assert not any(policy[move] for move, word in proof.moves.items() if word == "loss")
    assert wins > 10
    assert longer > 5


def check_line(samples, first, line):
    """A proof's line is taught as the winner sees it: every second move of it, each as the only one after the first."""
    assert len(samples) - first == (len(line) + 1) // 2
    for i in range(first + 1, len(samples)):
        assert samples.ply[i] == samples.ply[i - 1] + 2
        assert samples.to_move[i] == samples.to_move[first]
        assert samples.outcome[i] == samples.search_value[i] == 1
        assert np.flatnonzero(samples.policy[i]).tolist() == [line[2 * (i - first)]]


def test_a_game_played_on_follows_the_proof_and_makes_no_refuted_move():
    game, effort = get_game("gomoku"), Effort(2000)
    checked = 0
    for samples in play("gomoku", games=30, proof_nodes=effort.nodes, leaf_nodes=0, play_on=1.0):
        for i in range(len(samples) - 1):
            proof = game.prove(position_of(game, samples, i), effort)
            word = proof.moves.get(int(samples.last[i + 1]))
            if proof.result == "win":
                assert word == "win"
                assert samples.search_value[i] == 1
            elif proof.result is None and proof.moves:
                assert word is None
            checked += bool(proof.moves)
        assert samples.plies[0] == samples.ply[-1] + 1
    assert checked > 30


def test_a_prover_that_knows_the_whole_game_leaves_something_to_play():
    def prove(position, effort):
        move = position.legal_moves()[0]
        return Proof("win", 1, (move,), {move: "win"})

    game = replace(get_game("tictactoe"))
    vars(game)["prove"] = prove  # where the game would keep its own, once it has looked for it
    settings = replace(game.training, proof_nodes=1, opening_fraction=0.0, play_on=0.0, parallel=2)
    games = SelfPlay(game, settings, seed=1).play(FixedEvaluator(game), 20, 4)
    assert max(len(samples) for samples in games) > 1


def test_a_loose_opening_is_drawn_from_the_policy_and_not_recorded():
    loose = {"opening_fraction": 0.0, "loose_fraction": 1.0, "loose_plies": 4, "leaf_nodes": 0}
    games = play("gomoku", games=60, **loose)
    assert {int(samples.ply[0]) for samples in games} == {1, 2, 3, 4}
    boards = {samples.cells[0].tobytes() for samples in games}
    assert len(boards) > 30
    # Without temperature nothing is drawn: one opening of each length.
    same = play("gomoku", games=60, **loose, loose_temperature=0.0)
    assert len({samples.cells[0].tobytes() for samples in same}) == 4
