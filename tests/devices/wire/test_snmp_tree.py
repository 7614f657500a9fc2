"""The SNMP tree and its MIB file."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs._ext.snmp_mib import mib_text, symbol
from leverframe.core.labels import LABELS
from leverframe.core.profile import Profile
from leverframe.devices.wire.snmp import (
    BRANCHES,
    BY_OID,
    ENTERPRISE,
    INT32,
    SCALARS,
    TRAP_FIELDS,
    Scalar,
    objects_of,
    ticks,
    trap_field,
    whole,
)
from tests.patience import PATIENCE_S

#: As much of the modules that ours imports as net-snmp and smilint need; Debian does not ship them.
IMPORTED = {
    "SNMPv2-SMI": """
        org OBJECT IDENTIFIER ::= { iso 3 }
        dod OBJECT IDENTIFIER ::= { org 6 }
        internet OBJECT IDENTIFIER ::= { dod 1 }
        private OBJECT IDENTIFIER ::= { internet 4 }
        enterprises OBJECT IDENTIFIER ::= { private 1 }
        MODULE-IDENTITY MACRO ::= BEGIN END
        OBJECT-TYPE MACRO ::= BEGIN END
        NOTIFICATION-TYPE MACRO ::= BEGIN END
        Integer32 ::= INTEGER (-2147483648..2147483647)
        """,
    "SNMPv2-CONF": """
        IMPORTS OBJECT-TYPE FROM SNMPv2-SMI;
        OBJECT-GROUP MACRO ::= BEGIN END
        NOTIFICATION-GROUP MACRO ::= BEGIN END
        MODULE-COMPLIANCE MACRO ::= BEGIN END
        """,
    "SNMPv2-TC": """
        IMPORTS OBJECT-TYPE FROM SNMPv2-SMI;
        TEXTUAL-CONVENTION MACRO ::= BEGIN END
        DisplayString ::= TEXTUAL-CONVENTION
            STATUS current
            DESCRIPTION "Text."
            SYNTAX OCTET STRING (SIZE (0..255))
        """,
}
BY_LABEL = {scalar.label: scalar for scalar in SCALARS}


def test_every_label_has_one_place_but_the_mqtt_connection() -> None:
    assert len(BY_OID) == len(BY_LABEL) == len(SCALARS)
    assert set(LABELS) - set(BY_LABEL) == {"MQTT"}


@pytest.mark.parametrize(
    ("label", "place", "scale"),
    [
        ("OUT0", (1, 1), 1),
        ("INPD4", (2, 4), 1),
        ("INPA6", (3, 6), 100),
        ("VCC", (3, 7), 100),
        ("TEMP", (3, 8), 100),
        ("DS8", (4, 8), 10),
        ("T1", (4, 9), 10),
        ("H1", (4, 10), 10),
        ("DIFF3", (4, 13), 1000),
        ("P1", (4, 14), 100),
        ("CO2", (4, 15), 1),
        ("PM10.0", (4, 19), 10),
        ("POWER4", (5, 4), 1000),
        ("ENERGY4", (5, 8), 1000),
        ("m30", (6, 30), 100),
    ],
)
def test_readings_stand_where_clients_look_for_them(
    label: str, place: tuple[int, int], scale: int
) -> None:
    assert BY_LABEL[label].oid == (*ENTERPRISE, *place, 0)
    assert BY_LABEL[label].scale == scale


#: The places that lank3-api, a public client of HW 3.0, reads; it appends the instance `.0`.
OLDER_TREE = {
    **{f"OUT{index}": (1, index) for index in range(6)},
    **{f"PWM{index}": (1, 6 + index) for index in range(4)},
    **{f"INPD{number}": (2, number) for number in range(1, 5)},
    **{f"INPA{number}": (3, number) for number in range(1, 7)},
    "VCC": (3, 7),
    "TEMP": (3, 8),
    **{f"DS{number}": (4, number) for number in range(1, 7)},
    "T1": (4, 7),
    "H1": (4, 8),
    "DIFF1": (4, 9),
    "DIFF2": (4, 10),
    **{f"POWER{number}": (5, number) for number in range(1, 5)},
    **{f"ENERGY{number}": (5, 4 + number) for number in range(1, 5)},
}


def test_hw_30_has_the_older_tree_beside_the_other_and_no_place_twice() -> None:
    older = {(*ENTERPRISE, 3, *place, 0): BY_LABEL[label] for label, place in OLDER_TREE.items()}
    assert not older.keys() & BY_OID.keys()
    assert objects_of(Profile("3.0", "1.43")) == BY_OID | older
    assert objects_of(Profile()) == BY_OID


def test_every_object_of_hw_30_has_the_instance_0_and_inpa1_keeps_its_place() -> None:
    objects = objects_of(Profile("3.0", "1.43"))
    assert {oid[-1] for oid in objects} == {0}
    # Checkmk's plug-in reads INPA1 here.
    assert objects[*ENTERPRISE, 3, 1, 0].label == "INPA1"
    assert objects[*ENTERPRISE, 3, 1, 0, 0].label == "OUT0"


def test_only_switches_can_be_set() -> None:
    assert {scalar.branch for scalar in SCALARS if scalar.command} == {1}
    assert all(scalar.command for scalar in SCALARS if scalar.branch == 1)


@given(st.sampled_from(SCALARS), st.floats(allow_nan=False, allow_infinity=False) | st.none())
def test_every_value_fits_into_32_bits(scalar: Scalar, value: float | None) -> None:
    assert -INT32 - 1 <= whole(scalar, value) <= INT32


@given(st.floats(min_value=0, max_value=100 * 365 * 86_400))
def test_controller_that_runs_for_years_has_an_uptime_that_fits(seconds: float) -> None:
    assert 0 <= ticks(seconds) < 2**32


def test_mib_file_names_every_object_at_its_place() -> None:
    text = mib_text()
    places = dict(re.findall(r"^(\w+) OBJECT-TYPE.*?::= \{ (\w+ \d+) \}", text, re.S | re.M))
    wanted = {
        symbol(scalar.label): f"{BRANCHES[scalar.branch][0]} {scalar.number}" for scalar in SCALARS
    }
    wanted |= {f"trap{name.capitalize()}": f"trapFields {trap_field(name)[-2]}" for name in
               TRAP_FIELDS}  # fmt: skip
    assert places == wanted
    for number, (name, _) in BRANCHES.items():
        assert f"{name} OBJECT IDENTIFIER ::= {{ leverframe {number} }}" in text


def test_only_settable_objects_are_writable_in_the_mib_file() -> None:
    writable = re.findall(r"^(\w+) OBJECT-TYPE[^}]*?read-write", mib_text(), re.M)
    assert writable == [symbol(scalar.label) for scalar in SCALARS if scalar.command]


def write_modules(folder: Path) -> None:
    (folder / "LEVERFRAME-MIB.txt").write_text(mib_text())
    for name, text in IMPORTED.items():
        (folder / f"{name}.txt").write_text(f"{name} DEFINITIONS ::= BEGIN {text} END\n")


@pytest.mark.needs_program("smilint")
def test_smilint_has_nothing_to_complain_about(tmp_path: Path) -> None:
    write_modules(tmp_path)
    asked = ["smilint", "-l", "6", "-c", os.devnull, str(tmp_path / "LEVERFRAME-MIB.txt")]
    path = {**os.environ, "SMIPATH": str(tmp_path)}
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE_S, env=path)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


@pytest.mark.needs_program("snmptranslate")
def test_net_snmp_reads_the_mib_file_without_complaint(tmp_path: Path) -> None:
    write_modules(tmp_path)
    asked = ["snmptranslate", "-M", str(tmp_path), "-m", "LEVERFRAME-MIB", "-Pw", "-On"]
    names = [f"LEVERFRAME-MIB::{symbol(label)}.0" for label in ("OUT0", "DS1", "PM2.5", "m30")]
    # It would say that it made this folder, once on every machine.
    (tmp_path / "cert_indexes").mkdir()
    folder = {**os.environ, "SNMP_PERSISTENT_DIR": str(tmp_path)}
    ended = subprocess.run(
        [*asked, *names], capture_output=True, text=True, timeout=PATIENCE_S, env=folder
    )
    # It reports every macro, which only smilint reads.
    assert [line for line in ended.stderr.splitlines() if " MACRO " not in line] == []
    assert ended.stdout.split() == [
        "." + ".".join(map(str, BY_LABEL[label].oid)) for label in ("OUT0", "DS1", "PM2.5", "m30")
    ]
