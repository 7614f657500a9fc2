"""Recordings of the terminal: which lines are drawn, when, and how."""

from xml.etree import ElementTree

from tools.terminal_recordings import LONGEST_WAIT_S, PROJECT, Line, draw, lines_of


def test_output_appears_after_the_command_and_waits_are_shortened() -> None:
    pieces = [(10.0, "$ "), (10.1, "make\r\n"), (90.0, "one\r\ntwo\r\n"), (90.5, "$ ")]
    make, one, two, _ = lines_of(pieces, ["make"])
    assert make.text == "$ make"
    assert make.is_typed
    assert make.at_s < one.at_s == two.at_s < 0.5 + LONGEST_WAIT_S


def test_line_that_names_this_machine_is_omitted() -> None:
    pieces = [(0.0, f"see {PROJECT}/src\r\n"), (0.1, "done\r\n")]
    assert [line.text for line in lines_of(pieces, [])] == ["done", ""]


def test_output_of_the_background_loses_the_prompt_before_it() -> None:
    lines = lines_of([(0.0, "$ Starting\r\n")], ["make demo"])
    assert lines[0] == Line(0.0, "Starting")


def test_picture_is_sound_and_keeps_colours_and_signs() -> None:
    picture = draw([Line(0.0, "$ echo '<&'", is_typed=True), Line(0.5, "\x1b[1;32mpassed\x1b[0m")])
    root = ElementTree.fromstring(picture)
    texts = ["".join(one.itertext()) for one in root if one.tag.endswith("text")]
    assert texts == ["$ echo '<&'", "passed"]
    assert "#5fd38d" in picture
    assert "script" not in picture
