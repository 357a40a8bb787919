"""Our client of the Gomocup protocol, with engines that misbehave in every way, and engines in the arena."""

import asyncio
import json
import shlex
import sys

import pytest

from alphazero import get_game
from alphazero.__main__ import main
from alphazero.agents import Forfeit, make_agent
from alphazero.match import play_match
from alphazero.openings import sampled
from gomoku import gomocup
from gomoku.gomocup import EngineFailure, ExternalEngine
from gomoku.protocol import parse_xy

GAME = get_game("gomoku")

FAKE = r"""
import os, signal, sys, time
kind = sys.argv[1]
def say(line): print(line, flush=True)
taken, board = set(), False
def move():
    if kind == "crash": sys.stderr.write("oh dear\n"); sys.exit(3)
    if kind == "slow": time.sleep(100)
    if kind == "illegal": return say(min(taken))
    if kind == "outside": return say("9,9")
    if kind == "nonsense": return say("resign")
    if kind == "error": return say("ERROR I am lost")
    if kind == "silent": return say("UNKNOWN what now")
    if kind == "closed": os.close(1); time.sleep(100)
    if kind == "flood":
        while True: say("MESSAGE thinking")
    if kind == "endless":
        while True: os.write(1, b"x" * 65536)
    if kind == "stderr": os.write(2, b"y" * 10**6)
    if kind == "chatty": say("MESSAGE hm"); say("DEBUG depth 3"); say(""); say("message 1,1")
    cell = next(f"{x},{y}" for x in range(9) for y in range(9) if f"{x},{y}" not in taken)
    taken.add(cell)
    say(cell)
if kind == "deaf": signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if board and word != "DONE": taken.add(word.rpartition(",")[0])
    elif word == "START":
        taken.clear()
        say("ERROR too small" if kind == "picky" else "OK")
    elif word == "BOARD": board = True
    elif word == "INFO" and kind == "chatty": say("UNKNOWN info")
    elif word == "TURN": taken.add(rest); move()
    elif word == "BEGIN": move()
    elif word == "DONE": board = False; move()
    elif word == "END" and kind != "deaf": sys.exit(0)
if kind == "deaf": time.sleep(100)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """fake(kind): the command of an engine that has one fault. Nobody here needs long."""
    monkeypatch.setattr(gomocup, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(gomocup, "END_SECONDS", 0.3)
    script = tmp_path / "fake engine.py"
    script.write_text(FAKE)
    return lambda kind: shlex.join([sys.executable, "-S", str(script), kind])


@pytest.mark.parametrize("kind", ["good", "chatty", "stderr"])
def test_a_game_with_an_engine(fake, kind):
    with ExternalEngine(fake(kind), seconds=60) as engine:
        position = GAME.start()
        for reply in ("8,8", "7,7"):
            position = position.play(engine.choose(position)).play(parse_xy(reply))
        assert position.moves == tuple(map(parse_xy, ("0,0", "8,8", "0,1", "7,7")))
        other = GAME.start().play(parse_xy("0,0")).play(parse_xy("0,1"))  # another game: START and BOARD
        assert engine.choose(other) == parse_xy("0,2")
        board = GAME.from_board(other.board, 1)
        assert engine.choose(board) == parse_xy("0,2")
    assert engine._process.returncode == 0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("crash", "ended with exit code 3, saying 'oh dear'"),
        ("slow", "did not answer TURN 4,4 within"),
        ("illegal", "played 4,4, which is taken"),
        ("outside", "'9,9', which is no move"),
        ("nonsense", "'resign', which is no move"),
        ("error", "answered TURN 4,4 with 'ERROR I am lost'"),
        ("silent", "the last it said was 'UNKNOWN what now'"),
        ("closed", "closed its output"),
        ("flood", "lines after TURN 4,4, and no answer"),
        ("endless", "did not answer TURN 4,4"),
    ],
)
def test_what_an_engine_does_wrong_is_one_sentence_and_its_end(fake, monkeypatch, kind, words):
    monkeypatch.setattr(gomocup, "MAX_LINES", 300)
    engine = ExternalEngine(fake(kind), seconds=60 if kind == "flood" else 0.1)
    try:
        engine.start()
        engine._after = GAME.start()  # so that it is asked with TURN
        with pytest.raises(EngineFailure) as failure:
            engine.choose(GAME.start().play(parse_xy("4,4")))
    finally:
        engine.close()
    assert words in str(failure.value)
    assert str(failure.value).endswith(".")
    assert "\n" not in str(failure.value)
    assert engine._process.returncode is not None
    assert not engine._hearing.is_alive()
    engine.close()


def test_an_engine_that_does_not_leave_is_killed(fake):
    with ExternalEngine(fake("deaf")) as engine:
        pass
    assert engine._process.returncode == -9


@pytest.mark.parametrize("command", ["", "  ", "'", "no-such-program-anywhere", "\0"])
def test_what_is_no_command(command):
    with pytest.raises(ValueError, match=r"command|program"):
        ExternalEngine(command)


# -- in the arena -----------------------------------------------------------------------------------------------------


def test_seconds_and_colons_in_a_spec(fake):
    command = fake("good") + " a:b@c"
    for spec, seconds in ((f"gomocup:{command}", 1.0), (f"gomocup@0.25:{command}", 0.25)):
        agent = make_agent(GAME, spec)
        assert (agent.command, agent.seconds, agent.name) == (command, seconds, spec)
    for spec in (f"gomocup@x:{command}", f"gomocup@0:{command}", "gomocup:", "gomocup:no-such-program", "gomocup"):
        with pytest.raises(ValueError, match=r"SECONDS|written|program"):
            make_agent(GAME, spec)


def test_a_failing_engine_loses_its_games(fake):
    crash = make_agent(GAME, f"gomocup:{fake('crash')}")
    result = play_match(GAME, make_agent(GAME, "random"), crash, sampled(GAME, 3, 1, seed=1))
    assert [game.result for game in result.games] == [1, 1]
    assert all("exit code 3" in game.reason for game in result.games)


def test_an_engine_that_never_starts_is_no_match(fake):
    picky = make_agent(GAME, f"gomocup:{fake('picky')}")
    with pytest.raises(ValueError, match="refused START 9: 'ERROR too small'"):
        play_match(GAME, make_agent(GAME, "random"), picky, [()])
    picky._started = True  # it did, once
    with pytest.raises(Forfeit):
        asyncio.run(picky.sit_down(None))


def test_our_engine_in_the_arena(capfd):
    command = "gomocup:python -m gomoku.pbrain --simulations 20"
    assert main(["arena", "gomoku", "random", command, "--pairs", "1", "--openings", "sampled:3", "--json"]) == 0
    report = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert (report["games"], report["losses"], report["forfeits"]) == (2, 2, 0)
