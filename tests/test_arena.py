"""Matches: openings, agents, pairs, determinism, forfeits, Ctrl-C, and the command."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from alphazero import Player, get_game
from alphazero.agents import Agent, Contestant, Forfeit, NetAgent, PolicyAgent, make_agent, mix
from alphazero.elo import Sprt
from alphazero.engine import Engine
from alphazero.game import IllegalMove
from alphazero.match import fit_parallel, play_match
from alphazero.openings import empty, from_text, position_key, read_file, replay, sampled
from alphazero.rollout import Rollout
from chain_reaction import alphabeta
from tests.helpers import fixed_model, random_position
from tictactoe.agents import best_moves, value_to_move

CHAIN, GOMOKU, TICTACTOE = get_game("chain_reaction"), get_game("gomoku"), get_game("tictactoe")


def play_out(game, moves):
    position = game.start()
    for move in moves:
        position = position.play(move)
    return position


# -- openings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [CHAIN, GOMOKU, TICTACTOE])
def test_sampled_openings_are_open_distinct_and_repeatable(game):
    openings = sampled(game, 4, 40, seed=7)
    positions = [replay(game, opening) for opening in openings]
    assert all(position.plies == 4 and position.winner is None for position in positions)
    assert len({position_key(position) for position in positions}) == 40
    assert sampled(game, 4, 40, seed=7) == openings
    assert sampled(game, 4, 20, seed=7) == openings[:20]
    assert sampled(game, 4, 40, seed=8) != openings


def test_equal_up_to_symmetry_is_equal():
    position = play_out(GOMOKU, [3, 40, 77])
    keys = {position_key(position.transform(symmetry)) for symmetry in range(8)}
    assert keys == {position_key(position)}
    assert position_key(play_out(GOMOKU, [3, 40, 76])) not in keys


def test_a_small_game_repeats_its_openings_when_it_has_no_more():
    openings = sampled(TICTACTOE, 1, 7, seed=0)
    assert len(set(openings)) == 3  # corner, edge, centre
    assert openings[3:6] == openings[:3]
    assert sampled(TICTACTOE, 0, 2, seed=0) == empty(2)
    with pytest.raises(ValueError, match="take fewer"):
        sampled(TICTACTOE, 9, 1, seed=0)


def test_openings_from_a_file(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("# two ways to write it\nE5 D4  # a comment\n\n40 30\nE5, D4, a1\n")
    assert read_file(GOMOKU, path) == [(40, 30), (40, 30), (40, 30, 0)]
    assert from_text(GOMOKU, str(path), None, 0) == read_file(GOMOKU, path)
    assert from_text(GOMOKU, str(path), 4, 0) == [(40, 30), (40, 30), (40, 30, 0), (40, 30)]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("E5 D4\nE5 Z9\n", 2, "is no cell"),
        ("E5 E5\n", 1, "is taken"),
        ("\n# x\n81\n", 3, "is no cell"),
        ("A1 B1 A2 B2 A3 B3 A4 B4 A5\n", 1, "game is over"),
    ],
)
def test_a_bad_opening_names_file_line_and_reason(tmp_path, text, line, reason):
    path = tmp_path / "book.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"book.txt, line {line}: .*{reason}"):
        read_file(GOMOKU, path)


@pytest.mark.parametrize(("text", "words"), [("nowhere.txt", "sampled:K"), ("sampled:x", "whole"), ("sampled", "K")])
def test_unknown_openings_say_what_there_is(text, words):
    with pytest.raises(ValueError, match=words):
        from_text(GOMOKU, text, 3, 0)


def test_an_empty_file_and_a_folder_are_no_openings(tmp_path):
    (tmp_path / "none.txt").write_text("# nothing\n")
    with pytest.raises(ValueError, match="holds no opening"):
        read_file(GOMOKU, tmp_path / "none.txt")
    with pytest.raises(ValueError, match="can't be read"):
        read_file(GOMOKU, tmp_path)


# -- agents -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "spec", "words"),
    [
        (GOMOKU, "stockfish", r"players: net\[:FOLDER\]\[@SIMS\], .*policy\[:FOLDER\], .*rollout@N, random"),
        (CHAIN, "perfect", "greedy, alphabeta@DEPTH"),
        (GOMOKU, "greedy", "is no player of Gomoku"),
        (CHAIN, "", "is no player"),
        (CHAIN, "greedy@3", "must be written greedy"),
        (CHAIN, "alphabeta", "must be written alphabeta@DEPTH"),
        (CHAIN, "alphabeta@", "must be written alphabeta@DEPTH"),
        (CHAIN, "alphabeta@deep", "DEPTH must be a whole number"),
        (CHAIN, "alphabeta@99", "DEPTH must be a whole number"),
        (GOMOKU, "rollout", "must be written rollout@N"),
        (GOMOKU, "rollout@0", "N must be a whole number from 1"),
        (GOMOKU, "rollout@²", "N must be a whole number from 1"),
        (GOMOKU, "net@0", "SIMS must be a whole number from 1"),
        (GOMOKU, "net@many", "SIMS must be a whole number"),
        (GOMOKU, "net@", "must be written net"),
        (GOMOKU, "random:3", "must be written random"),
        (GOMOKU, "net:checkpoints/tictactoe@5", "plays tictactoe, not gomoku"),
    ],
)
def test_a_wrong_player_gets_one_sentence(game, spec, words):
    with pytest.raises(ValueError, match=words) as caught:
        make_agent(game, spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "simulations"), [("net", 200), ("net@7", 7), ("net:checkpoints/gomoku@30", 30), ("policy", 1)]
)
def test_networks_from_texts(spec, simulations):
    agent = make_agent(GOMOKU, spec)
    assert agent.name == spec
    assert agent.describe()["simulations"] == simulations
    assert json.dumps(agent.describe())


def test_a_net_plays_as_the_player_and_a_policy_as_the_network():
    model = fixed_model(GOMOKU, seed=3)
    player = Player(model, simulations=24, seed=0)
    for agent, expected in (
        (NetAgent(model, simulations=24), lambda position: player.search(position).action),
        (PolicyAgent(model), lambda position: int(np.argmax(player.evaluate(position)[0]))),
    ):
        for game in play_match(GOMOKU, agent, Stub("other"), [(40, 41, 30)]).games:
            for ply in range(3, min(12, game.plies)):
                position = play_out(GOMOKU, game.moves[:ply])
                if position.to_move == game.a_side:
                    assert game.moves[ply] == expected(position)


@pytest.mark.parametrize("seed", range(5))
def test_rollouts_take_a_win_and_stop_one(seed):
    row = play_out(GOMOKU, [36, 0, 37, 8, 38, 72, 39, 80])  # black has A5 to D5, only E5 makes five
    assert Rollout(GOMOKU, 10_000).choose(row, seed) == 40
    threatened = play_out(GOMOKU, [36, 0, 37, 8, 38, 72, 39])  # white must play there
    assert Rollout(GOMOKU, 10_000).choose(threatened, seed) == 40
    corner = play_out(TICTACTOE, [0, 4, 1])
    assert Rollout(TICTACTOE, 500).choose(corner, seed) == 2


def test_rollouts_depend_on_the_seed_alone():
    position = play_out(CHAIN, [6, 18, 6, 18])
    rollout = Rollout(CHAIN, 60)
    chosen = [rollout.choose(position, seed) for seed in range(30)]
    assert chosen == [Rollout(CHAIN, 60).choose(position, seed) for seed in range(30)]
    assert len(set(chosen)) > 1


def test_rollouts_see_a_finished_game_below_the_root():
    full = play_out(TICTACTOE, [0, 1, 2, 4, 3, 5, 7, 6])  # one cell left
    assert Rollout(TICTACTOE, 50).choose(full, 0) == 8


def minimax(position, depth, ply=0):
    """value_to_move by the book: no bounds, no order, the Python rules."""
    if position.winner is not None:
        return 0 if position.winner == 0 else -(alphabeta.WON - ply)
    if depth == 0:
        return int(alphabeta._evaluate(position.state[:-4], position.to_move, alphabeta.WORTH))
    return max(-minimax(position.play(action), depth - 1, ply + 1) for action in position.legal_moves())


def test_alphabeta_is_minimax():
    rng = np.random.default_rng(5)
    ends = 0
    for number in range(60):
        position = random_position(CHAIN, rng, int(rng.integers(2, 50)))
        depth = 1 + number % 3
        values = {a: -minimax(position.play(a), depth - 1, 1) for a in position.legal_moves()}
        best = max(values.values())
        found = alphabeta.root_values(position, depth)
        assert found.max() == best
        assert alphabeta.best_moves(position, depth) == [a for a, value in values.items() if value == best]
        ends += abs(best) > alphabeta.WON // 2
    assert ends > 0


@pytest.mark.parametrize("spec", ["greedy", "alphabeta@1", "alphabeta@5"])
def test_chain_reaction_players_win_at_once_if_they_can(spec):
    rng = np.random.default_rng(2)
    think, won = make_agent(CHAIN, spec).think, 0
    while won < 8:
        position = random_position(CHAIN, rng, 40)
        if any(position.play(action).winner is not None for action in position.legal_moves()):
            assert position.play(think(position, 0)).winner == position.to_move
            won += 1


@pytest.mark.parametrize(
    ("game", "spec", "moves"),
    [(CHAIN, "greedy", []), (CHAIN, "alphabeta@2", [12]), (TICTACTOE, "perfect", []), (GOMOKU, "random", [])],
)
def test_equal_moves_are_chosen_by_seed(game, spec, moves):
    think, position = make_agent(game, spec).think, play_out(game, moves)
    chosen = [think(position, seed) for seed in range(20)]
    assert chosen == [think(position, seed) for seed in range(20)]
    assert len(set(chosen)) > 1


def test_deeper_is_stronger():
    result = play_match(
        CHAIN, make_agent(CHAIN, "alphabeta@4"), make_agent(CHAIN, "greedy"), sampled(CHAIN, 6, 15, seed=1)
    )
    assert result.tally.score > 0.8


def test_perfect_knows_the_value_of_the_game():
    assert value_to_move(TICTACTOE.start()) == 0
    assert value_to_move(play_out(TICTACTOE, [0, 1])) > 0  # an edge in reply to a corner loses
    assert best_moves(play_out(TICTACTOE, [0])) == [4]


@pytest.mark.parametrize("opponent", ["random", "rollout@30", "perfect"])
def test_perfect_never_loses(opponent):
    perfect = make_agent(TICTACTOE, "perfect")
    result = play_match(TICTACTOE, perfect, make_agent(TICTACTOE, opponent), empty(60), seed=4)
    assert result.tally.losses == 0
    assert (result.tally.wins == 0) == (opponent == "perfect")


# -- matches ----------------------------------------------------------------------------------------------------------


class Stub(Agent):
    """Plays the first legal move, and notes what happens to it."""

    def __init__(self, name, *, external=False, error=None, at_ply=0, move=None):
        self.name, self.external = name, external
        self.error, self.at_ply, self.move = error, at_ply, move
        self.seats, self.closed = [], 0

    async def sit_down(self, seat):
        self.seats.append(seat)
        return StubInGame(self)


class StubInGame(Contestant):
    def __init__(self, agent):
        self.agent = agent

    async def choose(self, position):
        if position.plies >= self.agent.at_ply:
            if self.agent.error:
                raise self.agent.error
            if self.agent.move is not None:
                return self.agent.move
        return position.legal_moves()[0]

    async def close(self):
        self.agent.closed += 1


def test_colours_are_swapped_in_every_pair():
    a, b = Stub("a"), Stub("b")
    openings = [(), (4,), (0, 4)]
    result = play_match(TICTACTOE, a, b, openings, seed=9, parallel=1)
    assert [seat.side for seat in a.seats] == [1, -1] * 3
    assert [seat.side for seat in b.seats] == [-1, 1] * 3
    assert [(game.pair, game.a_side) for game in result.games] == [(p, s) for p in range(3) for s in (1, -1)]
    assert [game.opening for game in result.games] == [opening for opening in openings for _ in (0, 1)]
    assert all(game.moves[: len(game.opening)] == game.opening for game in result.games)
    # Both play alike, so the moves of a pair are the same and the result goes with the colour.
    for first, second in zip(result.games[::2], result.games[1::2], strict=True):
        assert first.moves == second.moves
        assert first.winner == second.winner == play_out(TICTACTOE, first.moves).winner
        assert first.result == -second.result
    assert result.tally.as_first.wins == result.tally.as_second.losses
    assert a.closed == b.closed == 6
    seeds = [seat.seed for seat in a.seats + b.seats]
    assert len(set(seeds)) == len(seeds)


def test_the_same_seed_plays_the_same_games_however_many_at_once():
    net, rollout = NetAgent(fixed_model(CHAIN, 1), simulations=12), make_agent(CHAIN, "rollout@25")
    openings = sampled(CHAIN, 4, 6, seed=1)
    results = [
        play_match(CHAIN, net, rollout, openings, seed=seed, parallel=parallel, threads=threads)
        for seed, parallel, threads in ((5, 1, 1), (5, 1, 1), (5, 12, 2), (6, 12, 2))
    ]
    assert results[0].games == results[1].games == results[2].games
    assert results[0].tally == results[2].tally
    assert results[0].games != results[3].games


def test_a_test_stops_at_the_same_pair_however_many_games_are_under_way():
    strong, weak = make_agent(TICTACTOE, "perfect"), make_agent(TICTACTOE, "random")
    results = [
        play_match(TICTACTOE, strong, weak, empty(200), seed=3, parallel=parallel, sprt=Sprt(0, 150))
        for parallel in (1, 7, 64)
    ]
    assert all(result.verdict.decision == "H1" for result in results)
    assert results[0].tally == results[1].tally == results[2].tally
    assert results[0].games == results[1].games == results[2].games
    assert results[0].tally.pairs < 200
    assert len(results[0].games) == 2 * results[0].tally.pairs


def test_draws_between_equals_do_not_promote():
    perfect = make_agent(TICTACTOE, "perfect")
    result = play_match(TICTACTOE, perfect, perfect, empty(100), seed=1, sprt=Sprt(0, 35))
    assert result.tally.draws == result.tally.games
    assert result.verdict.decision != "H1"


def test_identical_games_are_reported():
    model = fixed_model(GOMOKU)
    result = play_match(GOMOKU, PolicyAgent(model), NetAgent(model, simulations=5), empty(5))
    assert result.distinct_games <= 2
    assert "distinct" in result.warning
    varied = play_match(GOMOKU, make_agent(GOMOKU, "random"), make_agent(GOMOKU, "random"), empty(5))
    assert varied.distinct_games == 10
    assert varied.warning is None


def test_mirrored_games_are_identical():
    a, b = Stub("a"), Stub("b")
    result = play_match(TICTACTOE, a, b, [(0, 8), (0, 8)])
    mirrored = [game.moves if n else tuple(8 - m for m in game.moves) for n, game in enumerate(result.games)]
    turned = [type(game)(game.pair, 1, (), moves, 0, None) for game, moves in zip(result.games, mirrored, strict=True)]
    assert len({game.moves for game in turned}) == 2
    assert type(result)(**{**vars(result), "games": turned}).distinct_games == 1


@pytest.mark.parametrize(
    ("external", "reason"),
    [
        ({"error": Forfeit("no answer in 5 s"), "at_ply": 2}, "engine: no answer in 5 s"),
        ({"move": 99}, "engine: A move is a cell number"),
        ({"move": 0, "at_ply": 1}, "engine: A1 (cell 0) is taken"),
        ({"error": BrokenPipeError("gone")}, "engine: gone"),
    ],
)
def test_an_external_engine_that_fails_loses_that_game(external, reason):
    engine, other = Stub("engine", external=True, **external), Stub("other")
    result = play_match(TICTACTOE, engine, other, empty(3))
    assert result.tally.games == 6
    assert result.tally.losses >= 3
    assert result.forfeits
    assert all(game.reason.startswith(reason) and game.result == -1 for game in result.forfeits)
    assert engine.closed == other.closed == 6


@pytest.mark.parametrize("bad", [{"error": RuntimeError("a bug")}, {"move": 99}, {"error": Forfeit("not mine to say")}])
def test_our_own_errors_end_the_match(bad):
    ours, other = Stub("ours", at_ply=3, **bad), Stub("other")
    with pytest.raises((RuntimeError, IllegalMove, Forfeit)):
        play_match(TICTACTOE, ours, other, empty(4), parallel=3)
    assert ours.closed == len(ours.seats)
    assert other.closed == len(other.seats)


def test_ctrl_c_gives_what_is_finished():
    seen = []

    def on_game(record, tally):
        seen.append(record)
        if len(seen) == 9:
            signal.raise_signal(signal.SIGINT)

    agents = make_agent(TICTACTOE, "random"), make_agent(TICTACTOE, "perfect")
    result = play_match(TICTACTOE, *agents, empty(5000), parallel=2, on_game=on_game)
    assert result.interrupted
    assert 3 <= result.tally.pairs < 5000
    assert len(result.games) == result.tally.games == 2 * result.tally.pairs


def test_an_agent_may_limit_how_many_games_run_at_once():
    running, most = 0, 0

    class Counting(StubInGame):
        async def close(self):
            nonlocal running
            running -= 1

    class Single(Stub):
        at_once = 2

        async def sit_down(self, seat):
            nonlocal running, most
            running += 1
            most = max(most, running)
            return Counting(self)

    play_match(TICTACTOE, Single("single"), make_agent(TICTACTOE, "rollout@20"), empty(10), parallel=32)
    assert most == 2


def test_a_match_uses_the_engine_it_is_given_and_leaves_it_open():
    engine = Engine()
    net = NetAgent(fixed_model(TICTACTOE), simulations=10)
    result = play_match(TICTACTOE, net, net, empty(2), engine=engine)
    assert engine.stats.snapshot()["tictactoe"]["simulations"] > 0
    assert result.tally.games == 4
    assert play_match(TICTACTOE, net, net, empty(2), engine=engine).games == result.games
    engine.close()


def test_large_searches_get_fewer_games_at_once():
    model = fixed_model(GOMOKU)
    assert fit_parallel(GOMOKU, [NetAgent(model, simulations=100)], 64) == 64
    assert 1 <= fit_parallel(GOMOKU, [NetAgent(model, simulations=100_000)], 64) < 64


def test_seeds_mix_well():
    seeds = {mix(a, b) for a in range(50) for b in range(50)}
    assert len(seeds) == 2500
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("bad", [{"seed": -1}, {"parallel": 0}, {"openings": []}, {"openings": [(0, 0)]}])
def test_a_match_refuses_nonsense(bad):
    agents = Stub("a"), Stub("b")
    options = {"openings": empty(1), **bad}
    with pytest.raises(ValueError, match=r"seed|parallel|opening|taken"):
        play_match(TICTACTOE, *agents, **options)


# -- the command ------------------------------------------------------------------------------------------------------


def arena(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "alphazero", "arena", *arguments], capture_output=True, text=True, timeout=300
    )


def test_the_command_prints_a_summary_and_one_object_last(tmp_path):
    path = tmp_path / "games.jsonl"
    options = ("--pairs", "6", "--seed", "2", "--sprt", "0", "50", "--save", str(path), "--json")
    done = arena("tictactoe", "net@10", "random", *options)
    assert done.returncode == 0, done.stderr
    assert "net@10 against random" in done.stdout
    assert "95 %" in done.stdout
    report = json.loads(done.stdout.splitlines()[-1])
    assert (report["a"], report["b"], report["seed"]) == ("net@10", "random", 2)
    assert report["wins"] + report["draws"] + report["losses"] == report["games"] == 2 * report["pairs"]
    assert {"first", "second"} == set(report["by_colour"])
    for key in ("score", "elo", "elo_low", "elo_high", "sprt", "distinct_games", "openings", "seconds", "players"):
        assert key in report
    games = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(games) == report["games"]
    for game in games:
        assert play_out(TICTACTOE, game["moves"]).winner == game["winner"]
        assert {game["first"], game["second"]} == {"net@10", "random"}
    assert sum(game["result_a"] for game in games) == report["wins"] - report["losses"]


def test_a_round_robin_prints_a_table():
    done = arena("tictactoe", "perfect", "random", "rollout@50", "--pairs", "5", "--openings", "empty", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    ratings = {rating["name"]: rating["elo"] for rating in report["ratings"]}
    assert ratings["perfect"] > ratings["random"]
    assert len(report["matches"]) == 3
    assert all(rating["games"] == 20 for rating in report["ratings"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["random"], "two players"),
        (["random", "chess@3"], "players: net"),
        (["random", "random", "--pairs", "0"], "pairs must be"),
        (["random", "random", "--openings", "book"], "sampled:K"),
        (["random", "random", "--sprt", "5", "0"], "elo0 must be less"),
        (["random", "random", "--workers", "0"], "workers must be"),
        (["random", "random", "--parallel", "0"], "parallel must be"),
        (["random", "random", "--save", "no/such/folder/games.jsonl"], "no folder"),
        (["net:no/such/folder@5", "random"], "no checkpoint folder"),
    ],
)
def test_bad_arguments_get_a_sentence_not_a_traceback(arguments, words):
    done = arena("tictactoe", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_sampled_openings_are_not_won_with_the_next_move():
    """Beside Red's cell Blue's loses at once: such an opening says nothing about who is stronger."""
    for moves in sampled(CHAIN, 2, 60, seed=1):
        position = replay(CHAIN, moves)
        assert not any(position.play(move).winner == 1 for move in position.legal_moves())
