"""Our engine behind the Gomocup protocol: sessions in a real process, its clock, its reading of lines and boards."""

import random
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from queue import Queue
from types import SimpleNamespace

import pytest

from alphazero import Budget, get_game
from alphazero.settings import MAX_SIMULATIONS
from gomoku import clock
from gomoku.clock import Clock, margin, moves_to_come
from gomoku.pbrain import Brain
from gomoku.protocol import MAX_LINE, BoardReader, Lines, ProtocolError, board_lines, parse_xy, write_xy

GAME = get_game("gomoku")
PBRAIN = [sys.executable, "-m", "gomoku.pbrain"]
PATIENCE = 120  # seconds until a test gives up; nothing here measures time

# Four in a row of the first player's, with the fifth cell open at 4,0 only.
FOUR = ["0,0", "0,8", "1,0", "2,8", "2,0", "4,8", "3,0", "6,8"]


class Session:
    """An engine in a process of its own and a manager that types."""

    def __init__(self, *options):
        self.process = subprocess.Popen([*PBRAIN, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.lines = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.decode("ascii").rstrip("\n"))
        self.lines.put(None)

    def write(self, data):
        self.process.stdin.write(data)

    def send(self, *lines):
        self.write("".join(f"{line}\r\n" for line in lines).encode())

    def read(self):
        return self.lines.get(timeout=PATIENCE)

    def ask(self, *lines):
        self.send(*lines)
        return self.read()

    def quit(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def shared():
    session = Session("--simulations", "200")  # enough for any network to try every move
    yield session
    assert session.quit() == 0


@pytest.fixture
def session(shared):
    """The one engine of this module with a new game."""
    assert shared.ask("START 9") == "OK"
    return shared


def run(script, *options):
    """Pipe a whole script in; (lines out, exit code)."""
    done = subprocess.run([*PBRAIN, *options], input=script, capture_output=True, timeout=PATIENCE)
    assert b"Traceback" not in done.stderr
    return done.stdout.decode("ascii").splitlines(), done.returncode


def test_a_whole_game(session):
    rng = random.Random(1)
    position = GAME.start()
    answer = session.ask("BEGIN")
    while True:
        position = position.play(parse_xy(answer))
        if position.winner is not None:
            break
        reply = rng.choice(position.legal_moves())
        position = position.play(reply)
        if position.winner is not None:
            break
        answer = session.ask(f"TURN {write_xy(reply)}")
    assert "the game is over" in session.ask(f"TURN {write_xy(reply)}")


def test_a_five_of_the_opponents_ends_the_game_and_can_be_taken_back(session):
    four = [f"{x},0,2" for x in range(1, 5)]  # open at both ends
    answer = session.ask("BOARD", *four, "8,8,1", "6,8,1", "4,8,1", "DONE")
    five = "0,0" if answer != "0,0" else "5,0"
    assert session.ask(f"TURN {five}").startswith("ERROR the game is over")
    assert session.ask("TURN 8,7").startswith("ERROR the game is over")
    assert session.ask(f"TAKEBACK {five}") == "OK"
    parse_xy(session.ask("TURN 8,7"))


def test_start_again_gives_a_fresh_board(session):
    first = session.ask("BEGIN")
    assert session.ask("BEGIN").startswith("ERROR")
    assert session.ask("START 9") == "OK"
    assert session.ask("BEGIN") == first
    assert session.ask("RESTART") == "OK"
    assert session.ask("BEGIN") == first


def test_the_second_player_hears_the_first_move_by_turn(session):
    assert parse_xy(session.ask("TURN 4,4")) != parse_xy("4,4")


@pytest.mark.parametrize("own", [1, 2])
@pytest.mark.parametrize("order", ["as played", "one side first"])
def test_board_in_mid_game_finds_the_winning_move_of_either_colour(session, own, order):
    stones = [f"{xy},{1 if i % 2 == own - 1 else 2}" for i, xy in enumerate(FOUR)]
    if own == 2:  # the engine is white, so its four are the second stones, and black has one more
        stones = [f"{xy},{1 if i % 2 else 2}" for i, xy in enumerate(["8,8", *FOUR])]
    if order == "one side first":
        stones.sort(key=lambda stone: stone[-1])
    assert session.ask("BOARD", *stones, "DONE") == "4,0"
    assert "the game is over" in session.ask("TURN 7,7")
    assert session.ask("TAKEBACK 4,0") == "OK"


def test_an_empty_board_is_the_first_move(session):
    assert session.ask("BOARD", "DONE") == (session.ask("RESTART") and session.ask("BEGIN"))


@pytest.mark.parametrize(
    ("stones", "words"),
    [
        (["4,4,1"], "1 own stones and 0"),
        (["4,4,2", "3,3,2"], "0 own stones and 2"),
        (["4,4,3"], "a field is 1"),
        (["4,4,0"], "a field is 1"),
        (["4,4,1", "4,4,2"], "twice"),
        (["9,0,1"], "from 0 to 8"),
        (["4;4;1"], "x,y,field"),
        (["4,4"], "x,y,field"),
        ([f"{x},0,2" for x in range(5)] + [f"{x},8,1" for x in (0, 2, 4, 6)], "the game is over"),
        ([f"{x},0,1" for x in range(5)] + [f"{x},8,2" for x in (0, 2, 4, 6, 8)], "already has five"),
        ([f"{x},{y},1" for x in range(9) for y in range(9)] * 3, "twice"),
    ],
)
def test_boards_that_no_game_reaches_leave_the_game_as_it_was(session, stones, words):
    session.ask("TURN 4,4")
    answer = session.ask("BOARD", *stones, "DONE")
    assert answer.startswith("ERROR BOARD")
    assert words in answer
    assert session.ask("TURN 4,4") == "ERROR 4,4 is taken"


def test_takeback_goes_back_move_by_move(session):
    first = session.ask("BEGIN")
    second = session.ask("TURN 7,7")
    assert session.ask("TAKEBACK 7,7") == f"ERROR only the last move can be taken back; that was {second}"
    assert session.ask(f"TAKEBACK {second}") == "OK"
    assert session.ask("TAKEBACK 7,7") == "OK"
    again = session.ask("TURN 7,7")  # perhaps another move than before: the tree of the game so far is gone
    for move in (again, "7,7", first):
        assert session.ask(f"TAKEBACK {move}") == "OK"
    assert session.ask("TAKEBACK 4,4") == "ERROR only the last move can be taken back; none was made"
    assert session.ask("BEGIN") == first


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("TURN 4,4", "ERROR 4,4 is taken"),
        ("TURN", "ERROR a cell is x,y"),
        ("TURN 9,0", "ERROR a cell is x,y"),
        ("TURN -1,0", "ERROR a cell is x,y"),
        (f"TURN {'9' * 5000},0", "ERROR a cell is x,y"),
        ("TURN 1 2", "ERROR a cell is x,y"),
        ("TURN 1,2,3", "ERROR a cell is x,y"),
        ("TURN \N{ARABIC-INDIC DIGIT ONE},2", "ERROR a cell is x,y"),
        ("TAKEBACK 1", "ERROR a cell is x,y"),
        ("BEGIN", "ERROR BEGIN is for an empty board"),
        ("RECTSTART 9,9", "ERROR rectangular"),
        ("DONE", "UNKNOWN DONE without BOARD"),
        ("4,4,1", "UNKNOWN command"),
        ("PLAY 1,1", "UNKNOWN command"),
        ("x" * 100_000, "UNKNOWN command"),
    ],
)
def test_bad_lines_get_a_reason(session, line, answer):
    session.ask("TURN 4,4")
    assert session.ask(line).startswith(answer)
    assert session.ask("ABOUT").startswith('name="')


@pytest.mark.parametrize("size", ["", "8", "10", "20", "-9", "9,9", "9 9", "nine", "9" * 5000])
def test_other_sizes_are_refused_and_leave_no_game(session, size):
    assert session.ask(f"START {size}").startswith("ERROR boards are 9x9")
    assert session.ask("TURN 4,4").startswith("ERROR there is no game")


def test_case_line_ends_and_blanks_do_not_matter(session):
    session.write(b"\n\r\n \t \nturn 4,4\n")
    session.write(b"takeback %s\rTakeBack  4 , 4 \r\n\n" % session.read().encode())
    assert [session.read(), session.read()] == ["OK", "OK"]
    session.write(b"Turn\t4,4\rabout\n")
    parse_xy(session.read())
    assert session.read().startswith('name="')


def test_swap2_is_refused_with_one_answer(session):
    assert session.ask("SWAP2BOARD", "4,4", "5,5", "3,3", "DONE").startswith("UNKNOWN SWAP2BOARD")
    assert session.ask("SWAP2BOARD", "BEGIN").startswith("UNKNOWN SWAP2BOARD")
    parse_xy(session.read())


def test_a_board_that_does_not_end_is_given_up_for_the_next_command(session):
    assert session.ask("BOARD", "4,4,2", "START 9") == "ERROR BOARD was not ended with DONE"
    assert session.read() == "OK"


def test_info_is_not_answered_and_another_rule_gets_one_message():
    out, code = run(
        b"INFO rule 0\nINFO rule 1\nINFO rule 4\nINFO\nINFO timeout_turn\nINFO timeout_turn x\nINFO folder \xff\xfe\n"
        b"INFO max_memory 1\nINFO game_type 2\nINFO evaluate 1,1\nINFO time_left -5\nINFO nonsense 1\nABOUT\n"
    )
    assert code == 0
    assert [line.split()[0] for line in out] == ["MESSAGE", 'name="AlphaZero']
    assert "freestyle" in out[0]


def test_without_start_nothing_is_loaded_and_the_reason_is_given():
    out, code = run(b"TURN 1,1\nRESTART\nBEGIN\nTAKEBACK 1,1\nBOARD\n1,1,2\nDONE\nABOUT\nEND\nABOUT\n")
    assert code == 0
    assert out[:-1] == ["ERROR there is no game yet; START 9 first"] * 5
    for key in ("name", "version", "author", "country"):
        assert f'{key}="' in out[-1]


@pytest.mark.parametrize("source", ["no/such/folder", "checkpoints/tictactoe"])
def test_a_network_that_does_not_fit_is_an_error_of_start(source):
    out, code = run(b"START 9\nBEGIN\n", "--checkpoint", source)
    assert code == 0
    assert out[0].startswith("ERROR the network can't be loaded: ")
    assert out[1].startswith("ERROR there is no game")


@pytest.mark.parametrize("options", [["--simulations", "0"], ["--seconds", "nan"], ["--level", "master"]])
def test_bad_options_end_with_a_sentence(options):
    done = subprocess.run([*PBRAIN, *options], input="", capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_garbage_does_not_harm_it(session):
    rng = random.Random(2024)
    words = [b"START 9", b"BEGIN", b"TURN 4,4", b"BOARD", b"4,4,1", b"3,3,2", b"DONE", b"TAKEBACK 4,4", b"RESTART"]
    words += [b"INFO max_node 5", b"RECTSTART 9,9", b"SWAP2BOARD", b"ABOUT"]
    for _ in range(300):
        line = bytearray(rng.choice(words))
        for _ in range(rng.randrange(4)):
            line[rng.randrange(len(line))] = rng.randrange(256)
        if rng.random() < 0.2:
            line = bytearray(rng.randbytes(rng.randrange(1, 3000)))
        session.write(bytes(line) + rng.choice([b"\n", b"\r\n", b"\r"]))
    session.send("", "START 9", "TURN 4,4", "PLAY the end")
    answers = []
    while not answers or answers[-1] != "UNKNOWN command 'PLAY'":
        answers.append(session.read())
    assert answers[-3] == "OK"
    parse_xy(answers[-2])
    assert not [line for line in answers if "internal error" in line]
    session.send("INFO max_node 0")


def test_end_is_obeyed_while_it_thinks():
    session = Session()
    assert session.ask("START 9", "INFO timeout_turn 600000") == "OK"
    session.send("BEGIN")
    session.send("END")
    assert session.process.wait(PATIENCE) == 0
    parse_xy(session.read())


def test_a_script_piped_in_whole_is_answered_in_full():
    board = "".join(f"{xy},{1 + i % 2}\n" for i, xy in enumerate(FOUR))
    out, code = run(f"START 9\nBOARD\n{board}DONE\nRESTART\nBEGIN".encode(), "--seconds", "0.2")
    assert code == 0
    assert out[:3] == ["OK", "4,0", "OK"]
    parse_xy(out[3])


class SlowPlayer:
    """Thinks until it is told to stop; then it knows cell 40, or nothing yet. The network alone says cell 0."""

    def __init__(self, known=40):
        self.thinking, self.stopped = threading.Event(), threading.Event()
        self.known = known

    def start(self, position, **budget):
        self.thinking.set()
        return self

    def result(self):
        assert self.stopped.wait(PATIENCE)
        raise CancelledError

    def peek(self):
        return None if self.known is None else SimpleNamespace(action=self.known)

    def search(self, position, simulations):
        assert simulations == 1
        return SimpleNamespace(action=0)

    def cancel(self):
        self.stopped.set()


@pytest.mark.parametrize(("known", "answer"), [(40, "4,4"), (None, "0,0")])
def test_hurry_stops_what_was_asked_before_and_nothing_else(known, answer):
    said = []
    brain = Brain(said.append, "gomoku", None, None)
    brain._player, brain._position = SlowPlayer(known), GAME.start()
    thread = threading.Thread(target=brain.obey, args=("BEGIN", 10.0))
    thread.start()
    assert brain._player.thinking.wait(PATIENCE)
    brain.hurry(10.0)  # END came in one piece with BEGIN: a script, which wants its answer
    assert not brain._player.stopped.is_set()
    brain.hurry(10.1)
    thread.join(PATIENCE)
    assert said == [answer]


# -- time -------------------------------------------------------------------------------------------------------------


def told(**info):
    result = Clock()
    for key, value in info.items():
        result.info(key, str(value))
    return result


def test_without_a_word_about_time():
    assert Clock().plan(0) == Budget(MAX_SIMULATIONS, clock.DEFAULT_SECONDS)
    assert Clock().plan(0, seconds=2.0) == Budget(MAX_SIMULATIONS, 2.0)
    assert Clock().plan(0, simulations=50) == Budget(50)
    assert Clock().plan(0, simulations=50, seconds=2.0) == Budget(50, 2.0)
    assert told(max_node=30).plan(0, simulations=50) == Budget(30)
    assert told(max_node=30).plan(0) == Budget(30, clock.DEFAULT_SECONDS)
    assert told(max_node=10**9).plan(0) == Budget(MAX_SIMULATIONS, clock.DEFAULT_SECONDS)


@pytest.mark.parametrize("milliseconds", [60, 100, 200, 1000, 30_000, 600_000])
def test_a_turn_keeps_its_margin(milliseconds):
    seconds = milliseconds / 1000
    budget = told(timeout_turn=milliseconds).plan(0)
    assert budget.seconds == pytest.approx(seconds - margin(seconds))
    assert clock.MARGIN <= margin(seconds) <= max(clock.MARGIN, 0.05 * seconds)
    assert told(timeout_turn=milliseconds).plan(0, simulations=50) == Budget(50, budget.seconds)
    assert told(timeout_turn=milliseconds).plan(0, seconds=0.015).seconds == 0.015


@pytest.mark.parametrize("info", [{"timeout_turn": 0}, {"timeout_turn": 20}, {"time_left": 0}, {"time_left": -100}])
def test_as_fast_as_possible(info):
    assert told(**info).plan(0) == Budget(clock.FAST_SIMULATIONS, clock.FAST_SECONDS)
    assert told(**info).plan(0, simulations=5) == Budget(5, clock.FAST_SECONDS)


def test_time_that_has_passed_since_the_question_counts():
    one = told(timeout_turn=1000)
    assert one.plan(0, late=0.3).seconds == pytest.approx(one.plan(0).seconds - 0.3)
    assert one.plan(0, late=5.0).seconds == clock.FAST_SECONDS


@pytest.mark.parametrize("info", [{"timeout_match": 0}, {"time_left": 2**31 - 1}, {"timeout_match": 10**9}])
def test_no_limit_for_the_match(info):
    assert told(**info).left() is None
    assert told(timeout_turn=1000, **info).plan(0) == told(timeout_turn=1000).plan(0)


@pytest.mark.parametrize("value", ["", "x", "1e3", "1 2", "9" * 30, "٣"])
def test_what_is_no_number_changes_nothing(value):
    before = told(timeout_turn=1000, time_left=5000, max_node=7)
    for key in ("timeout_turn", "timeout_match", "time_left", "max_node"):
        before.info(key, value)
    assert before.plan(0) == told(timeout_turn=1000, time_left=5000, max_node=7).plan(0)


@pytest.mark.parametrize("told_each_move", [True, False])
def test_the_time_of_a_match_lasts_for_the_longest_game(told_each_move):
    left, match = 60.0, told(timeout_match=60_000, timeout_turn=10_000)
    for plies in range(0, 81, 2):
        if told_each_move:
            match.info("time_left", str(int(left * 1000)))
        assert match.left() == pytest.approx(left, abs=0.002)
        taken = match.plan(plies).seconds + 0.02  # what the pipes take
        assert taken <= left / moves_to_come(plies)
        match.spend(taken)
        left -= taken
    assert left > 0
    match.new_game()
    assert match.left() == 60.0


# -- boards and lines -------------------------------------------------------------------------------------------------


def test_lines_are_cut_anywhere_and_hold_little():
    lines = Lines()
    assert lines.feed(b"ab") == []
    assert lines.feed(b"c\r\nd\xff\r") == ["abc", "d\\xff"]
    assert lines.feed(b"x" * 10**6) == []
    assert lines.feed(b"y\n") == ["x" * MAX_LINE]


def test_a_position_survives_the_way_through_board():
    rng = random.Random(5)
    for plies in range(30):
        position = GAME.start()
        for _ in range(plies):
            position = position.play(rng.choice(position.legal_moves()))
            if position.winner is not None:
                break
        reader = BoardReader()
        for line in board_lines(position):
            reader.add(line)
        if position.winner is None:
            assert reader.position() == position
            assert reader.position().moves == position.moves
            again = BoardReader()  # the order of the moves is not known after from_board
            for line in board_lines(GAME.from_board(position.board, position.to_move)):
                again.add(line)
            assert (again.position().board == position.board).all()
        else:
            with pytest.raises(ProtocolError, match="the game is over"):
                reader.position()
