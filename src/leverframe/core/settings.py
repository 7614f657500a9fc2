"""The settings of a controller: one immutable tree.

The path of a leaf (`outputs.3.name`) identifies it in the command table, the store, the backup and
on the page. Values have real units and words; only the interface uses the codes and scales of the
protocol. A change creates a new tree that shares every unchanged branch with the old one (see
`tree.py`), so a request is applied completely or not at all, and thousands of controllers share one
set of defaults.

To add a setting, add a field with its default here, and a row in `interface/table/` that says which
values it accepts. If the length of a list depends on the version, add that to `tree.py`.
"""

from collections.abc import Sequence

from msgspec import Struct

NO_ONEWIRE_ID = "00:00:00:00:00:00:00:00"
MAX_RULES = 20
SCHEDULE_ENTRIES = 50
CONTROL_USERS = 50


class Node(Struct, frozen=True, gc=False):
    """A branch of the tree."""


class Identity(Node, frozen=True):
    hw: str = "3.9"
    sw: str = "1.75"


class Output(Node, frozen=True):
    name: str = ""
    #: Seconds after which an output is switched off automatically; 0 means never.
    return_time: int = 0
    periodic: bool = False
    on_time: int = 0
    off_time: int = 0
    on_after_start: bool = False
    start_delay: int = 0
    remember: bool = False


class OutputFlags(Node, frozen=True):
    invert_display: bool = False
    lock: bool = False


class Pwm(Node, frozen=True):
    name: str = ""
    #: The set duty in percent; while the output moves to it, the current duty is a live value.
    duty: int = 50
    active_low: bool = False
    on_off_mode: bool = False
    #: Seconds over which the duty moves to a new setting.
    change_time: int = 0


class Pid(Node, frozen=True):
    enabled: bool = False
    source: str = "VCC"
    target: float = 0.0
    kp: int = 0
    ki: int = 0
    kd: int = 0
    pwm: int = 0


class AnalogInput(Node, frozen=True):
    name: str = ""
    sensor: str = "off"
    gain: int = 1
    #: Millivolts added after the multiplication.
    calibration: int = 0
    multiplier: float = 1.0


class DigitalInput(Node, frozen=True):
    name: str = ""
    pull_up: bool = True
    negate_display: bool = False
    bistable: bool = False
    bistable_time: int = 0


class Differential(Node, frozen=True):
    name: str = ""
    first: str = "INPA1"
    operator: str = "-"
    second: str = "INPA1"


class OneWireSensor(Node, frozen=True):
    id: str = NO_ONEWIRE_ID
    name: str = ""
    offset: float = 0.0


class ExtraOneWireSensor(Node, frozen=True):
    names: tuple[str, ...] = ("", "", "")


class Weather(Node, frozen=True):
    t1_name: str = ""
    h1_name: str = ""
    p1_name: str = ""
    altitude: int = 0


class I2c(Node, frozen=True):
    primary: str = "NONE"
    sps30: bool = False
    frequency: int = 100


class SerialPort(Node, frozen=True):
    module: str = "OFF"
    lighting: bool = False
    sdm_bitrate: int = 2400


class SmsSlot(Node, frozen=True):
    numbers: tuple[str, ...] = ()
    on_text: str = ""
    off_text: str = ""


class Gsm(Node, frozen=True):
    apn: str = ""
    code: str = ""
    sms: tuple[SmsSlot, ...] = (SmsSlot(),) * 4


class Email(Node, frozen=True):
    host: str = ""
    port: int = 25
    username: str = ""
    password: str = ""
    recipient: str = ""
    sender: str = ""
    subject: str = ""
    on_texts: tuple[str, ...] = ("",) * 4
    off_texts: tuple[str, ...] = ("",) * 4
    tls: bool = False


class ModbusSlot(Node, frozen=True):
    module: str = "OFF"
    slave_id: int = 1
    #: These override the module's defaults; 0 and "module" use the default.
    bitrate: int = 0
    parity: str = "module"
    stop_bits: int = 0
    #: The address for Modbus TCP, `host` or `host:port`; empty for the serial bus.
    host: str = ""


class ModbusReading(Node, frozen=True):
    name: str = ""
    unit: str = ""
    divisor: int = 1
    register: int = 0
    function: int = 3
    type: str = "int16"
    endian: str = "none"


class ModbusDevice(Node, frozen=True):
    name: str = ""
    bitrate: int = 9600
    parity: str = "none"
    stop_bit: int = 1
    #: Seconds between two register reads.
    delay: float = 0.0
    readings: tuple[ModbusReading, ...] = (ModbusReading(),) * 30


class ModbusMapping(Node, frozen=True):
    slot: int = 0
    reading: int = 0


class ModbusWrite(Node, frozen=True):
    """The values that a rule writes to a module when its condition starts and when it stops."""

    name: str = ""
    #: 1-3; 0 writes nothing.
    slot: int = 0
    register: int = 0
    type: str = "coil"
    on_value: float = 1.0
    off_value: float = 0.0
    endian: str = "none"


class ModbusTcp(Node, frozen=True):
    enabled: bool = False


class Power(Node, frozen=True):
    name: str = ""
    current: str = "INPA1"
    voltage: str = "230V"
    pulses: int = 1000
    unit: str = "kW/kWh"


class Rule(Node, frozen=True):
    """A rule; the interface document calls it an event."""

    source: str = "VCC"
    compare: str = ">="
    reference: float = 0.0
    hysteresis: float = 0.0
    operator: str = "-"
    action: str = "OUT0"
    source2: str = "VCC"
    compare2: str = ">="
    reference2: float = 0.0
    hysteresis2: float = 0.0
    off_delay: int = 0
    #: 0 and 1 set the state, 2 reverses it.
    value: int = 1
    on_delay: int = 0
    #: 0 nothing; 1-20 rule 1-20 must not be met; 21-40 rule 1-20 must be met.
    depends: int = 0
    #: 0 acts on both edges, 1 when the condition starts, 2 when it stops.
    mode: int = 0
    enabled: bool = False
    permanent: bool = False
    #: The user's name for the rule; empty shows its number.
    name: str = ""


class EventVariable(Node, frozen=True):
    name: str = ""


class Screen(Node, frozen=True):
    active: bool = False
    lines: tuple[str, ...] = ("",) * 4


class Oled(Node, frozen=True):
    enabled: bool = False
    display_time: int = 0
    frequency: int = 400
    screens: tuple[Screen, ...] = (Screen(active=True), Screen(), Screen(), Screen())


class Ui(Node, frozen=True):
    language: str = "EN"
    #: Seconds between two status queries of a page.
    refresh: int = 30
    homepage: str = "Status"
    names_only: bool = False
    user_read_only: bool = False
    firmware_check: bool = False
    auto_sign_in: bool = False
    #: The step of the first run that the user has reached.
    first_run: str = "place"


class Layout(Node, frozen=True):
    top: tuple[int, ...] = (0,) * 79
    left: tuple[int, ...] = (0,) * 79
    visible: tuple[bool, ...] = (True,) * 132


class Variables(Node, frozen=True):
    bits: tuple[int, ...] = (0,) * 8
    bytes: tuple[int, ...] = (0,) * 4
    #: Word 0 also contains the page's refresh interval in tens of seconds.
    words: tuple[int, ...] = (3, 0, 0, 0)
    dwords: tuple[int, ...] = (0,) * 4
    strings: tuple[str, ...] = ("",) * 2


class ScheduleEntry(Node, frozen=True):
    name: str = ""
    action: str = "OUT0"
    value: int = 0
    #: Second of the day, or the period in seconds of a periodic entry.
    time: int = 0
    #: ISO date of an entry that runs on a single day.
    date: str | None = None
    #: "Mon" to "Sun".
    days: tuple[str, ...] = ()
    periodic: bool = False
    active: bool = False


class WatchdogEntry(Node, frozen=True):
    enabled: bool = False
    email: bool = False
    output: str = "OUT0"
    host: str = ""
    failures: int = 3
    timeout: int = 2
    interval: int = 60
    #: Seconds without pings after a restart of the device.
    wait: int = 120
    #: Seconds for which a restart keeps the output switched.
    length: int = 10
    #: Restarts before the entry gives up; 0 means never.
    limit: int = 0
    #: Seconds from the controller's start to the first ping.
    delay: int = 60


class HttpClient(Node, frozen=True):
    #: The URL to request when the action activates or deactivates; reading codes are replaced.
    url: str = ""
    #: Send a POST request with the body instead of GET.
    post: bool = False
    body: str = ""
    username: str = ""
    password: str = ""


class Mqtt(Node, frozen=True):
    enabled: bool = False
    host: str = ""
    port: int = 1883
    username: str = ""
    password: str = ""
    prefix: str = "leverframe"
    tls: bool = False
    #: The topic prefix under which Home Assistant discovers devices; empty disables discovery.
    discovery: str = "homeassistant"


class SnmpTrap(Node, frozen=True):
    enabled: bool = False
    host: str = ""
    port: int = 162
    community: str = ""
    #: Send informs, which the receiver acknowledges, instead of traps.
    inform: bool = False


class Snmp(Node, frozen=True):
    enabled: bool = False
    read_community: str = ""
    write_community: str = ""
    user: str = ""
    authentication_key: str = ""
    privacy_key: str = ""
    #: none (authentication only), AES-128 or AES-256.
    privacy: str = "AES-128"
    trap: SnmpTrap = SnmpTrap()
    #: Receivers 2 to 4.
    more_traps: tuple[SnmpTrap, ...] = (SnmpTrap(),) * 3

    @property
    def is_private(self) -> bool:
        return self.privacy != "none"

    @property
    def receivers(self) -> tuple[SnmpTrap, ...]:
        return (self.trap, *self.more_traps)


class StoredAccount(Node, frozen=True):
    name: str = ""
    #: An Argon2id hash, never the password itself.
    password: str = ""


class ControlUser(Node, frozen=True):
    name: str = ""
    password: str = ""
    active: bool = False


class AccessSettings(Node, frozen=True):
    required: bool = False
    updates_allowed: bool = True
    admin: StoredAccount = StoredAccount(name="admin")
    user: StoredAccount = StoredAccount(name="user")
    users: tuple[ControlUser | None, ...] = (None,) * CONTROL_USERS


class Settings(Node, frozen=True):
    profile: Identity = Identity()
    #: The user's name for the controller; if empty, the name in the configuration is used.
    name: str = ""
    #: The time zone of schedule and clock; if empty, that of the configuration is used.
    timezone: str = ""
    outputs: tuple[Output, ...] = (Output(),) * 6
    output_flags: OutputFlags = OutputFlags()
    pwm: tuple[Pwm, ...] = (Pwm(),) * 4
    #: The frequency in hertz of PWM0, and of PWM1-PWM3 together.
    pwm_frequency: tuple[int, ...] = (1000, 1000)
    pid: Pid = Pid()
    analog_inputs: tuple[AnalogInput, ...] = (AnalogInput(),) * 6
    digital_inputs: tuple[DigitalInput, ...] = (DigitalInput(),) * 4
    #: For the pairs INPD1+INPD2 and INPD3+INPD4.
    impulse_time: tuple[bool, ...] = (False, False)
    differentials: tuple[Differential, ...] = (Differential(),) * 6
    onewire: tuple[OneWireSensor, ...] = (OneWireSensor(),) * 8
    onewire_extra: tuple[ExtraOneWireSensor, ...] = (ExtraOneWireSensor(),) * 3
    weather: Weather = Weather()
    i2c: I2c = I2c()
    serial: SerialPort = SerialPort()
    gsm: Gsm = Gsm()
    email: Email = Email()
    modbus_slots: tuple[ModbusSlot, ...] = (ModbusSlot(),) * 3
    modbus_devices: tuple[ModbusDevice, ...] = (ModbusDevice(),) * 5
    modbus_mapping: tuple[ModbusMapping, ...] = (ModbusMapping(),) * 30
    #: The user's names of m1-m30; without one, the name in the module's list is shown.
    modbus_names: tuple[str, ...] = ("",) * 30
    modbus_writes: tuple[ModbusWrite, ...] = (ModbusWrite(),) * 8
    modbus_tcp: ModbusTcp = ModbusTcp()
    power: tuple[Power, ...] = (Power(),) * 6
    energy_remember: bool = False
    #: Rules by place, up to the last one; None for an empty place.
    rules: tuple[Rule | None, ...] = ()
    event_variables: tuple[EventVariable, ...] = (EventVariable(),) * 8
    oled: Oled = Oled()
    ui: Ui = Ui()
    layout: Layout = Layout()
    variables: Variables = Variables()
    schedule: tuple[ScheduleEntry | None, ...] = (None,) * SCHEDULE_ENTRIES
    #: True if schedule entries that were due while the controller was off are caught up at startup.
    schedule_catch_up: bool = False
    watchdog: tuple[WatchdogEntry, ...] = (WatchdogEntry(),) * 6
    http: tuple[HttpClient, ...] = (HttpClient(),) * 4
    #: Seconds between two periodic requests to HTTP1; 0 disables them.
    http_period: int = 0
    #: True if reading codes in HTTP1-HTTP4 begin with %%, so that a single % is an ordinary
    #: character.
    http_double_percent: bool = False
    mqtt: Mqtt = Mqtt()
    snmp: Snmp = Snmp()
    access: AccessSettings = AccessSettings()


#: Leaves whose values are never output; `*` stands for any index.
SECRETS = frozenset(
    {
        "gsm.apn",
        "gsm.code",
        "email.password",
        "http.*.password",
        "mqtt.password",
        "snmp.read_community",
        "snmp.write_community",
        "snmp.authentication_key",
        "snmp.privacy_key",
        "snmp.trap.community",
        "snmp.more_traps.*.community",
        "access.admin.password",
        "access.user.password",
        "access.users.*.password",
    }
)

#: Leaves that only the administrator may see, and that no backup, log or audit trail contains:
#: anyone who knows the URL of a web hook can use it.
CONFIDENTIAL = SECRETS | {"http.*.url", "http.*.body"}


#: Rules by place; None for an empty place.
RulePlaces = Sequence[Rule | None]


def rule_numbered(rules: RulePlaces, number: int | None) -> Rule | None:
    """Return the rule with a number, counted from 1; None if it does not exist."""
    return rules[number - 1] if number and 0 < number <= len(rules) else None


def number_rules(rules: RulePlaces) -> list[tuple[int, Rule]]:
    """List the existing rules with their numbers, counted from 1."""
    return [(number, rule) for number, rule in enumerate(rules, start=1) if rule is not None]


def free_place(rules: RulePlaces) -> int:
    """Return the first place without a rule; the number of places if all are used."""
    return next((place for place, rule in enumerate(rules) if rule is None), len(rules))


def without_trailing_gaps(rules: RulePlaces) -> tuple[Rule | None, ...]:
    """Return the places up to the last rule."""
    used = max((number for number, _ in number_rules(rules)), default=0)
    return tuple(rules[:used])


def with_rule(rules: RulePlaces, place: int, rule: Rule | None) -> tuple[Rule | None, ...]:
    """Return the rules with a place set to another rule or None; earlier places may stay empty."""
    gap = (None,) * (place - len(rules))
    return without_trailing_gaps((*rules[:place], *gap, rule, *rules[place + 1 :]))


def rule_label(rules: RulePlaces, number: int | None) -> str:
    """Return the name of a rule for users: its name, or its number if it has none."""
    rule = rule_numbered(rules, number)
    return (rule.name if rule else "") or str(number)


def has_module(settings: Settings, slot: int) -> bool:
    """Return True if a module is chosen for a Modbus slot, counted from 1."""
    slots = settings.modbus_slots
    return slot <= len(slots) and slots[slot - 1].module != "OFF"


def module_mapping(settings: Settings) -> tuple[ModbusMapping, ...]:
    """Return the mapping of m1-m30; without a choice, the readings of slot 1 in order."""
    return settings.modbus_mapping or tuple(ModbusMapping(1, number) for number in range(30))
