"""Files as editors and mistakes leave them: read if possible, else refused in one sentence."""

from pathlib import Path

import pytest

from leverframe.core.errors import ErrorForPeople
from leverframe.host.configuration.toml import read_toml


class Refused(ErrorForPeople):
    pass


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.toml"


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_mark_at_the_start_and_either_line_end_are_fine(
    file: Path, start: bytes, end: bytes
) -> None:
    file.write_bytes(start + b"a = 1" + end + b'b = "\xc5\x82"' + end)
    assert read_toml(file, Refused) == ('a = 1\nb = "ł"\n', {"a": 1, "b": "ł"})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a = 1\nb = \xff\n", "{}, line 2 is not text in UTF-8; save it as UTF-8."),
        ("a = 1\n".encode("utf-16"), "{}, line 1 is not text in UTF-8; save it as UTF-8."),
        (b"a = \n", "{}, line 1 is not valid TOML: Invalid value (column 5)."),
        (b"a = 1\na = 2\n", "{}, line 2 is not valid TOML: Cannot overwrite a value (column "),
        (b"a = 1\nb = [\n", "{}, line 2 is not valid TOML: Invalid value (at end of document)."),
        (b"a = " + b"[" * 100_000, "{} is not valid TOML: brackets are nested too deeply."),
    ],
)
def test_mistake_is_reported_with_its_line(file: Path, content: bytes, sentence: str) -> None:
    file.write_bytes(content)
    with pytest.raises(Refused) as refusal:
        read_toml(file, Refused)
    assert str(refusal.value).startswith(sentence.format(file))


def test_link_loop_is_reported(file: Path) -> None:
    file.symlink_to(file.name)
    with pytest.raises(Refused, match="cannot be read: Too many levels of symbolic links"):
        read_toml(file, Refused)


def test_device_that_never_ends_is_not_read_for_ever() -> None:
    with pytest.raises(Refused, match="/dev/zero is too large: at most 1,048,576 bytes"):
        read_toml(Path("/dev/zero"), Refused)


def test_name_that_no_file_can_have_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="a file name must not contain a NUL character"):
        read_toml(tmp_path / "a\0b", Refused)
