"""All status files, with their keys in order.

The order is fixed, because some clients identify readings only by their position. Keys that later
versions added are at the end of a file. In JSON, where positions do not matter, they may also
follow related keys (`diff4` after `diff3`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.profile import ALWAYS, HW35, Profile, Spans, is_offered, spans_in_words
from leverframe.interface.status_files import entries, readings, settings, states
from leverframe.interface.status_files.keys import (
    Keys,
    View,
    Write,
    join_names,
    json_members,
    only_on,
    xml_lines,
)
from leverframe.interface.status_files.module_readings import MODULE_READINGS
from leverframe.interface.status_files.parsers import ParsedValue
from leverframe.interface.status_files.segments import Document, DocumentLayout, Segment
from leverframe.interface.status_files.settings import VARIABLES, command_keys
from leverframe.interface.table.codes import span

JSON, XML = "application/json", "text/xml"


class File(Struct, frozen=True):
    path: str
    #: A description of the contents.
    doc: str
    keys: tuple[Keys, ...]
    when: Spans = ALWAYS
    #: Only the administrator may read the file; all other files contain only values and names.
    is_for_administrator: bool = False

    @property
    def content_type(self) -> str:
        return JSON if self.path.endswith(".json") else XML


class KeyDescription(Struct, frozen=True):
    """A line of the reference: a key of a file, or several similar keys (`ds1-ds8`)."""

    path: str
    key: str
    meaning: str
    scale: str
    #: The versions that have the key, in words.
    when: str


_DIFFERENTIALS = (readings.differentials(1, 3), readings.differentials(4, 6, readings.SIX))
_POWER_AND_ENERGY = (
    readings.POWER,
    readings.POWER_5_6,
    readings.ENERGY,
    readings.ENERGY_5_6,
)
_WEATHER = (readings.weather("dthTemp", "dthHum"), readings.P1)
_PARTICULATES = readings.particulates("pm1", "pm2", "pm4", "pm10")
_DIGITAL_FLAGS = ("inpdp", "inpdnn", "inpdb", "imptimen")
#: Readings that later versions added.
_LATER_READINGS = (
    readings.DEW_POINT,
    readings.OZONE,
    readings.DISTANCE,
    states.BARCODE,
    states.IMPULSES,
)

_STATUS_PER = (
    states.UPTIME,
    states.TIME,
    readings.VCC,
    readings.TEMP,
    *_DIFFERENTIALS,
    *_WEATHER,
    readings.AIR_QUALITY,
    readings.DS,
    states.OUT,
    readings.ANALOG,
    states.PWM,
    states.DIGITAL,
    *_POWER_AND_ENERGY,
    _PARTICULATES,
    readings.CO2,
    states.PWM_DUTY,
    *_LATER_READINGS,
    *MODULE_READINGS,
)

_ALL = (
    states.MAC,
    states.HARDWARE,
    states.SOFTWARE,
    readings.VCC,
    readings.TEMP,
    *_DIFFERENTIALS,
    *_WEATHER,
    readings.DS,
    states.OUT,
    readings.ANALOG,
    states.PWM,
    states.PWM_DUTY,
    states.DIGITAL,
    *_POWER_AND_ENERGY,
    _PARTICULATES,
    readings.CO2,
    *readings.LIGHTING_MODULE,
    *MODULE_READINGS,
    readings.SELECTION,
    # On HW 3.0, other files contain the flags.
    *only_on(
        HW35,
        *command_keys("outnn", "inpdnn"),
        readings.AIR_QUALITY,
        *_LATER_READINGS,
        states.VARIABLES,
        states.NAME,
        states.TIME,
    ),
)

_STATUS = (
    states.RESTART,
    states.NAME,
    states.MAC,
    states.HARDWARE,
    states.SOFTWARE,
    settings.SENSOR_NAMES,
    settings.PRESSURE_NAME,
    *command_keys("oname", "pname", "iname", "idname", "diffname"),
    settings.POWER_NAMES,
    settings.POWER_NAMES_5_6,
    *settings.FIXED_NAMES,
    *command_keys("eventname", "outnn", "outblock", *_DIGITAL_FLAGS, "powsave", "lang"),
    *command_keys(*VARIABLES, "postop", "posleft", "echeck"),
    *_STATUS_PER,
    states.VARIABLES,
    states.MQTT,
    readings.SELECTION,
    *command_keys("pwmf"),
)

_IX = (
    *states.SEC,
    states.OUT_CHARACTERS,
    states.OUT,
    states.PWM,
    readings.RAW_ANALOG,
    readings.ANALOG,
    readings.VCC,
    readings.TEMP,
    states.DIGITAL,
    readings.weather("dth0", "dth1"),
    readings.DS,
    readings.POWER,
    readings.ENERGY,
    readings.particulates("pm25", "pm10", labels=("PM2.5", "PM10.0")),
    readings.differentials(1, 2),
    readings.SELECTION,
    readings.CO2,
    readings.P1,
    # After all keys that clients identify by position.
    readings.differentials(3, 3),
    readings.differentials(4, 6, readings.SIX),
    readings.POWER_5_6,
    readings.ENERGY_5_6,
    readings.particulates("pm1", "pm4", labels=("PM1.0", "PM4.0")),
    *only_on(HW35, readings.DEW_POINT, readings.DISTANCE, states.VARIABLES),
)

#: For clients of the previous generation. As in the `out` commands, 1 means on.
_ST0 = (
    states.OUT,
    replace(*command_keys("outnn"), names=("out6",)),
    states.LEVELS,
    *readings.OLDER,
    states.FREQUENCY,
    states.DUTY,
    states.STATE_OF_PWM0,
    *states.SEC,
)

FILES = {
    file.path: file
    for file in (
        File(
            "/json/status.json",
            "Names, flags, the restart flag, and all states and readings.",
            _STATUS,
        ),
        File(
            "/json/status_per.json",
            "States and readings.",
            (*_STATUS_PER, *only_on(HW35, states.VARIABLES)),
        ),
        File("/json/all.json", "Identity, states and readings in one file.", _ALL),
        File(
            "/json/pwmpid.json",
            "PWM duties and frequencies, the PID regulator.",
            (
                *command_keys("pname"),
                states.PWM,
                states.PWM_DUTY,
                *command_keys("pwmf", "pwmp", "pwmt", "pidvalue"),
            ),
        ),
        File(
            "/json/outputs.json",
            "Settings of the outputs.",
            command_keys(
                *("outnn", "outblock", "oname", "ortime", "aout", "atout"),
                *("oafs", "ouet", "roafs"),
            ),
        ),
        File(
            "/json/inputs.json",
            "Settings of the inputs.",
            (
                *command_keys("iname"),
                settings.ANALOG_SENSORS,
                *command_keys("igain", "calibration", "multiplier"),
                *command_keys("idname", *_DIGITAL_FLAGS, "inpdbt", "diffname"),
                readings.SELECTION,
            ),
        ),
        File(
            "/json/events_per.json",
            "States of the event variables.",
            (states.VARIABLES,),
            span("1.22b"),
        ),
        File(
            "/json/dsi2c.json",
            "1-Wire and I2C settings; `dsid` is the 1-Wire ID read last.",
            (
                settings.LAST_ID,
                settings.ONEWIRE_IDS,
                *command_keys("dsOffset", "onewirename"),
                settings.SENSOR_NAMES,
                settings.PRESSURE_NAME,
                *command_keys("i2csensors", "i2csfreq", "pmeter"),
            ),
        ),
        File(
            "/json/network.json",
            "Network name and address.",
            (
                states.NAME,
                states.MAC,
                states.HARDWARE,
                states.SOFTWARE,
                *command_keys("modbuson"),
            ),
        ),
        File("/xml/ix.xml", "States and readings.", _IX),
        File(
            "/xml/stat.xml",
            "Versions, name and address, PWM duties and frequencies.",
            (
                states.HARDWARE,
                states.SOFTWARE,
                states.NAME,
                states.MAC_AS_IP4,
                states.PWM_DUTY,
                *command_keys("pwmf"),
            ),
        ),
        File(
            "/xml/st.xml",
            "Whether sign-in is required and firmware updates are allowed; no passwords.",
            settings.ACCOUNTS,
            is_for_administrator=True,
        ),
        File("/xml/eve.xml", "Which event entries are met.", (entries.RULE_RESULTS,)),
        File("/xml/eve2.xml", "The event entries.", (entries.RULES,)),
        File("/xml/sched.xml", "The schedule.", (entries.SCHEDULE,)),
        File("/xml/co.xml", "The clock.", (states.TIME,)),
        File("/st0.xml", "Output states in the oldest form.", _ST0),
    )
}
PATHS = tuple(FILES)


@lru_cache(maxsize=256)
def keys_of(path: str, profile: Profile) -> tuple[Keys, ...] | None:
    """Return the keys that a file has in a version; None if the version has no such file."""
    file = FILES.get(path)
    if file is None or not is_offered(file.when, profile):
        return None
    return tuple(keys for keys in file.keys if is_offered(keys.when, profile))


def parse_values(path: str, file: Mapping[str, Any], profile: Profile) -> dict[str, ParsedValue]:
    """Return the value of every label in a decoded file of this version."""
    found: dict[str, ParsedValue] = {}
    for keys in keys_of(path, profile) or ():
        if keys.parse is not None:
            found.update(keys.parse(file, profile))
    return found


@lru_cache(maxsize=256)
def layout_of(path: str, profile: Profile) -> DocumentLayout[View] | None:
    """Return the segments of a file; None if the version has no such file."""
    groups = keys_of(path, profile)
    if groups is None:
        return None
    if content_type(path) == JSON:
        return DocumentLayout(b"{", b",", b"}", [_segment(keys, json_members) for keys in groups])
    segments = [_segment(keys, xml_lines) for keys in groups]
    return DocumentLayout(b"<response>\n", b"", b"</response>\n", segments)


def _segment(keys: Keys, write: Callable[[Sequence[str]], Write]) -> Segment[View]:
    show, write_texts = keys.show, write(keys.names)
    return Segment(keys.inputs, lambda view: write_texts(show(view)))


def build(path: str, view: View) -> bytes | None:
    """Return the content of a file; None if this version has no such file."""
    layout = layout_of(path, view.engine.machine.profile)
    if layout is None:
        return None
    document = Document(layout)
    document.refresh(view.engine, view.at, lambda: view)
    return document.content()


def names_of(profile: Profile) -> frozenset[str]:
    """Return the keys of all status files of a version."""
    groups = (keys for path in PATHS for keys in keys_of(path, profile) or ())
    return frozenset(name for keys in groups for name in keys.names)


def content_type(path: str) -> str:
    """Return the complete `Content-Type` header of a file, which some clients compare literally."""
    return FILES[path].content_type


def describe() -> list[KeyDescription]:
    """Return the reference of all files."""
    return [
        KeyDescription(
            file.path,
            join_names(keys.names),
            keys.meaning,
            keys.scale,
            spans_in_words(keys.when if file.when == ALWAYS else file.when),
        )
        for file in FILES.values()
        for keys in file.keys
    ]
