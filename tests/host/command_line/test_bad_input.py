"""Mistakes at the keyboard: one line each, which says what to do. Never a trace."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from leverframe.__main__ import main

#: A folder in which not even the administrator of the machine can create files.
FORBIDDEN = "/sys"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_error(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that was printed."""
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.count("\n") == 1, errors
    assert errors.startswith("leverframe")
    return errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("rum", "unknown command rum (did you mean run?); known commands: run,"),
        ("run --prot 8081", "unknown option --prot (did you mean --port?); see leverframe run"),
        ("run --prot=8081", "unknown option --prot (did you mean --port?)"),
        ("run --virt", "unknown option --virt"),
        ("run extra", "unknown argument extra; see leverframe run --help"),
        ("run --port", "--port: expected one argument"),
        ("board chekc", "unknown task chekc (did you mean check?); known tasks: check;"),
        ("board check", "required: --config"),
        ("backup show", "required: file"),
        ("fleet advance", "use one of TIME, --to, --step, --rate and --freeze"),
        ("fleet advance 1h --rate 0", "TIME and --rate exclude each other; use one of TIME, --to"),
        (
            "fleet advance --node u -- -5s --user a",
            "--user after -- is not read as an option; write --user bef",
        ),
        ("fleet --node=u list", "write --node after leverframe fleet list"),
        ("fleet remove", "NAME or --tag is required"),
        ("fleet tag gh-1", "--add or --remove is required"),
        ("fleet place gh-1", "--address or --port is required"),
        ("fleet rename gh-1", "required: NEW_NAME"),
        ("backup show a.bin --jsn", "did you mean --json?"),
        ("simulate a.toml --for 3x", "--for"),
        ("simulate a.toml --step 0s", "above 0, like 60s"),
        ("firmware build a.img --hw 9 --sw 1.75", "allowed: 3.0, 3.5"),
    ],
)
def test_command_line_that_is_not_understood(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments.split())
    assert left.value.code == 2
    assert words in read_error(capsys)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["rename", "gh-1", ""], "NEW_NAME"),
        (["show", ""], "NAME"),
        (["send", "outs.cgi?out0=1", ""], "NAME"),
        (["send", "outs.cgi?out0=1", "--tag", ""], "--tag"),
        (["remove", ","], "NAME"),
        (["restore", ""], "LABEL"),
        (["remove-snapshot", ""], "LABEL"),
    ],
)
def test_empty_value_is_refused_instead_of_selecting_all(
    arguments: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["fleet", *arguments])
    assert f"argument {shown}: the value is empty" in read_error(capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run --config none.toml", "none.toml cannot be read: No such file or directory"),
        ("run --config .", "cannot be read: Is a directory"),
        ("run --hw 4.0", "--hw: "),
        ("run --sw 2", "--sw: "),
        ("run --port 70000", "--port must be a whole number from 0 to 65535, not 70000"),
        ("run --host=", "host must be a string of at least one character"),
        ("run --data=", "data must be a string of at least one character"),
        ("run --log-level loud", '"debug", "info", "warning" or "error"'),
        ("run --tls-key key.pem", "tls_certificate and tls_key belong together"),
        ("run --mqtt-key key.pem", "mqtt_certificate and mqtt_key belong together"),
        (f"run --data {FORBIDDEN}/leverframe", "choose another folder with --data"),
        (f"run --data {FORBIDDEN}/leverframe/deep", "choose another folder with --data"),
        ("run --syslog /nowhere", "use /dev/log, HOST or HOST:PORT"),
        ("run --tls-certificate a --tls-key b", "certificate a or its key b cannot be used"),
        ("run --data d --firmware-key none.pub", "--firmware-key: "),
        ("run --data d --ca-file none.pem", "--ca-file: "),
        ("commands --hw 9", "3.0, 3.5"),
        ("fleet advance -5s", "'-5s' is not a duration; write it like 90s"),
        ("fleet tenant give acme", "needs the NAME of a controller, or --tag"),
        ("commands --hw 3.0 --sw 1.75", "newest version for it is 1.58a"),
        ("commands --sw 9.99", "newest version for it is 1.75"),
        ("firmware build a.img --hw 3.9 --sw 9.99", "newest version for it is 1.75"),
        ("config check --config none.toml", "none.toml cannot be read"),
        ("board check --config none.toml", "none.toml cannot be read"),
        ("passwd stranger --generate --data .", "stranger"),
        ("simulate none.toml", "none.toml"),
        ("site build none", "none: No such file or directory; check the name"),
        ("site reset --config none.toml", "none.toml cannot be read"),
        ("firmware sign none.img --key k", "none.img: No such file or directory; check the name"),
        (f"firmware keygen {FORBIDDEN}/owner", f"{FORBIDDEN}/owner.key: "),
        ("firmware build a.img --hw 3.9 --sw 7", "1.36"),
    ],
)
def test_impossible_command_is_refused_in_one_line(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    assert words in read_error(capsys)


@pytest.mark.parametrize(
    "arguments", ["backup diff a.bin b.bin", "data check --data d", "data repair --config x.toml"]
)
def test_mistake_is_never_taken_for_the_answer_no(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    read_error(capsys)


def test_missing_package_is_named() -> None:
    program = (
        "import sys; sys.modules['msgspec'] = None\n"
        "from leverframe.__main__ import main; sys.exit(main(['commands']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "The package msgspec is missing. Reinstall" in done.stderr


def run_program(arguments: str, output: int | IO[bytes]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "leverframe", *arguments.split()],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments", ["config example", "commands", "firmware show a.img", "site build pages"]
)
def test_full_disk_behind_the_output_is_reported(here: Path, arguments: str) -> None:
    main(["firmware", "build", "a.img", "--hw", "3.9", "--sw", "1.75"])
    (here / "pages").mkdir()
    (here / "pages" / "index.html").write_text("front", encoding="utf-8")
    with open("/dev/full", "wb") as full:
        code, error = run_program(arguments, full)
    assert code == 2
    assert error == (
        "leverframe: Writing failed: No space left on device; free some space there,"
        " or choose another path.\n"
    )


def test_reader_who_has_seen_enough_is_no_mistake() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert run_program("config example", writing) == (141, "")
    finally:
        os.close(writing)


def test_link_loops_and_folders_for_files_are_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "circle").symlink_to("circle")
    assert main(["firmware", "show", "circle"]) == 2
    assert "the symbolic links form a loop" in read_error(capsys)
    assert main(["firmware", "show", "."]) == 2
    assert "Is a directory; use the path of a file." in read_error(capsys)


def test_fault_of_the_program_is_not_hidden() -> None:
    program = (
        "import sys; sys.modules['leverframe.host.command_line.listings'] = None\n"
        "from leverframe.__main__ import main; sys.exit(main(['commands']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Traceback" in done.stderr
