"""File, environment and flags become one configuration, or a line for each mistake."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.host.configuration import BadConfiguration, Config, read_config
from leverframe.host.configuration.keys import Key, keys
from tests.cases import for_each

PORTS = st.none() | st.integers(0, 65535)


def complaints(path: Path | None, flags: dict[str, Any], **environment: str) -> list[str]:
    with pytest.raises(BadConfiguration) as failure:
        read_config(path, flags, environment)
    return str(failure.value).splitlines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cellar.toml"


def test_nothing_given_is_the_defaults() -> None:
    assert read_config(None, {}) == Config()


@given(PORTS, PORTS, PORTS)
def test_flag_wins_over_a_variable_over_the_file_over_the_default(
    tmp_path_factory: pytest.TempPathFactory,
    in_file: int | None,
    variable: int | None,
    flag: int | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / "order.toml"
    path.write_text("" if in_file is None else f"port = {in_file}\n")
    environment = {} if variable is None else {"LEVERFRAME_PORT": str(variable)}
    flags = {} if flag is None else {"port": str(flag)}
    given_ports = [port for port in (flag, variable, in_file) if port is not None]
    config = read_config(path, flags, environment)
    assert config.port == (given_ports[0] if given_ports else Config().port)


def as_text(key: Key, value: Any) -> str:
    if key.is_list:
        return ",".join(value)
    return str(value).lower() if key.is_switch else str(value)


#: Keys whose values name files that must be there, or go together with others.
BOUND = {"tls_certificate", "tls_key", "ca_file", "firmware_key", "mqtt_certificate", "mqtt_key"}
FREE = [key for key in keys() if key.name not in BOUND]


@for_each("key", FREE, ids=lambda key: key.name)
def test_variable_and_a_flag_say_the_same_as_the_file(key: Key, file: Path) -> None:
    value = key.default if key.example is None else key.example
    table = f"[{'.'.join(key.place[:-1])}]\n" if key.place[1:] else ""
    file.write_text(f"{table}{key.place[-1]} = {msgspec.json.encode(value).decode()}\n")
    # What a real board needs besides the key, where it is one of the board.
    wired = {"board.kind": "linux", "board.oled.bus": "1"}
    besides = wired if table and key.name not in wired else {}
    besides = {"board.kind": "linux"} if key.name == "board.oled.bus" else besides
    by_file = read_config(file, besides)
    text = as_text(key, value)
    assert read_config(None, besides, {key.variable: text}) == by_file
    assert read_config(None, {**besides, key.name: text}) == by_file


@for_each("text", ["true", "YES", "on", "1"])
def test_variable_switches_on(text: str) -> None:
    assert read_config(None, {}, {"LEVERFRAME_TLS": text}).tls


@for_each("text", ["false", "No", "off", "0"])
def test_variable_switches_off(text: str) -> None:
    assert not read_config(None, {}, {"LEVERFRAME_MDNS": text}).mdns


def test_empty_variable_counts_as_not_set() -> None:
    assert read_config(None, {}, {"LEVERFRAME_PORT": "", "LEVERFRAME_HOST": ""}) == Config()


def test_list_is_written_with_commas() -> None:
    config = read_config(None, {"hosts": " a.lan, b.lan,"}, {})
    assert config.hosts == ("a.lan", "b.lan")


def test_variables_of_others_are_nobodys_business() -> None:
    assert read_config(None, {}, {"PATH": "/bin", "LEVER": "1"}) == Config()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('host = "::1"\nport = 70000\n', 2, "port must be a whole number from 0 to 65535"),
        ("# two\n\nport = '80'\n", 3, "port must be a whole number from 0 to 65535, not '80'"),
        ("prot = 1\n", 1, "Unknown key prot. Did you mean port?"),
        ("zzz = 1\n", 1, "Unknown key zzz; known keys: host, port"),
        ("tls = 1\n", 1, "tls must be true or false, not 1"),
        ("hosts = 'a'\n", 1, "hosts must be a list of strings"),
        ("log_level = 'loud'\n", 1, 'must be "debug", "info", "warning" or "error", not \'loud\''),
        ("\ntimezone = 'Mars/Base'\n", 2, "Unknown timezone 'Mars/Base'; use a name such as"),
        ("sw = '1.49'\nhw = '4.0'\n", 2, "3.0, 3.5"),
        ("modbus_writers = ['plc']\n", 1, "write addresses or networks"),
        ("proxies = ['haproxy']\n", 1, "write addresses or networks"),
        ("port = 1\nca_file = '/nowhere'\n", 2, "/nowhere cannot be read"),
        ("port = 1\ntls_key = 'x'\n", 2, "belong together"),
        ("board = 3\n", 1, "board must be a table, written as [board]"),
        ("[board]\nkind = 'linux'\ni2c = {}\n", 3, "bus is missing in board.i2c; it must be"),
        ("[board]\nkind = 'linux'\n[board.i2c]\nbuss = 1\nbus = 1\n", 4, "Did you mean bus?"),
        ("[board]\nkind = 'linux'\n\n[board.oled]\nbus = 1\naddress = 1\n", 6, "from 8 to 119"),
        ("[board]\nkind = 'linux'\n[board.outputs]\nOUT0 = 1\n", 4, "must be a table"),
        (
            "[board]\nkind = 'linux'\n[board.outputs.OUT9]\nchip = 'x'\nline = 1\n",
            3,
            "has no OUT9; the labels are",
        ),
        ("[board.pwm]\nPWM0 = {chip = 0, channel = 0}\n", 1, 'set kind = "linux"'),
    ],
)
def test_mistake_in_the_file_is_reported_with_its_line(
    file: Path, text: str, line: int, words: str
) -> None:
    file.write_text(text)
    (complaint,) = complaints(file, {})
    assert complaint.startswith(f"{file}, line {line}: ")
    assert words in complaint


def test_mistake_in_the_environment_is_reported_with_its_variable() -> None:
    assert complaints(None, {}, LEVERFRAME_PORT="x") == [
        "LEVERFRAME_PORT must be a whole number from 0 to 65535, not 'x'."
    ]
    (complaint,) = complaints(None, {}, LEVERFRAME_BOARD_KIND="arduino")
    assert complaint.startswith("LEVERFRAME_BOARD_KIND must be one of simulated, linux, not")


def test_mistake_in_a_flag_is_reported_with_the_flag(file: Path) -> None:
    file.write_text("port = 1\n")
    (complaint,) = complaints(file, {"port": "-1"}, LEVERFRAME_PORT="2")
    assert complaint == "--port must be a whole number from 0 to 65535, not -1."


def test_unknown_variable_is_reported_without_its_value() -> None:
    (complaint,) = complaints(None, {}, LEVERFRAME_PROT="hunter2")
    assert "Did you mean LEVERFRAME_PORT?" in complaint
    (other,) = complaints(None, {}, LEVERFRAME_ZEBRA_PASSWORD="hunter2")
    assert "hunter2" not in complaint + other


def test_all_mistakes_are_reported_together_one_line_each(file: Path) -> None:
    file.write_text("prot = 1\ntls = 3\ntimezone = 'Mars'\n[board.outputs]\nOUT0 = 3\n")
    complaint = complaints(file, {"modbus_port": "70000"}, LEVERFRAME_X="1")
    begins = (
        *("LEVERFRAME_X:", f"{file}, line 1:", f"{file}, line 2:", f"{file}, line 5:"),
        *("--modbus-port must be", f"{file}, line 3:"),
    )
    for line, begin in zip(complaint, begins, strict=True):
        assert line.startswith(begin)


@pytest.mark.parametrize("content", [b"port =\n", b"a = 1\na = 2\n"])
def test_invalid_toml_is_reported_with_the_file(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    (complaint,) = complaints(file, {})
    assert complaint.startswith((f"{file}, line 1 is not valid", f"{file}, line 2 is not valid"))


def test_missing_file_is_reported(tmp_path: Path) -> None:
    assert complaints(tmp_path / "none.toml", {})[0].endswith("directory; check the path.")


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "bus", "OUT0", "chip"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["port", "tls", "hosts", "log_level"]), JSON_LIKE))
def test_any_value_is_accepted_or_reported_with_its_flag(flags: dict[str, Any]) -> None:
    complaint = ""
    try:
        read_config(None, flags)
    except BadConfiguration as error:
        complaint = str(error)
    assert [line for line in complaint.splitlines() if not line.startswith("--")] == []
