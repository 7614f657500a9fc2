"""What `make test-kernel` is made of, as far as it needs no machine: its disk and its report."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools.kernel.__main__ import Report
from tools.kernel.image import FIRST_LINE, LAST_LINE
from tools.kernel.initramfs import archive_of, from_folder, from_tar, link, text_file

PROJECT = Path(__file__).parents[2]


def names_in(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content by name, read as the kernel's documents describe the format."""
    found, at = {}, 0
    while True:
        assert archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_size = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        data_at = at + 110 + name_size + -(110 + name_size) % 4
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, archive[data_at : data_at + size])
        at = data_at + size + -size % 4


def test_archive_holds_files_folders_and_links(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_text("12345")
    (tmp_path / "program").write_text("x")
    (tmp_path / "program").chmod(0o755)
    (tmp_path / "link").symlink_to("program")
    found = names_in(archive_of(from_folder(tmp_path, "opt/here")))
    assert found["opt"] == (0o040755, b"")
    assert found["opt/here/inner/file"] == (0o100644, b"12345")
    assert found["opt/here/program"] == (0o100755, b"x")
    assert found["opt/here/link"] == (0o120777, b"program")
    assert names_in(archive_of(text_file("etc/a", "text", 0o600)))["etc/a"] == (0o100600, b"text")
    assert names_in(archive_of(link("init", "/lib/init")))["init"] == (0o120777, b"/lib/init")


def test_tar_archive_is_taken_over_with_its_hard_links(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("abc")
    (tmp_path / "other").hardlink_to(tmp_path / "file")
    (tmp_path / "soft").symlink_to("file")
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for name in ("file", "other", "soft"):
            archive.add(tmp_path / name, f"./{name}")
    found = names_in(archive_of(from_tar(tmp_path / "all.tar")))
    assert found["file"] == found["other"] == (0o100644, b"abc")
    assert found["soft"] == (0o120777, b"file")


def test_only_what_the_tests_say_is_printed_and_their_status_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report(0.0)
    report.take(f"boot\r\n[1m{FIRST_LINE}\r\none PAS".encode())
    report.take(f"SED\r\n{LAST_LINE} 3\r\npower off\r\n".encode())
    assert capsys.readouterr().out == "one PASSED\n"
    assert report.status == 3


@pytest.mark.thorough
def test_tests_of_the_machine_are_not_those_of_make_test() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/kernel"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "no tests collected" in done.stdout, done.stdout
