"""The report of a training run: what it shows, from whatever files, and that files can't make it do anything else."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from alphazero import get_game
from alphazero.__main__ import main
from alphazero.report_curves import error_of_sum, number, sections
from alphazero.report_page import page
from alphazero.report_run import read_run
from alphazero.training import TrainingError

VOID = {"meta", "link", "br"}
HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"&"


def line(iteration, **changes):
    """A line of metrics as the loop writes it, of an iteration that was promoted by 10 Elo."""
    return {
        "iteration": iteration,
        "time": f"2026-01-01T00:{iteration % 60:02d}:00",
        "games": 100 * iteration,
        "steps": 10 * iteration,
        "simulations": 32,
        "learning_rate": 0.001,
        "policy_loss": 2.0 / iteration,
        "value_loss": 0.5,
        "policy_kl": 0.3,
        "value_mse_outcome": 0.6,
        "value_mse_search": 0.2,
        "policy_top1": 0.5,
        "promoted": True,
        "elo": 10.0 * iteration,
        "elo_change": 10.0,
        "elo_change_low": 7.0,
        "elo_change_high": 13.0,
        "win_rate": 0.51,
        "gate": {"games": 100, "verdict": "accepted"},
        "anchors": {"random": {"score": 0.75, "elo": 190.8, "elo_low": 100.0, "elo_high": 300.0, "games": 20}},
        "games_per_second": 5.0,
        "evaluations_per_second": 20000.0,
        "game_length": 30.0,
        "draw_rate": 0.1,
        "first_win_rate": 0.5,
        "cpu_hours": 0.1 * iteration,
        "seconds": {"learn": 10.0, "self_play": 20.0, "gate": 5.0, "total": 25.0},
    } | changes


def blank(iteration):
    """The first iteration of a run: nothing learnt, nothing judged; and whatever else may be null."""
    kept = ("iteration", "time", "games")
    return {key: value if key in kept else None for key, value in line(iteration).items()} | {"promoted": False}


def write_run(folder, lines, **files):
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


class Wellformed(HTMLParser):
    """Every element that is opened is closed, in order; ids are unique; words are gathered."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.words = [], [], [], []
        self.links = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("src", "href", "action", "data") if name in values]
        assert not [name for name in values if name.startswith("on")], values
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def report(folder):
    """(page, parsed page, its charts) after checking that it is well-formed and needs no other host."""
    text = page(read_run(folder))
    parsed = Wellformed(text)
    assert parsed.links == ["data:,"]
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r"^ *//.*$", "", text, flags=re.MULTILINE))
    charts = [ElementTree.fromstring(svg) for svg in re.findall(r'<svg class="chart".*?</svg>', text, re.DOTALL)]
    for chart in charts:
        assert chart.find("title").text
        assert chart.find("desc").text
        json.loads(chart.get("data-read-out"))
    return text, parsed, charts


def test_a_whole_run(tmp_path):
    settings = vars(get_game("gomoku").training) | {"batch": 77}
    log = "2026-01-01 00:00:00 training begins: {'batch': 77}\n2026-01-01 00:01:00 worker 3 was lost; its task waits\n"
    run = write_run(
        tmp_path / "r",
        [blank(1), *(line(i) for i in range(2, 8))],
        settings_json=json.dumps(settings),
        state_json='{"game": "gomoku"}',
        log_txt=log,
    )
    _, parsed, charts = report(run)
    assert len(charts) == 20  # four of them in two sizes
    titles = {chart.find("title").text for chart in charts}
    assert len(titles) == 16
    assert {"Elo over iterations", "Elo over CPU-hours", "Score against anchors", "Seconds by phase"} <= titles
    for words in (
        "Gomoku",
        "Iterations 7 of 300 planned",
        "Games 700",
        "CPU-hours 0.7",
        "Best Elo +70 over the untrained network, ±7",  # six promotions of ±3 each: 3 * sqrt(6)
        "Promotions 6 of 6 candidates; last in iteration 7",
        "batch 77 512 samples a step",
        f"All {len(settings)} settings",
        "1 kind of warning",
        "worker 3 was lost",
    ):
        assert words in parsed.text, words
    assert "nothing measured yet" not in parsed.text


def test_metrics_alone_are_enough(tmp_path):
    run = write_run(tmp_path / "copy", [line(1), line(2)])
    assert report(run)[1].text == report(run / "metrics.jsonl")[1].text
    text = report(run)[1].text
    assert "copy" in text
    assert "Settings" not in text
    assert "Events" not in text


def test_a_checkpoint_folder_brings_game_and_settings(tmp_path):
    config = {"game": "tictactoe", "training": {"settings": {"batch": 3}}}
    run = write_run(tmp_path / "x", [line(1)], config_json=json.dumps(config))
    text = report(run)[1].text
    assert "Tic-tac-toe" in text
    assert "default of Tic-tac-toe" in text


@pytest.mark.parametrize("damage", ["[1]", "{", '{"game": ["gomoku"]}', "\x00", "null"])
def test_damaged_side_files_are_done_without(tmp_path, damage):
    report(write_run(tmp_path / "r", [line(1)], settings_json=damage, state_json=damage, config_json=damage))


def test_one_iteration_without_values(tmp_path):
    _, parsed, charts = report(write_run(tmp_path / "r", [blank(1)]))
    assert parsed.text.count("nothing measured yet") == len(charts)
    assert "Best Elo –" in parsed.text


def test_one_iteration_with_all_values(tmp_path):
    _, parsed, charts = report(write_run(tmp_path / "r", [line(1)]))
    assert "nothing measured yet" not in parsed.text
    elo = charts[0]
    assert [path for path in elo.findall("path") if path.get("class").startswith("dot")]


def test_a_line_cut_short_is_left_out(tmp_path):
    run = write_run(tmp_path / "r", [line(1), line(2), line(3)])
    metrics = run / "metrics.jsonl"
    metrics.write_text(metrics.read_text()[:-40])
    assert "Iterations 2" in report(run)[1].text


def test_what_is_no_number_is_not_drawn(tmp_path):
    odd = line(2, policy_loss=float("nan"), value_loss=float("inf"), elo="high", seconds=[1], anchors=["x"], gate=7)
    report(write_run(tmp_path / "r", [line(1), odd, {"iteration": 3}, line(4, elo=10**400), 5, {"no": "iteration"}]))
    assert number({"a": {"b": 2}}, "a", "b") == 2.0
    for value in (float("nan"), float("inf"), -float("inf"), True, "1", None, [1], 10**400):
        assert number({"a": value}, "a") is None, value


def test_five_thousand_iterations_make_a_small_page(tmp_path):
    run = write_run(tmp_path / "r", [line(i, policy_loss=9.0 if i == 2500 else 1.0) for i in range(1, 5001)])
    text, parsed, charts = report(run)
    assert len(text) < 1_000_000
    assert "5,000 iterations are drawn as means of up to 21 each" in parsed.text
    loss = next(chart for chart in charts if chart.find("title").text == "Policy loss")
    rows = json.loads(loss.get("data-read-out"))["rows"]
    assert 200 < len(rows) <= 240
    # One outlier in 21 is nearly gone from the mean, so the spread must show it.
    band = next(path for path in loss.findall("path") if path.get("class") == "band c1")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", band.get("d"))]
    assert min(heights) < 50 < 150 < max(heights)


def test_hostile_text_stays_text(tmp_path):
    hostile = line(1, time=HOSTILE, anchors={HOSTILE: {"score": 0.5, "elo": 0.0}}, gate={"verdict": HOSTILE})
    run = write_run(
        tmp_path / "r",
        [hostile, line(2, anchors={"\ud800": {"score": 0.5}})],
        log_txt=f"2026-01-01 00:00:00 {HOSTILE}\n{HOSTILE}\n",
        settings_json=json.dumps({HOSTILE: HOSTILE, "iterations": HOSTILE}),
    )
    text, parsed, _ = report(run)
    assert parsed.tags.count("script") == 1
    assert "img" not in parsed.tags
    assert "onerror=alert(1)" in parsed.text
    text.encode()


def test_a_folder_with_a_hostile_name(tmp_path):
    _, parsed, _ = report(write_run(tmp_path / "<script>alert(1)<", [line(1)]))
    assert parsed.tags.count("script") == 1


def test_frequent_warnings_do_not_bury_a_rare_one(tmp_path):
    log = ["2026-01-01 00:00:01 worker 1 was lost; its task goes to another"]
    log += [f"2026-01-01 00:01:00 iteration {i}: only {i} of 122 games are distinct" for i in range(900)]
    log += ["2026-01-01 00:02:00 iteration 900: 1000 games, 4.1/s", "2026-01-01 00:02:00 setting batch: 3 -> 4"]
    events = read_run(write_run(tmp_path / "r", [line(1)], log_txt="\n".join(log))).events()
    assert [(event.times, event.warning) for event in events] == [(1, True), (900, True), (1, False)]
    assert "899 of 122" in events[1].text


def test_candidates_stand_on_the_best_that_they_met():
    lines = [line(1, elo=0.0, promoted=False, elo_change=None), line(2, elo=40.0, elo_change=40.0)]
    lines += [line(3, elo=40.0, promoted=False, elo_change=-15.0, elo_change_low=-35.0, elo_change_high=5.0)]
    lines += [line(4, elo=140.0, elo_change=100.0, elo_change_low=100.0, elo_change_high=None)]
    card = sections(lines)[0][1][0]
    chart = ElementTree.fromstring(re.search(r"<svg class=.chart.*?</svg>", card.html).group())
    read_out = json.loads(chart.get("data-read-out"))
    said = {row[1]: {read_out["series"][index][1]: value for index, _, value in row[2]} for row in read_out["rows"]}
    assert said["1"] == {"best network": "0"}
    assert said["2"] == {"best network": "40", "promoted": "40 (+40, 7 to 13)"}
    assert said["3"] == {"best network": "40", "refused": "25 (−15, −35 to 5)"}
    assert said["4"] == {"best network": "140", "promoted": "140 (at least +100)"}
    assert card.latest == "+140"


def test_error_of_the_sum():
    lines = [line(1, elo_change_low=-4.0, elo_change_high=2.0), line(2, elo_change_low=1.0, elo_change_high=9.0)]
    assert error_of_sum(lines) == 5.0
    assert error_of_sum([*lines, line(3, elo_change_high=None)]) is None
    assert error_of_sum([line(1, promoted=False)]) is None


def test_the_command_writes_beside_the_metrics(tmp_path, capsys):
    run = write_run(tmp_path / "r", [line(1)])
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out.strip() == str(run / "report.html")
    assert (run / "report.html").read_text("utf-8") == page(read_run(run))
    assert main(["report", str(run / "metrics.jsonl"), "--output", str(tmp_path / "x.html")]) == 0
    assert (tmp_path / "x.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "there is no"),
        (["empty"], "has no metrics.jsonl"),
        (["begun"], "has no iteration yet"),
        (["blank"], "has no iteration yet"),
        (["garbage"], "is not a file of metrics"),
        (["fine", "--output", "fine/metrics.jsonl"], "ends in .html"),
        (["fine", "--output", "no/such/folder/x.html"], "could not be written"),
    ],
)
def test_errors_are_a_sentence(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "begun", "garbage"):
        (tmp_path / name).mkdir()
    (tmp_path / "begun" / "settings.json").write_text("{}")
    (tmp_path / "garbage" / "metrics.jsonl").write_bytes(b"\xff\xfe\x00")
    write_run(tmp_path / "blank", [])
    write_run(tmp_path / "fine", [line(1)])
    before = (tmp_path / "fine" / "metrics.jsonl").read_text()
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert (tmp_path / "fine" / "metrics.jsonl").read_text() == before


def test_reading_a_run_says_what_is_wrong(tmp_path):
    with pytest.raises(TrainingError, match="runs/GAME"):
        read_run(tmp_path)
