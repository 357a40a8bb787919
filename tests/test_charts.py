"""Charts: known data at known pixels, round ticks, thinning."""

import json
import re
from xml.etree import ElementTree

import pytest

from alphazero.axes import Axis, Point, Scale, bounds, number_text, rounded, step_between, thin, tick_text, ticks_at
from alphazero.charts import BOTTOM, LEFT, RIGHT, TOP, Frame, Series, legend, line_chart, script, stacked_chart, style

# A plot of 100 by 200 pixels: 10 a unit across (0 to 10), 2 a unit down (0 to 100).
FRAME = Frame("t", "d", Axis("x", 0, 10), Axis("y", 0, 100), LEFT + 100 + RIGHT, TOP + 200 + BOTTOM)


def x(value):
    return LEFT + 10 * value


def y(value):
    return TOP + 2 * (100 - value)


def paths(svg, css):
    return [p.get("d") for p in ElementTree.fromstring(svg).iter("path") if p.get("class") == css]


def corners(path):
    return [(float(a), float(b)) for a, b in re.findall(r"([\d.]+) ([\d.]+)", path)]


def chart(points, **options):
    return line_chart(FRAME, [Series("s", points, **options)])


def test_a_line_runs_through_its_points():
    assert [corners(p) for p in paths(chart([Point(0, 0), Point(5, 50), Point(10, 25)]), "line c1")] == [
        [(x(0), y(0)), (x(5), y(50)), (x(10), y(25))]
    ]


def test_a_gap_breaks_the_line_and_a_lone_point_is_a_dot():
    svg = chart([Point(0, 10), Point(1, 20), Point(2, None), Point(3, 30), Point(4, None)], colour=2)
    assert [corners(p) for p in paths(svg, "line c2")] == [[(x(0), y(10)), (x(1), y(20))]]
    (dot,) = paths(svg, "dot c2")
    left, middle = corners(dot)[0]
    assert (left + 3.2, middle) == (pytest.approx(x(3), abs=0.1), y(30))


def test_a_step_holds_until_the_next():
    (path,) = paths(chart([Point(0, 10), Point(4, 60), Point(6, 60)], shape="step"), "line c1")
    assert corners(path) == [(x(0), y(10)), (x(4), y(10)), (x(4), y(60)), (x(6), y(60)), (x(6), y(60))]


def test_whiskers_and_bands_reach_their_ends():
    points = [Point(2, 50, 40, 70), Point(4, 60, 55, 65)]
    (whiskers,) = paths(chart(points, errors="whiskers"), "whisker c1")
    assert whiskers == f"M{x(2)} {y(40)}V{y(70)}M{x(4)} {y(55)}V{y(65)}"
    (band,) = paths(chart(points), "band c1")
    assert corners(band) == [(x(2), y(70)), (x(4), y(65)), (x(4), y(55)), (x(2), y(40))]


def test_an_open_end_is_a_triangle_that_the_line_passes_over():
    svg = chart([Point(0, 10, 5, 15), Point(1, 20, 20, None), Point(2, 30, 25, 35)], errors="whiskers")
    assert [corners(p) for p in paths(svg, "line c1")] == [[(x(0), y(10)), (x(2), y(30))]]
    (dot,) = paths(svg, "dot c1")
    tip, base = corners(dot)
    assert tip[0] == x(1)
    assert tip[1] < y(20) < base[1]


def test_layers_stand_on_each_other():
    points = [[Point(1, 10), Point(2, 20)], [Point(1, 5), Point(2, None)]]
    layers = [Series(name, p, colour) for name, p, colour in zip("ab", points, (1, 2), strict=True)]
    frame = Frame("t", "d", Axis("x", 0.5, 2.5), FRAME.y, FRAME.width, FRAME.height)
    svg = stacked_chart(frame, layers, Series("total", [Point(1, 12), Point(2, 18)], 7))
    left, wall, right = LEFT, LEFT + 50, LEFT + 100
    (lower,), (upper,) = paths(svg, "area c1"), paths(svg, "area c2")
    assert corners(lower)[:4] == [(left, y(10)), (wall, y(10)), (wall, y(20)), (right, y(20))]
    assert corners(lower)[4:] == [(right, y(0)), (wall, y(0)), (wall, y(0)), (left, y(0))]
    assert corners(upper)[:4] == [(left, y(15)), (wall, y(15)), (wall, y(20)), (right, y(20))]
    (total,) = paths(svg, "line c7")
    assert corners(total) == [(LEFT + 25, y(12)), (LEFT + 75, y(18))]


def test_ticks_and_labels_are_in_line_with_the_data():
    texts = ElementTree.fromstring(chart([Point(0, 1)])).findall("text")
    ticks = {t.text: t for t in texts if t.get("class") == "tick end"}
    assert list(ticks) == ["0", "20", "40", "60", "80", "100"]
    assert float(ticks["40"].get("y")) == pytest.approx(y(40) + 3.8)
    across = {t.text: float(t.get("x")) for t in texts if t.get("class") == "tick middle"}
    assert across == {"0": x(0), "5": x(5), "10": x(10)}


def test_the_read_out_has_every_value_at_its_pixel():
    svg = line_chart(FRAME, [Series("a", [Point(1, 10, note="!")]), Series("b", [Point(1, 20), Point(2, 30)], 2)])
    read_out = json.loads(ElementTree.fromstring(svg).get("data-read-out"))
    assert read_out["series"] == [["c1", "a"], ["c2", "b"]]
    assert read_out["rows"] == [[x(1), "1", [[0, y(10), "10 !"], [1, y(20), "20"]]], [x(2), "2", [[1, y(30), "30"]]]]
    assert (read_out["top"], read_out["foot"]) == (TOP, TOP + 200)


def test_names_are_escaped_and_nothing_is_fine():
    name = "<b>'\"&"
    frame = Frame(name, name, Axis(name), Axis(name))
    for svg in (line_chart(frame, [Series(name, [Point(0, 1)])]), line_chart(frame, []), stacked_chart(frame, [])):
        assert ElementTree.fromstring(svg).find("title").text == name
    assert "nothing measured yet" in line_chart(frame, [Series("s", [Point(0, None)])])
    assert "<b>" not in legend([Series(name, []), Series("b", [])])
    assert legend([Series("alone", [])]) == ""


def test_style_and_script_are_there():
    assert "prefers-color-scheme: dark" in style()
    assert "svg.chart" in script()


@pytest.mark.parametrize(
    ("low", "high", "count", "step"),
    [
        (0, 10, 5, 2),
        (0, 10, 10, 1),
        (0, 11, 10, 2),
        (0, 0.03, 4, 0.01),
        (-3, 4, 4, 2),
        (0, 5000, 5, 1000),
        (0, 41, 8, 10),
    ],
)
def test_steps_are_round(low, high, count, step):
    assert step_between(low, high, count) == pytest.approx(step)


def test_counts_have_no_ticks_between():
    assert step_between(0.5, 2.5, 8, whole=True) == 1
    assert ticks_at(0.5, 2.5, 1) == [1, 2]
    assert ticks_at(0, 0.3, 0.1) == [0, 0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("axis", "values", "expected"),
    [
        (Axis(), [3, 5], (3, 5)),
        (Axis(zero=True), [3, 5], (0, 5)),
        (Axis(zero=True), [-3, -5], (-5, 0)),
        (Axis(low=0, high=1), [0.3], (0, 1)),
        (Axis(), [50], (45, 55)),
        (Axis(), [0, 0], (-1, 1)),
        (Axis(zero=True), [0], (0, 1)),
        (Axis(low=0), [0], (0, 1)),
        (Axis(), [], (-1, 1)),
    ],
)
def test_an_axis_always_has_a_length(axis, values, expected):
    assert bounds(axis, values) == pytest.approx(expected)


def test_rounded_bounds_keep_given_ones():
    assert rounded(Axis(), 0.13, 0.88, 4) == pytest.approx((0.0, 1.0, 0.2))
    assert rounded(Axis(low=0.13), 0.13, 0.88, 4) == pytest.approx((0.13, 1.0, 0.2))


@pytest.mark.parametrize(
    ("value", "step", "axis", "text"),
    [
        (0.25, 0.05, Axis(), "0.25"),
        (0.4, 0.2, Axis(percent=True), "40 %"),
        (1500, 500, Axis(), "1500"),
        (15000, 5000, Axis(), "15k"),
        (12500, 500, Axis(), "12.5k"),
        (0, 5000, Axis(), "0"),
        (2e6, 1e6, Axis(), "2M"),
        (-200, 100, Axis(), "−200"),
        (2e-5, 1e-5, Axis(), "2e−5"),
    ],
)
def test_tick_labels(value, step, axis, text):
    assert tick_text(value, step, axis) == text


def test_numbers_to_read():
    shown = [number_text(v) for v in (0, 0.123456, 12.3456, 1234.5, 5e-5, -3.0, 1e13)]
    assert shown == ["0", "0.1235", "12.35", "1,234", "5e−5", "−3", "1e+13"]
    assert Axis(whole=True).text(10.4) == "10"


def test_thinning_keeps_mean_and_extremes():
    points = [Point(i, None if i == 3 else float(i)) for i in range(10)]
    assert thin(points, 10) == points
    assert thin(points, 4) == [Point(1, 1, 0, 2), Point(4, 4.5, 4, 5), Point(7, 7, 6, 8), Point(9, 9, 9, 9)]
    assert thin([Point(0, None), Point(1, None)], 1) == [Point(0.5, None)]
    assert thin(points, 4, lambda part: part[-1])[0] == Point(2, 2)


def test_a_scale_is_straight():
    scale = Scale(10, 20, 100, 0)
    assert [scale(v) for v in (10, 15, 20)] == [100, 50, 0]
