"""Keys: names, flags and other settings. A key is called like the command that sets it.

Where a command takes an index the key has it as its number (`ortime3`), and a number means here
what it means there. Secrets have no key.
"""

from base64 import b64encode
from functools import lru_cache

from leverframe.commands.table import codes
from leverframe.commands.table.codes import HW35_ANY, HW35_SW
from leverframe.engine.settings import Settings, StoredAccount
from leverframe.status_files.keys import (
    FLAG,
    JOINED,
    MASK,
    SECONDS,
    TEXT,
    WHOLE,
    Keys,
    code,
    joined,
    key,
    mask,
    numbered,
    setting,
    settings,
)
from leverframe.status_files.readings import SIX
from leverframe.status_files.view import View

LATE_NAMES = HW35_SW["1.60a"]
KILOHERTZ = "kHz"

# --- names ----------------------------------------------------------------------------------------


def _sensor_names(tree: Settings) -> str:
    weather = tree.weather
    return joined((*(one.name for one in tree.onewire), weather.t1_name, weather.h1_name))


def _fixed_name(name: str, label: str) -> Keys:
    return key(name, lambda view: label, f"name of {label}, which cannot be changed", TEXT)


SENSOR_NAMES = setting("tname", _sensor_names, "names of DS1-DS8, T1 and H1", JOINED)
PRESSURE_NAME = setting("pressureName", lambda tree: tree.weather.p1_name, "name of P1", TEXT)
OUTPUT_NAMES = settings(
    numbered("oname", 0, 6),
    lambda tree: [one.name for one in tree.outputs],
    "names of OUT0-OUT5",
    TEXT,
)
PWM_NAMES = settings(
    numbered("pname", 0, 4), lambda tree: [one.name for one in tree.pwm], "names of PWM0-PWM3", TEXT
)
ANALOG_NAMES = settings(
    numbered("iname", 0, 6),
    lambda tree: [one.name for one in tree.analog_inputs],
    "names of INPA1-INPA6",
    TEXT,
)
DIGITAL_NAMES = settings(
    numbered("idname", 0, 4),
    lambda tree: [one.name for one in tree.digital_inputs],
    "names of INPD1-INPD4",
    TEXT,
)
DIFFERENTIAL_NAMES = settings(
    numbered("diffname", 0, 6),
    lambda tree: [one.name for one in tree.differentials],
    "names of DIFF1-DIFF6",
    TEXT,
    LATE_NAMES,
)
POWER_NAMES = settings(
    numbered("pown", 0, 4),
    lambda tree: [one.name for one in tree.power[:4]],
    "names of POWER1-POWER4 and ENERGY1-ENERGY4",
    TEXT,
)
POWER_NAMES_5_6 = settings(
    numbered("pown", 4, 2),
    lambda tree: [one.name for one in tree.power[4:]],
    "names of POWER5-POWER6 and ENERGY5-ENERGY6",
    TEXT,
    SIX,
)
VARIABLE_NAMES = settings(
    numbered("eventname", 0, 8),
    lambda tree: [one.name for one in tree.event_variables],
    "names of EVENT1-EVENT8",
    TEXT,
    LATE_NAMES,
)
FIXED_NAMES = (
    _fixed_name("pm1name", "PM1.0"),
    _fixed_name("pm25name", "PM2.5"),
    _fixed_name("pm4name", "PM4.0"),
    _fixed_name("pm10name", "PM10.0"),
    _fixed_name("co2name", "CO2"),
)

# --- outputs --------------------------------------------------------------------------------------

INVERTED = setting(
    "outnn", lambda tree: tree.output_flags.invert_display, "pages show outputs inverted", FLAG
)
LOCKED = setting(
    "outblock", lambda tree: tree.output_flags.lock, "outputs cannot be switched from outside", FLAG
)
OUTPUTS = (
    settings(
        numbered("ortime", 0, 6),
        lambda tree: [one.return_time for one in tree.outputs],
        "return time of OUT0-OUT5",
        SECONDS,
    ),
    settings(
        numbered("aout", 0, 6),
        lambda tree: [one.periodic for one in tree.outputs],
        "periodic switching of OUT0-OUT5",
        FLAG,
    ),
    settings(
        numbered("atout", 0, 12),
        lambda tree: [
            *(one.on_time for one in tree.outputs),
            *(one.off_time for one in tree.outputs),
        ],
        "on times of OUT0-OUT5 (0-5) and off times (6-11)",
        SECONDS,
    ),
    settings(
        numbered("oafs", 0, 6),
        lambda tree: [one.on_after_start for one in tree.outputs],
        "OUT0-OUT5 go on after the start",
        FLAG,
    ),
    settings(
        numbered("ouet", 0, 6),
        lambda tree: [one.start_delay for one in tree.outputs],
        "start delay of OUT0-OUT5",
        SECONDS,
    ),
    settings(
        numbered("roafs", 0, 6),
        lambda tree: [one.remember for one in tree.outputs],
        "OUT0-OUT5 remember their state",
        FLAG,
        HW35_SW["1.30"],
    ),
)

# --- PWM and PID ----------------------------------------------------------------------------------


def _pid(view: View) -> str:
    machine = view.engine.machine
    pid = machine.settings.pid
    source = code(codes.PID_SOURCES, pid.source, machine.profile)
    target = round(pid.target * 10)
    fields = (int(pid.enabled), source, target, pid.kp, pid.ki, pid.kd, pid.pwm)
    return "*".join(map(str, fields))


PWM = (
    setting(
        "pwmp",
        lambda tree: mask(
            (*(one.active_low for one in tree.pwm), *(one.on_off_mode for one in tree.pwm))
        ),
        "active low of PWM0-PWM3 (bits 0-3), mode ON/OFF (bits 4-7)",
        MASK,
    ),
    settings(
        numbered("pwmt", 0, 4),
        lambda tree: [one.change_time for one in tree.pwm],
        "duty change time of PWM0-PWM3",
        SECONDS,
        HW35_SW["1.30"],
    ),
)
PID = key(
    "pidvalue",
    _pid,
    "regulator: enabled, input code, target times 10, Kp, Ki, Kd, PWM output",
    JOINED,
)

# --- inputs ---------------------------------------------------------------------------------------


def _sensor_codes(view: View) -> list[str]:
    machine = view.engine.machine
    return [
        str(code(codes.ANALOG_SENSORS, one.sensor, machine.profile))
        for one in machine.settings.analog_inputs
    ]


def _gain_codes(view: View) -> list[str]:
    machine = view.engine.machine
    return [
        str(code(codes.GAINS, str(one.gain), machine.profile))
        for one in machine.settings.analog_inputs[:4]
    ]


NEGATED = setting(
    "inpdnn",
    lambda tree: mask(one.negate_display for one in tree.digital_inputs),
    "negation of INPD1-INPD4",
    MASK,
)
DIGITAL_FLAGS = (
    setting(
        "inpdp",
        lambda tree: mask(one.pull_up for one in tree.digital_inputs),
        "pull-up of INPD1-INPD4",
        MASK,
    ),
    NEGATED,
    setting(
        "inpdb",
        lambda tree: mask(one.bistable for one in tree.digital_inputs),
        "bistable mode of INPD1-INPD4",
        MASK,
    ),
    setting(
        "imptimen",
        lambda tree: mask(tree.impulse_time),
        "impulse time of INPD1+INPD2 (bit 0) and INPD3+INPD4 (bit 1)",
        MASK,
    ),
)
BISTABLE_TIMES = settings(
    numbered("inpdbt", 0, 4),
    lambda tree: [one.bistable_time for one in tree.digital_inputs],
    "bistable time of INPD1-INPD4",
    SECONDS,
)
ANALOG = (
    Keys(numbered("sensor", 0, 6), _sensor_codes, "sensor codes of INPA1-INPA6", WHOLE),
    Keys(numbered("igain", 0, 4), _gain_codes, "gain codes of INPA1-INPA4", "1, 2 or 3"),
    settings(
        numbered("calibration", 0, 6),
        lambda tree: [one.calibration for one in tree.analog_inputs],
        "calibration of INPA1-INPA6",
        "millivolts",
    ),
    settings(
        numbered("multiplier", 0, 6),
        lambda tree: [round(one.multiplier * 100) for one in tree.analog_inputs],
        "multiplier of INPA1-INPA6",
        "/100",
    ),
)

# --- 1-Wire and I2C -------------------------------------------------------------------------------


def _i2c_sensors(tree: Settings) -> int:
    known = codes.I2C_SENSORS
    primary = known.index(tree.i2c.primary) if tree.i2c.primary in known else 0
    return (1 << primary) + 16 * tree.i2c.sps30


LAST_ID = key("dsid", lambda view: view.engine.machine.dsid, "1-Wire ID read last", TEXT)
ONEWIRE = (
    settings(
        numbered("dsid", 1, 8),
        lambda tree: [one.id for one in tree.onewire],
        "1-Wire IDs of DS1-DS8; eight zero bytes are none",
        TEXT,
    ),
    settings(
        numbered("dsOffset", 1, 8),
        lambda tree: [round(one.offset * 10) for one in tree.onewire],
        "offsets of DS1-DS8",
        "/10 °C",
    ),
    settings(
        tuple(f"onewirename{sensor}{place}" for sensor in range(3) for place in range(3)),
        lambda tree: [name for sensor in tree.onewire_extra for name in sensor.names],
        "names of the readings of the additional 1-Wire sensors",
        TEXT,
        HW35_SW["1.57"],
    ),
)
I2C = (
    setting(
        "i2csensors",
        _i2c_sensors,
        "1 NONE, 2 BME280, 4 AM2320, 8 HTS221; plus 16 with SPS30",
        WHOLE,
    ),
    setting("i2csfreq", lambda tree: tree.i2c.frequency, "frequency of the I2C sensors", KILOHERTZ),
    setting("pmeter", lambda tree: tree.weather.altitude, "altitude above the sea", "m"),
)

# --- pages, stored variables, network, accounts ---------------------------------------------------


@lru_cache(maxsize=64)
def _joined_numbers(numbers: tuple[int, ...], separator: str) -> str:
    """Join numbers; layouts are long and hardly ever change, so the result is cached."""
    return separator.join(str(int(number)) for number in numbers)


def _language(view: View) -> str:
    machine = view.engine.machine
    return str(code(codes.LANGUAGES, machine.settings.ui.language, machine.profile))


LANGUAGE = key("lang", _language, "language of the pages: 0 PL, 1 EN, 2 FR, 3 HU, 4 CZ", WHOLE)
ENERGY_REMEMBERED = setting(
    "powsave", lambda tree: tree.energy_remember, "energy and power survive a restart", FLAG
)
VARIABLES = (
    settings(numbered("bit", 0, 8), lambda tree: tree.variables.bits, "stored bits", FLAG),
    settings(numbered("byte", 0, 4), lambda tree: tree.variables.bytes, "stored bytes", WHOLE),
    settings(numbered("word", 0, 4), lambda tree: tree.variables.words, "stored words", WHOLE),
    settings(numbered("dword", 0, 4), lambda tree: tree.variables.dwords, "stored dwords", WHOLE),
    settings(numbered("string", 0, 2), lambda tree: tree.variables.strings, "stored strings", TEXT),
)
LAYOUT = (
    setting(
        "postop",
        lambda tree: _joined_numbers(tree.layout.top, "*"),
        "top offsets of the elements on Status for user",
        JOINED,
    ),
    setting(
        "posleft",
        lambda tree: _joined_numbers(tree.layout.left, "*"),
        "left offsets of the elements on Status for user",
        JOINED,
    ),
    setting(
        "echeck",
        lambda tree: _joined_numbers(tree.layout.visible, ""),
        "visibility of the items on Status",
        "a character 0 or 1 for each",
    ),
)
MODBUS_TCP = setting(
    "modbuson", lambda tree: tree.modbus_tcp.enabled, "Modbus TCP server", FLAG, HW35_ANY
)


def _base64(account: StoredAccount) -> str:
    return b64encode(account.name.encode()).decode()


def _names_without_passwords(tree: Settings) -> str:
    """Return the end of an `auth` command that changes no password: empty ones are kept."""
    return f"{_base64(tree.access.admin)}**{_base64(tree.access.user)}*"


ACCOUNTS = (
    setting("auth", lambda tree: tree.access.required, "sign-in is required", FLAG),
    setting("upgr", lambda tree: tree.access.updates_allowed, "updates are allowed", FLAG),
    setting(
        "userpass",
        _names_without_passwords,
        "names of the administrator and the user, each followed by an empty password",
        f"Base64, {JOINED}",
    ),
)
