"""Keys: names, flags and other settings. A key is called like the command that sets it.

Where a command takes an index the key has it as its number (`ortime3`), and a number means here
what it means there. Secrets have no key.
"""

from leverframe.commands.table import codes
from leverframe.commands.table.codes import HW35_ANY, HW35_SW
from leverframe.status_files.forms import (
    ACCOUNTS_FORM,
    BIT_FORM,
    FLAG_FORM,
    FLAGS_FORM,
    I2C_FORM,
    NUMBERS_FORM,
    TEXT_FORM,
    WHOLE_FORM,
    coded,
    joined_forms,
    joined_texts,
    mask_of,
    scaled,
)
from leverframe.status_files.keys import JOINED, SECONDS, TEXT, Keys, key, numbered
from leverframe.status_files.readings import SIX
from leverframe.status_files.stored_keys import joint_settings, setting, settings

LATE_NAMES = HW35_SW["1.60a"]
KILOHERTZ = "kHz"
SECONDS_FORM = WHOLE_FORM.in_words(SECONDS)

# --- names ----------------------------------------------------------------------------------------


def _fixed_name(name: str, label: str) -> Keys:
    return key(name, lambda view: label, f"name of {label}, which cannot be changed", TEXT)


SENSOR_NAMES = joint_settings(
    "tname",
    "onewire.*.name weather.t1_name weather.h1_name",
    joined_texts(10),
    "names of DS1-DS8, T1 and H1",
)
PRESSURE_NAME = setting("pressureName", "weather.p1_name", TEXT_FORM, "name of P1")
OUTPUT_NAMES = settings(numbered("oname", 0, 6), "outputs.*.name", TEXT_FORM, "names of OUT0-OUT5")
PWM_NAMES = settings(numbered("pname", 0, 4), "pwm.*.name", TEXT_FORM, "names of PWM0-PWM3")
ANALOG_NAMES = settings(
    numbered("iname", 0, 6), "analog_inputs.*.name", TEXT_FORM, "names of INPA1-INPA6"
)
DIGITAL_NAMES = settings(
    numbered("idname", 0, 4), "digital_inputs.*.name", TEXT_FORM, "names of INPD1-INPD4"
)
DIFFERENTIAL_NAMES = settings(
    numbered("diffname", 0, 6),
    "differentials.*.name",
    TEXT_FORM,
    "names of DIFF1-DIFF6",
    LATE_NAMES,
)
POWER_NAMES = settings(
    numbered("pown", 0, 4),
    "power.0-3.name",
    TEXT_FORM,
    "names of POWER1-POWER4 and ENERGY1-ENERGY4",
)
POWER_NAMES_5_6 = settings(
    numbered("pown", 4, 2),
    "power.4-5.name",
    TEXT_FORM,
    "names of POWER5-POWER6 and ENERGY5-ENERGY6",
    SIX,
)
VARIABLE_NAMES = settings(
    numbered("eventname", 0, 8),
    "event_variables.*.name",
    TEXT_FORM,
    "names of EVENT1-EVENT8",
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

INVERTED = setting("outnn", "output_flags.invert_display", FLAG_FORM, "pages show outputs inverted")
LOCKED = setting(
    "outblock", "output_flags.lock", FLAG_FORM, "outputs cannot be switched from outside"
)
OUTPUTS = (
    settings(
        numbered("ortime", 0, 6), "outputs.*.return_time", SECONDS_FORM, "return time of OUT0-OUT5"
    ),
    settings(
        numbered("aout", 0, 6), "outputs.*.periodic", FLAG_FORM, "periodic switching of OUT0-OUT5"
    ),
    settings(
        numbered("atout", 0, 12),
        "outputs.*.on_time outputs.*.off_time",
        SECONDS_FORM,
        "on times of OUT0-OUT5 (0-5) and off times (6-11)",
    ),
    settings(
        numbered("oafs", 0, 6),
        "outputs.*.on_after_start",
        FLAG_FORM,
        "OUT0-OUT5 go on after the start",
    ),
    settings(
        numbered("ouet", 0, 6), "outputs.*.start_delay", SECONDS_FORM, "start delay of OUT0-OUT5"
    ),
    settings(
        numbered("roafs", 0, 6),
        "outputs.*.remember",
        FLAG_FORM,
        "OUT0-OUT5 remember their state",
        HW35_SW["1.30"],
    ),
)

# --- PWM and PID ----------------------------------------------------------------------------------

PWM = (
    joint_settings(
        "pwmp",
        "pwm.*.active_low pwm.*.on_off_mode",
        mask_of(8),
        "active low of PWM0-PWM3 (bits 0-3), mode ON/OFF (bits 4-7)",
    ),
    settings(
        numbered("pwmt", 0, 4),
        "pwm.*.change_time",
        SECONDS_FORM,
        "duty change time of PWM0-PWM3",
        HW35_SW["1.30"],
    ),
)
PID = joint_settings(
    "pidvalue",
    "pid.enabled pid.source pid.target pid.kp pid.ki pid.kd pid.pwm",
    joined_forms(
        JOINED,
        *(FLAG_FORM, coded(codes.PID_SOURCES), scaled(10, "")),
        *(WHOLE_FORM, WHOLE_FORM, WHOLE_FORM, WHOLE_FORM),
    ),
    "regulator: enabled, input code, target times 10, Kp, Ki, Kd, PWM output",
)

# --- inputs ---------------------------------------------------------------------------------------

NEGATED = joint_settings(
    "inpdnn", "digital_inputs.*.negate_display", mask_of(4), "negation of INPD1-INPD4"
)
DIGITAL_FLAGS = (
    joint_settings("inpdp", "digital_inputs.*.pull_up", mask_of(4), "pull-up of INPD1-INPD4"),
    NEGATED,
    joint_settings(
        "inpdb", "digital_inputs.*.bistable", mask_of(4), "bistable mode of INPD1-INPD4"
    ),
    joint_settings(
        "imptimen",
        "impulse_time.*",
        mask_of(2),
        "impulse time of INPD1+INPD2 (bit 0) and INPD3+INPD4 (bit 1)",
    ),
)
BISTABLE_TIMES = settings(
    numbered("inpdbt", 0, 4),
    "digital_inputs.*.bistable_time",
    SECONDS_FORM,
    "bistable time of INPD1-INPD4",
)
ANALOG = (
    settings(
        numbered("sensor", 0, 6),
        "analog_inputs.*.sensor",
        coded(codes.ANALOG_SENSORS),
        "sensor codes of INPA1-INPA6",
    ),
    settings(
        numbered("igain", 0, 4),
        "analog_inputs.0-3.gain",
        coded(codes.GAINS, "1, 2 or 3", int),
        "gain codes of INPA1-INPA4",
    ),
    settings(
        numbered("calibration", 0, 6),
        "analog_inputs.*.calibration",
        WHOLE_FORM.in_words("millivolts"),
        "calibration of INPA1-INPA6",
    ),
    settings(
        numbered("multiplier", 0, 6),
        "analog_inputs.*.multiplier",
        scaled(100, "/100"),
        "multiplier of INPA1-INPA6",
    ),
)

# --- 1-Wire and I2C -------------------------------------------------------------------------------

LAST_ID = key("dsid", lambda view: view.engine.machine.dsid, "1-Wire ID read last", TEXT)
ONEWIRE = (
    settings(
        numbered("dsid", 1, 8),
        "onewire.*.id",
        TEXT_FORM,
        "1-Wire IDs of DS1-DS8; eight zero bytes are none",
    ),
    settings(
        numbered("dsOffset", 1, 8),
        "onewire.*.offset",
        scaled(10, "/10 °C"),
        "offsets of DS1-DS8",
    ),
    settings(
        tuple(f"onewirename{sensor}{place}" for sensor in range(3) for place in range(3)),
        "onewire_extra.*.names.*",
        TEXT_FORM,
        "names of the readings of the additional 1-Wire sensors",
        HW35_SW["1.57"],
    ),
)
I2C = (
    joint_settings(
        "i2csensors",
        "i2c.primary i2c.sps30",
        I2C_FORM,
        "1 NONE, 2 BME280, 4 AM2320, 8 HTS221; plus 16 with SPS30",
    ),
    setting(
        "i2csfreq",
        "i2c.frequency",
        WHOLE_FORM.in_words(KILOHERTZ),
        "frequency of the I2C sensors",
    ),
    setting("pmeter", "weather.altitude", WHOLE_FORM.in_words("m"), "altitude above the sea"),
)

# --- pages, stored variables, network, accounts ---------------------------------------------------

LANGUAGE = setting(
    "lang",
    "ui.language",
    coded(codes.LANGUAGES),
    "language of the pages: 0 PL, 1 EN, 2 FR, 3 HU, 4 CZ",
)
ENERGY_REMEMBERED = setting(
    "powsave", "energy_remember", FLAG_FORM, "energy and power survive a restart"
)
VARIABLES = (
    settings(numbered("bit", 0, 8), "variables.bits.*", BIT_FORM, "stored bits"),
    settings(numbered("byte", 0, 4), "variables.bytes.*", WHOLE_FORM, "stored bytes"),
    settings(numbered("word", 0, 4), "variables.words.*", WHOLE_FORM, "stored words"),
    settings(numbered("dword", 0, 4), "variables.dwords.*", WHOLE_FORM, "stored dwords"),
    settings(numbered("string", 0, 2), "variables.strings.*", TEXT_FORM, "stored strings"),
)
LAYOUT = (
    setting("postop", "layout.top", NUMBERS_FORM, "top offsets of the elements on Status for user"),
    setting(
        "posleft", "layout.left", NUMBERS_FORM, "left offsets of the elements on Status for user"
    ),
    setting("echeck", "layout.visible", FLAGS_FORM, "visibility of the items on Status"),
)
MODBUS_TCP = setting("modbuson", "modbus_tcp.enabled", FLAG_FORM, "Modbus TCP server", HW35_ANY)
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
