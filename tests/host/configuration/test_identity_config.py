"""Name and MAC address in the configuration: what is wrong is said before anything starts."""

import pytest

from leverframe.host.configuration import BadConfiguration, read_config
from tests.cases import for_each


@pytest.mark.parametrize("written", ["D8:80:39:12:34:5a", "d8-80-39-12-34-5A", "D8803912345A"])
def test_address_is_taken_as_people_write_it(written: str) -> None:
    assert read_config(None, {"mac": written}).mac_address() == "D8:80:39:12:34:5A"


@for_each(
    "written",
    ["", "D8:80:39", "D8:80-39:12:34:56", "G8:80:39:12:34:56", "01:00:5e:00:00:01", "0" * 12],
)
def test_address_of_no_single_device_is_refused(written: str) -> None:
    with pytest.raises(BadConfiguration, match="D8:80:39:12:34:56"):
        read_config(None, {"mac": written})


@for_each("name", [" x", "x ", "a\nb", "a\x7fb"])
def test_name_is_one_line(name: str) -> None:
    with pytest.raises(BadConfiguration, match="one line"):
        read_config(None, {"name": name})


def test_name_has_at_most_31_letters() -> None:
    assert read_config(None, {"name": "ż" * 31}).name == "ż" * 31
    with pytest.raises(BadConfiguration, match="31"):
        read_config(None, {"name": "x" * 32})


def test_identity_is_not_configured_by_default() -> None:
    config = read_config(None, {})
    assert (config.name, config.mac_address()) == (None, None)


def test_virtual_time_begins_at_a_moment_of_the_local_clock_or_of_its_own_offset() -> None:
    flags = {"virtual_time": True, "timezone": "Europe/Warsaw"}
    assert read_config(None, flags).first_moment() is None
    begins = [
        read_config(None, {**flags, "virtual_start": text}).first_moment()
        for text in ("2026-03-29T00:30", "2026-03-28T23:30+00:00")
    ]
    assert begins == [1774740600.0, 1774740600.0]
    with pytest.raises(BadConfiguration, match="write it like 2026-03-29T00:30"):
        read_config(None, {**flags, "virtual_start": "tomorrow"})
