"""Keys: names, flags and other settings. The name of a key is that of the command that sets it.

A key that shows the settings of one command is declared on the command's row. If the command has an
index, it is part of the key (`ortime3`). The remaining keys are declared here. Secrets have no key.
"""

from collections.abc import Mapping
from itertools import product

from leverframe.interface.status_files.forms import (
    ACCOUNTS_FORM,
    FLAG_FORM,
    TEXT_FORM,
    code_form,
    form_of,
    join_forms,
    joint_settings,
    setting,
    settings,
    text_list_form,
)
from leverframe.interface.status_files.keys import JOINED, TEXT, Keys, key, number_names
from leverframe.interface.status_files.readings import SIX
from leverframe.interface.table import codes
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import Bits, Int, Param, Position
from leverframe.interface.table.params.special import I2cSelection
from leverframe.interface.table.row import Row

# --- commands -------------------------------------------------------------------------------------


def _keys_of(row: Row) -> Keys:
    """Return the keys that show the settings of a command, as declared on its row."""
    *indices, last = row.form.holes
    if len(row.sets) > 1:
        form = join_forms(JOINED, *map(form_of, row.params.values()))
        return joint_settings(_name(row), _patterns(row, {}), form, row.shown, row.when)
    param = row.params[last]
    form = form_of(param)
    if row.shown_in:
        form = form.in_words(row.shown_in)
    if isinstance(param, Bits | I2cSelection):
        return joint_settings(_name(row), _patterns(row, {}), form, row.shown, row.when)
    places = {letter: _places(row.params[letter]) for letter in indices}
    names = tuple(_name(row) + "".join(map(str, at)) for at in product(*places.values()))
    return settings(names, _patterns(row, places), form, row.shown, row.when)


def _name(row: Row) -> str:
    return row.form.items[0].name.literals[0]


def _patterns(row: Row, places: Mapping[str, range]) -> str:
    """Return the patterns of a row's settings in the tree."""
    spans = {letter: f"{numbers[0]}-{numbers[-1]}" for letter, numbers in places.items()}
    paths = [path for group in row.sets.values() for path in group]
    if paths and isinstance(row.params[row.form.holes[-1]], Bits):
        # All bits belong to one list.
        paths = [f"{path}.*" for path in paths]
    return " ".join(path.format_map(spans) for path in paths or row.limits)


def _places(index: Param) -> range:
    match index:
        case Int(first, last):
            return range(first, last + 1)
        case Position(count):
            return range(count)
    raise TypeError(f"{index} is not an index")


_BY_COMMAND = {_name(row): _keys_of(row) for row in TABLE if row.shown}


def command_keys(*commands: str) -> tuple[Keys, ...]:
    """Return the keys that show the settings of these commands."""
    return tuple(_BY_COMMAND[command] for command in commands)


#: The commands whose keys show stored variables.
VARIABLES = ("bit", "byte", "word", "dword", "string")

# --- names ----------------------------------------------------------------------------------------


def _name_key(name: str, label: str) -> Keys:
    return key(name, (), lambda view: label, f"name of {label}, which cannot be changed", TEXT)


SENSOR_NAMES = joint_settings(
    "tname",
    "onewire.*.name weather.t1_name weather.h1_name",
    text_list_form(10),
    "names of DS1-DS8, T1 and H1",
)
PRESSURE_NAME = setting("pressureName", "weather.p1_name", TEXT_FORM, "name of P1")
POWER_NAMES = settings(
    number_names("pown", 0, 4),
    "power.0-3.name",
    TEXT_FORM,
    "names of POWER1-POWER4 and ENERGY1-ENERGY4",
)
POWER_NAMES_5_6 = settings(
    number_names("pown", 4, 2),
    "power.4-5.name",
    TEXT_FORM,
    "names of POWER5-POWER6 and ENERGY5-ENERGY6",
    SIX,
)
FIXED_NAMES = (
    _name_key("pm1name", "PM1.0"),
    _name_key("pm25name", "PM2.5"),
    _name_key("pm4name", "PM4.0"),
    _name_key("pm10name", "PM10.0"),
    _name_key("co2name", "CO2"),
)

# --- sensors --------------------------------------------------------------------------------------

ANALOG_SENSORS = settings(
    number_names("sensor", 0, 6),
    "analog_inputs.*.sensor",
    code_form(codes.ANALOG_SENSORS),
    "sensor codes of INPA1-INPA6",
)
LAST_ID = key("dsid", ("dsid",), lambda view: view.engine.machine.dsid, "1-Wire ID read last", TEXT)
ONEWIRE_IDS = settings(
    number_names("dsid", 1, 8),
    "onewire.*.id",
    TEXT_FORM,
    "1-Wire IDs of DS1-DS8; eight zero bytes mean none",
)

# --- accounts -------------------------------------------------------------------------------------

ACCOUNTS = (
    setting("auth", "access.required", FLAG_FORM, "sign-in is required"),
    setting("upgr", "access.updates_allowed", FLAG_FORM, "updates are allowed"),
    joint_settings(
        "userpass",
        "access.admin.name access.user.name",
        ACCOUNTS_FORM,
        "names of the administrator and the user, each followed by an empty password",
    ),
)
