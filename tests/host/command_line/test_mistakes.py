"""Typical mistakes of users: each answer says what is wrong, what is allowed and what to do."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.__main__ import main
from tests.cases import for_each

FILES = {
    "typo.toml": "prot = 8081\n",
    "type.toml": 'port = "many"\n',
    "syntax.toml": "port = \n",
    "board.toml": '[board]\nknd = "linux"\n',
    "lamp.toml": "start = 2026-06-01T05:00:00\n",
    "debounce.toml": '[board.outputs.OUT0]\nchip = "x"\nline = 1\ndebounce_ms = 5\n',
    "scenario.toml": "strt = 2026-06-01T05:00:00\n",
    "command.toml": 'commands = ["/outs.cgi?out9=1"]\n',
    "commands.txt": "/outs.cgi?out0=1\n",
    "unit.toml": 'hardware = "3.9"\nsoftware = "1.75"\n[outputs.OUT0]\nnam = "Pump"\n',
    "version.toml": 'hardware = "3.9"\nsoftware = "9.99"\n',
    "value.toml": 'hardware = "3.9"\nsoftware = "1.75"\n[outputs.OUT0]\nreturn_time = "soon"\n',
    "units.toml": '[units.north]\naddress = "http://127.0.0.1:9"\n',
    "twice.toml": '[units.north]\naddress = "http://127.0.0.1:9"\n[units.south]\naddress = "http://127.0.0.1:9"\n',
    "plan.json": "{}",
    "text.bin": "hello",
    "session.jsonl": "{}\n",
    "owner.key": "x",
}
#: Stands for a port that another program uses.
BUSY = "BUSY"
#: Mistake, command line, exit status, answer.
MISTAKES = [
    (
        "unknown command",
        "rum",
        2,
        "leverframe: unknown command rum (did you mean run?); known commands: run, "
        "fleet, simulate, what-if, record, replay, unit, rule, commands, passwd, config, "
        "board, site, firmware, backup, data, completion, help; see leverframe --help",
    ),
    (
        "unknown task",
        "board chekc",
        2,
        "leverframe board: unknown task chekc (did you mean check?); known tasks: "
        "check; see leverframe board --help",
    ),
    (
        "typo in an option",
        "run --prot 8081",
        2,
        "leverframe run: unknown option --prot (did you mean --port?); see leverframe run --help",
    ),
    (
        "option without a value",
        "run --port",
        2,
        "leverframe run: argument --port: expected one argument; see leverframe run --help",
    ),
    (
        "word instead of a number",
        "run --port http",
        2,
        "leverframe: --port must be a whole number from 0 to 65535, not 'http'.",
    ),
    (
        "port out of range",
        "run --port 70000",
        2,
        "leverframe: --port must be a whole number from 0 to 65535, not 70000.",
    ),
    (
        "port in use",
        "run --port BUSY",
        2,
        "leverframe: Port BUSY is in use by another program; choose another with --port.",
    ),
    (
        "address of another machine",
        "run --host 192.0.2.1",
        2,
        "leverframe: 192.0.2.1 is not an address of this machine; choose one with --host.",
    ),
    (
        "missing configuration file",
        "run --config none.toml",
        2,
        "leverframe: none.toml cannot be read: No such file or directory; check the path.",
    ),
    (
        "typo in a key of a file",
        "run --config typo.toml",
        2,
        "leverframe: typo.toml, line 1: Unknown key prot. Did you mean port?",
    ),
    (
        "wrong type in a file",
        "run --config type.toml",
        2,
        "leverframe: type.toml, line 1: port must be a whole number from 0 to 65535, not 'many'.",
    ),
    (
        "TOML syntax error",
        "run --config syntax.toml",
        2,
        "leverframe: syntax.toml, line 1 is not valid TOML: Invalid value (column 8).",
    ),
    (
        "typo in a table of a file",
        "run --config board.toml",
        2,
        "leverframe: board.toml, line 2: Unknown key board.knd. Did you mean kind?",
    ),
    (
        "time without a unit",
        "simulate lamp.toml --for 24",
        2,
        "leverframe simulate: argument --for: 24 has no unit; write 24s for seconds, 24m for"
        " minutes, 24h for hours or 24d for days; see leverframe simulate --help",
    ),
    (
        "setting of inputs at an output",
        "run --config debounce.toml",
        2,
        "leverframe: debounce.toml, line 4: Unknown key board.outputs.OUT0.debounce_ms; known keys:"
        " chip, line, active_low.",
    ),
    (
        "unknown hardware version",
        "run --hw 4.0",
        2,
        "leverframe: --hw: Unknown hardware '4.0'. Choose one of 3.0, 3.5, 3.6, 3.7, 3.8, 3.9.",
    ),
    (
        "software version of other hardware",
        "run --hw 3.0 --sw 1.75",
        2,
        "leverframe: --sw: Software 1.75 does not exist for HW 3.0. The newest version "
        "for it is 1.58a.",
    ),
    (
        "unknown time zone",
        "run --timezone Europe/Warschau",
        2,
        "leverframe: --timezone: Unknown timezone 'Europe/Warschau'; use a name such as"
        " Europe/Warsaw.",
    ),
    (
        "data folder without rights",
        "run --data /sys/leverframe",
        2,
        "leverframe: The data folder /sys/leverframe cannot be used: Operation not "
        "permitted. Make it writable or choose another folder with --data.",
    ),
    (
        "file instead of a data folder",
        "run --data text.bin",
        2,
        "leverframe: The data folder text.bin cannot be used: Not a directory. Make it "
        "writable or choose another folder with --data.",
    ),
    (
        "virtual time on a real board",
        "run --virtual-time --board-kind linux",
        2,
        "leverframe: --virtual-time: Virtual time requires the simulated board, because"
        ' real devices do not wait. Remove --virtual-time or kind = "linux".',
    ),
    (
        "unknown board",
        "run --board-kind rasberry",
        2,
        "leverframe: --board-kind must be one of simulated, linux, not 'rasberry'.",
    ),
    (
        "certificate without a key",
        "run --tls-certificate a.pem",
        2,
        "leverframe: --tls-certificate: tls_certificate and tls_key belong together; "
        "set both or neither.",
    ),
    (
        "unknown log level",
        "run --log-level loud",
        2,
        'leverframe: --log-level must be "debug", "info", "warning" or "error", not \'loud\'.',
    ),
    (
        "missing syslog socket",
        "run --syslog /nowhere",
        2,
        "leverframe: There is no syslog socket /nowhere; use /dev/log, HOST or HOST:PORT.",
    ),
    (
        "bad MAC address",
        "run --mac 12",
        2,
        "leverframe: --mac: '12' is not the MAC address of a single device; write six "
        "pairs of hexadecimal digits such as D8:80:39:12:34:56, the first pair even and"
        " not all zero.",
    ),
    (
        "missing recording",
        "run --recorded none.jsonl",
        2,
        "leverframe: none.jsonl: No such file or directory; check the name.",
    ),
    (
        "bad duration",
        "simulate command.toml --for 3x",
        2,
        "leverframe simulate: argument --for: '3x' is not a duration; write it like "
        "90s, 1h30m, 24h or 7d; see leverframe simulate --help",
    ),
    (
        "zero step",
        "simulate command.toml --step 0s",
        2,
        "leverframe simulate: argument --step: 0s is too short; write a time above 0, "
        "like 60s; see leverframe simulate --help",
    ),
    (
        "missing scenario",
        "simulate none.toml",
        2,
        "leverframe: none.toml cannot be read: No such file or directory; check the path.",
    ),
    (
        "typo in a scenario",
        "simulate scenario.toml",
        2,
        "leverframe: scenario.toml, line 1: Unknown key strt; known keys: start, "
        "timezone, profile, record, sim, commands, plants, at.",
    ),
    (
        "value out of range in a scenario",
        "simulate command.toml",
        2,
        "leverframe: command.toml, line 1: Field A: 9 is outside 0 to 5. Allowed: 0 to 5.",
    ),
    (
        "missing data folder",
        "what-if --data none --commands commands.txt",
        2,
        "leverframe: The folder none does not exist. Specify the data folder of a controller.",
    ),
    (
        "URL with a wrong scheme",
        "record ftp://10.0.0.1 --out a.jsonl",
        2,
        "leverframe: The address of the unit is not valid; write it like http://192.168.1.10:8080.",
    ),
    (
        "URL with a path",
        "record http://10.0.0.1/x --out a.jsonl",
        2,
        "leverframe: The address of the unit must not contain a path; write it like "
        "http://192.168.1.10:8080.",
    ),
    (
        "file that is not a recording",
        "replay session.jsonl --against http://127.0.0.1:9",
        2,
        "leverframe: session.jsonl is not a recording; create one with `leverframe record`.",
    ),
    (
        "bad tolerance",
        "replay session.jsonl --against http://127.0.0.1:9 --tolerance much",
        2,
        "leverframe: 'much' is not a tolerance; write a number such as 0.5 or a "
        "percentage such as 2%.",
    ),
    (
        "unit that is off",
        "unit pull http://127.0.0.1:9",
        2,
        "leverframe: 127.0.0.1:9 refuses connections; check that the server runs on this port.",
    ),
    (
        "unknown file format",
        "unit pull http://127.0.0.1:9 --out north.txt",
        2,
        "leverframe: Unknown file format north.txt; end the name with .toml for a unit "
        "file, or .json for a backup.",
    ),
    (
        "existing file",
        "unit pull http://127.0.0.1:9 --out plan.json",
        2,
        "leverframe: plan.json already exists; choose another name, or remove it first.",
    ),
    (
        "one side to compare",
        "unit diff version.toml",
        2,
        "leverframe: Name two sides, such as http://192.168.1.10 north.toml; or an "
        "inventory, whose units are compared with their files.",
    ),
    (
        "bad IPv4 address",
        "unit find 300.1.1.1",
        2,
        "leverframe: '300.1.1.1' is not an address; write 192.168.1.10 or "
        "http://192.168.1.10:8080, a range like 192.168.1.10-40, or a network like "
        "192.168.1.0/27.",
    ),
    (
        "misspelled unit",
        "unit plan units.toml nort",
        2,
        "leverframe: units.toml: Unknown unit `nort`. Did you mean `north`? Allowed: north.",
    ),
    (
        "file without units",
        "unit plan unit.toml",
        2,
        "leverframe: Name the units, such as http://192.168.1.10, or an inventory.",
    ),
    (
        "unknown branch",
        "unit plan unit.toml http://127.0.0.1:9 --only outpts",
        2,
        "leverframe: --only: Unknown branch 'outpts'. Did you mean outputs? Allowed, "
        "separated by commas: name, timezone, outputs, output_flags, pwm, "
        "pwm_frequency, pid, analog_inputs, digital_inputs, impulse_time, "
        "differentials, onewire, onewire_extra, weather, i2c, serial, gsm, email, "
        "modbus_slots, modbus_devices, modbus_mapping, modbus_names, modbus_writes, modbus_tcp, "
        "power, energy_remember, rules, event_variables, oled, ui, layout, variables, "
        "schedule, schedule_catch_up, watchdog, http, http_period, http_double_percent, mqtt, "
        "snmp, access.",
    ),
    (
        "no plan",
        "unit apply",
        2,
        "leverframe: Name a plan, a unit file or an inventory, or use --resume.",
    ),
    (
        "file that is not a plan",
        "unit apply plan.json",
        2,
        "leverframe: plan.json is not a plan of this version (Object missing required "
        "field `format`); write a new plan with `leverframe unit plan --out`.",
    ),
    (
        "batch of 0 units",
        "unit apply plan.json --batch 0",
        2,
        "leverframe unit apply: argument --batch: 0 is too small; write a whole number "
        "from 1; see leverframe unit apply --help",
    ),
    (
        "missing journal",
        "unit rollback none",
        2,
        "leverframe: Journal none does not exist; name a journal, or a folder of journals.",
    ),
    (
        "controller that was not taken over",
        "unit give-back --data none",
        2,
        "leverframe: none is not the data folder of a controller created by `leverframe"
        " unit take-over`.",
    ),
    (
        "port of the watch out of range",
        "unit watch units.toml --port 70000",
        2,
        "leverframe: Port 70000 is out of range; ports are 1 to 65535.",
    ),
    (
        "typo in a unit file",
        "unit check unit.toml",
        1,
        "unit.toml, line 4: Unknown key `outputs.OUT0.nam`. Did you mean `name`? "
        "Allowed: name, on_time, return_time, on_after_start, off_time, remember, "
        "start_delay, periodic.",
    ),
    (
        "unknown version in a unit file",
        "unit check version.toml",
        1,
        "version.toml, line 2: Software 9.99 does not exist for HW 3.9. The newest "
        "version for it is 1.75.",
    ),
    (
        "wrong value in a unit file",
        "unit check value.toml",
        1,
        'value.toml, line 4: outputs.OUT0.return_time must be a duration such as "90s" or "1h30m".',
    ),
    (
        "two units at one address",
        "unit check twice.toml",
        1,
        "twice.toml, line 4: units.south has the same address as units.north, "
        "http://127.0.0.1:9; it must be unique.",
    ),
    (
        "file that is not a backup",
        "backup show text.bin",
        2,
        "leverframe: text.bin: The file is not a settings backup: its header is wrong.",
    ),
    (
        "missing backup",
        "backup show none.bin",
        2,
        "leverframe: none.bin cannot be read: No such file or directory; check the path.",
    ),
    (
        "unknown backup format",
        "backup create x.txt",
        2,
        "leverframe: data contains no store; specify the data folder of a controller.",
    ),
    (
        "unknown label",
        "data export --labels XX1 --data none",
        2,
        "leverframe: Unknown label 'XX1'; write labels like DS1,OUT0.",
    ),
    (
        "missing data folder to check",
        "data check --data none",
        2,
        "leverframe: The folder none does not exist. Specify the data folder of a controller.",
    ),
    (
        "missing folder of pages",
        "site build none",
        2,
        "leverframe: none: No such file or directory; check the name.",
    ),
    (
        "unknown firmware version",
        "firmware build a.img --hw 3.9 --sw 9.99",
        2,
        "leverframe: Software 9.99 does not exist for HW 3.9. The newest version for it is 1.75.",
    ),
    (
        "existing key",
        "firmware keygen owner",
        2,
        "leverframe: owner.key: File exists; choose another name, or remove it first.",
    ),
    (
        "file that is not firmware",
        "firmware show text.bin",
        2,
        "leverframe: This is not a firmware image; create one with `leverframe firmware build`.",
    ),
    (
        "unknown shell",
        "completion tcsh",
        2,
        "leverframe completion: argument shell: unknown value 'tcsh'; allowed: bash, "
        "zsh, fish; see leverframe completion --help",
    ),
    (
        "unknown hardware",
        "commands --hw 9",
        2,
        "leverframe: Unknown hardware '9'. Choose one of 3.0, 3.5, 3.6, 3.7, 3.8, 3.9.",
    ),
    (
        "no node",
        "fleet list --node http://127.0.0.1:9",
        2,
        "leverframe: http://127.0.0.1:9 does not answer: Connection refused. Start a "
        "node with `leverframe fleet run`, or set its address with --node.",
    ),
    (
        "bad URL of a node",
        "fleet list --node ftp://x",
        2,
        "leverframe: 'ftp://x' is not the address of a node. Write it like http://127.0.0.1:8080.",
    ),
    (
        "missing name",
        "fleet add",
        2,
        "leverframe fleet add: the following arguments are required: --name; see "
        "leverframe fleet add --help",
    ),
    (
        "bad count",
        "fleet add --name x --count many",
        2,
        "leverframe fleet add: argument --count: 'many' is not a whole number; write "
        "one like 1; see leverframe fleet add --help",
    ),
    (
        "no selection",
        "fleet remove",
        2,
        "leverframe fleet remove: NAME or --tag is required; see leverframe fleet remove --help",
    ),
    (
        "no time",
        "fleet advance",
        2,
        "leverframe fleet advance: use one of TIME, --to, --step, --rate and --freeze; "
        "see leverframe fleet advance --help",
    ),
    (
        "unknown action",
        "fleet rollout strt",
        2,
        "leverframe fleet rollout: argument WHAT: unknown value 'strt'; allowed: plan, "
        "list, show, start, stop, resume, retry, undo, remove; see leverframe fleet "
        "rollout --help",
    ),
]


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def status_of(arguments: list[str]) -> int | str | None:
    try:
        return main(arguments)
    except SystemExit as left:
        return left.code


@for_each(
    ("arguments", "status", "answer"),
    [mistake[1:] for mistake in MISTAKES],
    ids=[mistake[0] for mistake in MISTAKES],
)
def test_mistake_gets_an_answer_with_advice(
    arguments: str,
    status: int,
    answer: str,
    busy_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = status_of(arguments.replace(BUSY, str(busy_port)).split())
    output, errors = capsys.readouterr()
    assert (found, (errors or output).strip()) == (status, answer.replace(BUSY, str(busy_port)))


def test_answers_are_one_or_two_sentences() -> None:
    for mistake, _, _, answer in MISTAKES:
        assert len(re.findall(r"[.?](?= [A-Z`]|$)", answer)) <= 3, mistake
        assert "Traceback" not in answer


def test_mistakes_are_at_least_forty() -> None:
    assert len({arguments for _, arguments, _, _ in MISTAKES}) >= 40
