"""All status files: which keys they have, in which order.

The order is fixed, because some clients know readings by their position alone. What later versions
added stands at the end of a file, or directly behind its older siblings (`diff4` behind `diff3`) in
JSON, where positions do not matter.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.profile import ALWAYS, HW35, Profile, Spans, is_offered, spans_in_words
from leverframe.interface.status_files import entries, readings, settings, states
from leverframe.interface.status_files.keys import (
    Keys,
    Shown,
    View,
    join_names,
    json_bytes,
    only_on,
    xml_bytes,
)
from leverframe.interface.status_files.module_readings import MODULE_READINGS
from leverframe.interface.status_files.parsers import ParsedValue
from leverframe.interface.status_files.settings import VARIABLES, command_keys
from leverframe.interface.table.codes import span

JSON, XML = "application/json", "text/xml"


class File(Struct, frozen=True):
    path: str
    #: The contents of the file, in words.
    doc: str
    keys: tuple[Keys, ...]
    when: Spans = ALWAYS
    #: Read by the administrator alone; the others are values and names.
    is_for_administrator: bool = False

    @property
    def content_type(self) -> str:
        return JSON if self.path.endswith(".json") else XML


class KeyDescription(Struct, frozen=True):
    """One line of the reference: a key, or several alike (`ds1-ds8`), of a file."""

    path: str
    key: str
    meaning: str
    scale: str
    #: The versions that have it, in words.
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
#: What versions after the first added to the readings.
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
    # On HW 3.0 clients take the flags from other files.
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
    # Behind everything that clients count.
    readings.differentials(3, 3),
    readings.differentials(4, 6, readings.SIX),
    readings.POWER_5_6,
    readings.ENERGY_5_6,
    readings.particulates("pm1", "pm4", labels=("PM1.0", "PM4.0")),
    *only_on(HW35, readings.DEW_POINT, readings.DISTANCE, states.VARIABLES),
)

#: For clients of the generation before. The states are those of the `out` commands, 1 for on.
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
    """Return the keys that a file has on a profile; None if the profile has no such file."""
    file = FILES.get(path)
    if file is None or not is_offered(file.when, profile):
        return None
    return tuple(keys for keys in file.keys if is_offered(keys.when, profile))


def parse_values(path: str, file: Mapping[str, Any], profile: Profile) -> dict[str, ParsedValue]:
    """Return what a decoded file of this profile says of every label that it shows."""
    found: dict[str, ParsedValue] = {}
    for keys in keys_of(path, profile) or ():
        if keys.parse is not None:
            found.update(keys.parse(file, profile))
    return found


def build(path: str, view: View) -> bytes | None:
    """Return a file in the form in which it is sent; None if this profile has no such file."""
    texts = show_file(path, view)
    if texts is None:
        return None
    return json_bytes(texts) if content_type(path) == JSON else xml_bytes(texts)


def show_file(path: str, view: View) -> dict[str, Shown] | None:
    """Return the keys of a file with their texts; None if this profile has no such file."""
    profile = view.engine.machine.profile
    groups = keys_of(path, profile)
    if groups is None:
        return None
    texts: list[Shown] = []
    for keys in groups:
        texts += keys.show(view)
    # All together: joining each of the 40 groups of a file separately takes 25 to 45 us.
    return dict(zip(_names_of(path, profile), texts, strict=True))


@lru_cache(maxsize=256)
def _names_of(path: str, profile: Profile) -> tuple[str, ...]:
    return tuple(name for keys in keys_of(path, profile) or () for name in keys.names)


def names_of(profile: Profile) -> frozenset[str]:
    """Return all keys that status files have on a profile."""
    return frozenset(name for path in PATHS for name in _names_of(path, profile))


def content_type(path: str) -> str:
    """Return the whole header of a file, which clients compare."""
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
