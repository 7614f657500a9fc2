"""The body that answers every command."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.interface.status_files import command_reply

from .files_bench import FilesBench

LABELS = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)


def test_reply_has_one_element_per_line() -> None:
    bench = FilesBench()
    bench.switch_on("OUT1")
    bench.switch_on("PWM3")
    bench.switch_on("EVENT8")
    assert command_reply(bench.engine) == (
        b"<response>\n<out>010000</out>\n<pwm>8</pwm>\n<ev>128</ev>\n</response>\n"
    )


@given(on=st.sets(st.sampled_from(LABELS)))
def test_reply_shows_the_state_of_every_output_and_variable(on: set[str]) -> None:
    bench = FilesBench()
    for label in on:
        bench.switch_on(label)
    reply = command_reply(bench.engine).decode()
    out = "".join("1" if label in on else "0" for label in OUTPUTS)
    pwm = sum(2**bit for bit, label in enumerate(PWMS) if label in on)
    variables = sum(2**bit for bit, label in enumerate(EVENT_VARIABLES) if label in on)
    assert f"<out>{out}</out>" in reply
    assert f"<pwm>{pwm}</pwm>" in reply
    assert f"<ev>{variables}</ev>" in reply


def test_reply_does_not_invert_outputs() -> None:
    bench = FilesBench({"output_flags.invert_display": True})
    assert b"<out>000000</out>" in command_reply(bench.engine)
