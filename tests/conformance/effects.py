"""What a good request must bring about, for rows whose effect is code: typed from the document.

`SETTINGS` gives the settings by path, `STATES` the live values by label, from the values of the
fields. Rows that only name settings need no entry; rows with an effect of another kind (a restart,
an upload, a message) are listed in `OTHERWISE` and have tests of their own.
"""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from leverframe.core.profile import Profile
from leverframe.interface.table.row import Row
from tests.conformance.requests import ACCOUNTS, EVENT

Values = Any
State = Mapping[str, Any]

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HW30 = "3.0"
HOMEPAGES = ("Status", "Status for user", "Serial Port", "Modbus")
LIGHTING = "lighting module"
MAIL = "GET /stm.cgi?em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>&em9=<I>"
WATCHDOG = "GET /stm.cgi?wdog1=<A>&wdog2=<B>&wdog3=<C>&wdog4=<D>&wdog5=<E>&wdog6=<F>"
SMS_TEXTS = "GET /stm.cgi?gsmsms=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>"


def settings_after(row: Row, values: Values, profile: Profile) -> dict[str, Any]:
    """Path -> the value it must have after the request."""
    named = {
        path.format_map(values): values[letter]
        for letter, paths in row.sets.items()
        if letter in values
        for path in paths
    }
    expected = named | (SETTINGS[row.line](values) if row.line in SETTINGS else {})
    return expected | _both_homepages(expected, profile)


def _both_homepages(expected: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """Between SW 1.44 and 1.45b the homepage has two positions."""
    if "ui.homepage" not in expected or profile.hw == HW30:
        return {}
    if profile.since("1.45b") or not profile.since("1.44"):
        return {}
    page = HOMEPAGES.index(expected["ui.homepage"])
    return {"variables.bytes.0": page, "variables.bits.2": int(page == 1)}


def _readings(items: list[dict[str, Any]]) -> dict[str, Any]:
    names = {"C": "name", "D": "unit", "E": "divisor", "F": "register"}
    names |= {"G": "function", "H": "type", "I": "endian"}
    return {
        f"modbus_devices.{item['A']}.readings.{item['B']}.{name}": item[letter]
        for item in items
        for letter, name in names.items()
        if letter in item
    }


def _bits(branch: str, field: str) -> Callable[[Values], dict[str, Any]]:
    return lambda v: {f"{branch}.{n}.{field}": on for n, on in enumerate(v["A"][:4])}


def _flag(path: str, bit: int) -> Callable[[Values], dict[str, Any]]:
    return lambda v: {path: v["A"], f"variables.bits.{bit}": int(v["A"])}


def _bit_2(v: Values) -> dict[str, Any]:
    """Printed twice: a homepage where A is a page, names only where it is a flag."""
    if isinstance(v["A"], bool):
        return {"ui.names_only": v["A"], "variables.bits.2": int(v["A"])}
    return {"ui.homepage": v["A"], "variables.bits.2": HOMEPAGES.index(v["A"])}


def _sms(slot: int, on_text: str, off_text: str) -> dict[str, Any]:
    return {f"gsm.sms.{slot}.on_text": on_text, f"gsm.sms.{slot}.off_text": off_text}


def _all_sms(v: Values) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    for slot, (on_text, off_text) in enumerate(zip("ABCD", "EFGH", strict=True)):
        texts |= _sms(slot, v[on_text], v[off_text])
    return texts


def _name_of_sensor(v: Values) -> dict[str, Any]:
    places = [f"onewire.{n}.name" for n in range(8)] + ["weather.t1_name", "weather.h1_name"]
    return {places[v["A"]]: v["B"]}


def _display(fields: Mapping[str, Any]) -> dict[str, Any]:
    settings = {"enabled": "enabled", "displayTime": "display_time", "frequency": "frequency"}
    expected = {}
    for name, value in fields.items():
        if name.startswith("screen"):
            expected[f"oled.screens.{int(name[-1]) - 1}.active"] = value
        elif name.startswith("line"):
            screen, line = int(name[-2]) - 1, int(name[-1]) - 1
            expected[f"oled.screens.{screen}.lines.{line}"] = value
        else:
            expected[f"oled.{settings[name]}"] = value
    return expected


def _rule(v: Values) -> dict[str, Any]:
    letters = {"B": "source", "C": "compare", "D": "reference", "E": "hysteresis"}
    letters |= {"F": "operator", "H": "source2", "I": "compare2", "J": "reference2"}
    letters |= {"K": "hysteresis2", "L": "off_delay", "N": "on_delay", "O": "depends", "P": "mode"}
    action, equals, value = v["G"].partition("=")
    fixed = {"action": action, "value": int(value) if equals else v.get("M", 1)}
    fixed |= {"enabled": False, "permanent": False, "name": ""}
    named = {name: v.get(letter, 0) for letter, name in letters.items()}
    return {f"rules.{v['A']}.{name}": value for name, value in (named | fixed).items()}


def _power_input(count: int) -> Callable[[Values], dict[str, Any]]:
    def settings(v: Values) -> dict[str, Any]:
        field = "current" if v["A"] < count else "voltage"
        return {f"power.{v['A'] % count}.{field}": v["B"]}

    return settings


def _schedule(items: list[dict[str, Any]]) -> dict[str, Any]:
    entries: list[Any] = [None] * 50
    for item in items:
        day = date(1970, 1, 1) + timedelta(days=item["F"])
        entries[item["A"]] = {
            "name": item["B"],
            "action": item["C"],
            "value": item["D"],
            "time": item["E"],
            "date": day.isoformat() if item["F"] else None,
            "days": [name for bit, name in enumerate(DAYS) if item["G"] & 1 << bit],
            "periodic": bool(item["G"] & 256),
            "active": item["H"],
        }
    return {"schedule": entries}


def _users(items: list[dict[str, Any]]) -> dict[str, Any]:
    expected: dict[str, Any] = {f"access.users.{n}": None for n in range(50)}
    for item in items:
        del expected[f"access.users.{item['A']}"]
        expected[f"access.users.{item['A']}.name"] = item["B"]
        expected[f"access.users.{item['A']}.active"] = item["D"]
    return expected


SETTINGS: dict[str, Callable[[Values], dict[str, Any]]] = {
    "GET /stm.cgi?modbusmapping=<A>": lambda v: {
        f"modbus_mapping.{n}": {"slot": slot, "reading": reading}
        for n, (slot, reading) in enumerate(v["A"])
    },
    "POST /post.cgi?mod_custom_save": _readings,
    "POST /post.cgi?modbus_readings_save": _readings,
    "GET /stm.cgi?pwmp=<A>": lambda v: {
        **{f"pwm.{n}.active_low": v["A"][n] for n in range(4)},
        **{f"pwm.{n}.on_off_mode": v["A"][n + 4] for n in range(4)},
    },
    "GET /stm.cgi?pwmd=<A><B>": lambda v: {f"pwm.{v['A']}.duty": v["B"]},
    "GET /stm.cgi?pwmf=<A><B>": lambda v: {f"pwm_frequency.{v['A']}": v["B"]},
    "GET /stm.cgi?pwmt=<A><B>": lambda v: {f"pwm.{v['A']}.change_time": v["B"]},
    "GET /outs.cgi?ortime=<A><B>": lambda v: {f"outputs.{v['A']}.return_time": v["B"]},
    "GET /outs.cgi?aout=<A><B>": lambda v: {f"outputs.{v['A']}.periodic": v["B"]},
    "GET /stm.cgi?pidvalue=<A>*<B>*<C>*<D>*<E>*<F>*<G>": lambda v: {"pid.enabled": v["A"]},
    "GET /stm.cgi?mod_write_set<A>=<B>*<C>*<D>*<E>*<F>*<G>*<H>": lambda v: {
        f"modbus_writes.{v['A'] - 1}.{name}": v[letter]
        for letter, name in zip(
            "BCDEFGH",
            ("name", "slot", "register", "type", "on_value", "off_value", "endian"),
            strict=True,
        )
        if letter in v
    },
    "GET /stm.cgi?pidtarget=<A>": lambda v: {"pid.target": v["A"]},
    "GET /outs.cgi?atout=<A>*<B>": lambda v: {
        f"outputs.{v['A'] % 6}.{'on_time' if v['A'] < 6 else 'off_time'}": v["B"]
    },
    "GET /stm.cgi?usart_sensor=<A>": lambda v: {
        "serial.module": v["A"],
        "serial.lighting": v["A"] == LIGHTING,
    },
    "GET /stm.cgi?lightmod=1": lambda v: {"serial.module": LIGHTING, "serial.lighting": True},
    "GET /stm.cgi?gsmnumber<A>=<B>": lambda v: {f"gsm.sms.{v['A'] - 1}.numbers": v["B"]},
    "GET /stm.cgi?gsmnumber=<A>": lambda v: {f"gsm.sms.{n}.numbers": v["A"] for n in range(4)},
    "GET /stm.cgi?gsmsms<A>=<B>*<C>": lambda v: _sms(v["A"] - 1, v["B"], v["C"]),
    SMS_TEXTS: _all_sms,
    "GET /stm.cgi?sdm120bitrate=9600": lambda v: {"serial.sdm_bitrate": 9600},
    "GET /eeprom.cgi?word0=<A>": lambda v: {
        "ui.refresh": v["A"],
        "variables.words.0": v["A"] // 10,
    },
    "GET /eeprom.cgi?bit0=<A>": _flag("ui.auto_sign_in", 0),
    "GET /eeprom.cgi?bit1=<A>": _flag("ui.firmware_check", 1),
    "GET /eeprom.cgi?bit2=<A>": _bit_2,
    "GET /eeprom.cgi?bit3=<A>": _flag("ui.user_read_only", 3),
    "GET /eeprom.cgi?byte0=<A>": lambda v: {
        "ui.homepage": v["A"],
        "variables.bytes.0": HOMEPAGES.index(v["A"]),
    },
    "GET /inpa.cgi?igain=<A><B>": lambda v: {f"analog_inputs.{v['A']}.gain": v["B"]},
    "GET /stm.cgi?inpdp=<A>": _bits("digital_inputs", "pull_up"),
    "GET /stm.cgi?inpdnn=<A>": _bits("digital_inputs", "negate_display"),
    "GET /stm.cgi?inpdb=<A>": _bits("digital_inputs", "bistable"),
    "GET /inpa.cgi?diffsel=<A><B>": lambda v: {
        f"differentials.{v['A'] % 3}.{'first' if v['A'] < 3 else 'second'}": v["B"]
    },
    "GET /stm.cgi?dswrite=<A>:<B>": lambda v: {f"onewire.{v['A'] - 1}.id": v["B"]},
    "GET /stm.cgi?dsOffset=<A>:<B>": lambda v: {f"onewire.{v['A'] - 1}.offset": v["B"]},
    "GET /stm.cgi?dsOffset<A>=<B>": lambda v: {f"onewire.{v['A'] - 1}.offset": v["B"]},
    "GET /stm.cgi?i2csensors=<A>": lambda v: {"i2c.primary": v["A"][0], "i2c.sps30": v["A"][1]},
    "GET /stm.cgi?tname=<A><B>": _name_of_sensor,
    # Nothing answers on the bus of a bare board.
    "GET /stm.cgi?bme280detect=1": lambda v: {"i2c.primary": "NONE"},
    "POST /post.cgi?oled_save": _display,
    "GET /stm.cgi?oled=<A>*<B>*<C>*<D>*<E>": lambda v: {
        "oled.enabled": v["A"],
        "oled.screens.0.lines": [v[letter] for letter in "BCDE"],
    },
    MAIL: lambda v: {"email.on_texts": v["H"][:4], "email.off_texts": v["H"][4:]},
    EVENT: _rule,
    "GET /inpa.cgi?eventper=<A>*<B>": lambda v: {f"rules.{v['A']}.permanent": v["B"]},
    "GET /inpa.cgi?eventon=<A>*<B>": lambda v: {f"rules.{v['A']}.enabled": v["B"]},
    "GET /inpa.cgi?rulename=<A>*<B>": lambda v: {f"rules.{v['A']}.name": v["B"]},
    "GET /inpa.cgi?rulemail=<A>*<B>*<C>*<D>": lambda v: {
        f"email.on_texts.{v['A'] - 1}": v["B"],
        f"email.off_texts.{v['A'] - 1}": v["C"],
        "email.recipient": v["D"],
    },
    "GET /inpa.cgi?rulesms=<A>*<B>*<C>*<D>": lambda v: {
        **_sms(v["A"] - 1, v["B"], v["C"]),
        f"gsm.sms.{v['A'] - 1}.numbers": v["D"],
    },
    "GET /inpa.cgi?powsel=<A>*<B>": _power_input(6),
    "GET /inpa.cgi?powsel=<A><B>": _power_input(4),
    "POST /post.cgi?sched_save": _schedule,
    "GET /inpa.cgi?schedset=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>": lambda v: {
        f"schedule.{v['A']}": _schedule([v])["schedule"][v["A"]]
    },
    "GET /inpa.cgi?schedon=<A>*<B>": lambda v: {f"schedule.{v['A']}.active": v["B"]},
    WATCHDOG: lambda v: {f"watchdog.{n}": v[letter] for n, letter in enumerate("ABCDEF")},
    ACCOUNTS: lambda v: {
        "access.required": v["A"],
        "access.updates_allowed": v["B"],
        "access.admin.name": v["C"],
        "access.user.name": v["E"],
    },
    "POST /post.cgi?users_save": _users,
    "GET /stm.cgi?snmptrap<A>=<B>*<C>*<D>*<E>": lambda v: {
        f"snmp.more_traps.{v['A'] - 2}.enabled": v["B"],
        f"snmp.more_traps.{v['A'] - 2}.host": v["C"],
        f"snmp.more_traps.{v['A'] - 2}.port": v["D"],
        f"snmp.more_traps.{v['A'] - 2}.community": v["E"],
    },
    "GET /stm.cgi?snmpinform<A>=<B>": lambda v: {
        "snmp.trap.inform" if v["A"] == 1 else f"snmp.more_traps.{v['A'] - 2}.inform": v["B"]
    },
    "GET /stm.cgi?http<A>=<B>": lambda v: {f"http.{v['A'] - 1}.url": v["B"]},
    "GET /stm.cgi?httppost<A>=<B>*<C>": lambda v: {
        f"http.{v['A'] - 1}.post": v["B"],
        f"http.{v['A'] - 1}.body": v["C"],
    },
    "GET /stm.cgi?httpauth<A>=<B>*<C>": lambda v: {
        f"http.{v['A'] - 1}.username": v["B"],
        f"http.{v['A'] - 1}.password": v["C"],
    },
}


def _toggle(labels: list[str], state: State) -> dict[str, int]:
    """Each label as often as it is named."""
    return {label: (state[label] + labels.count(label)) % 2 for label in labels}


STATES: dict[str, Callable[[Values, State], dict[str, Any]]] = {
    "GET /outs.cgi?pwm=pwm<A>": lambda v, state: _toggle([f"PWM{v['A']}"], state),
    "GET /outs.cgi?pwm<A>=<B>": lambda v, state: {f"PWM{v['A']}": v["B"]},
    "GET /stm.cgi?pwm<A>=<B>": lambda v, state: {f"PWM{v['A']}": v["B"]},
    "GET /outs.cgi?out=out<A>": lambda v, state: _toggle([f"OUT{v['A']}"], state),
    "GET /outs.cgi?out<A>=<B>": lambda v, state: {f"OUT{v['A']}": v["B"]},
    "GET /outs.cgi?pulse<A>=<B>": lambda v, state: {f"OUT{v['A']}": 1},
    "GET /outs.cgi?out=<A>": lambda v, state: _toggle([f"OUT{n}" for n in v["A"]], state),
    "GET /outs.cgi?vout<A>=<B>": lambda v, state: {f"EVENT{v['A'] + 1}": v["B"]},
    "GET /inpa.cgi?powset=<A><B>": lambda v, state: {f"ENERGY{v['A'] + 1}": v["B"]},
    "GET /inpa.cgi?eclear=<A>": lambda v, state: {f"ENERGY{v['A'] + 1}": 0},
    "GET /stm.cgi?restart_power_on=1": lambda v, state: {"restart": 1},
    "GET /stm.cgi?devrestart=1": lambda v, state: {"restart": 0, "uptime": 0},
    "GET /stm.cgi?lk3restart=1": lambda v, state: {"restart": 0, "uptime": 0},
}

#: Rows whose effect is neither a setting nor a live value.
OTHERWISE = {
    "GET /stm.cgi?mod_write=<A>*<B>*<C>*<D>*<E>",
    "GET /stm.cgi?mod_write_run=<A><B>",
    "GET /stm.cgi?gsmcmd=<A>",
    "GET /stm.cgi?gsmsendsms",
    "GET /stm.cgi?testemail=1",
    "GET /stm.cgi?dswrite=0",
    "GET /inpa.cgi?eventdel=<A>",
    "GET /inpa.cgi?rulemove=<A>*<B>",
    "GET /inpa.cgi?scheddel=<A>",
    "GET /stm.cgi?upgrade=devstart3",
    "GET /stm.cgi?upgrade=lkstart3",
    "POST /post.cgi?wwwfileupload",
    "POST /post.cgi?settingsupload",
    "POST /post.cgi?pictureupload",
    "GET /stm.cgi?delpicture=0",
    "GET /stm.cgi?eeprom_reset=1",
    "GET /stm.cgi?t_man=<A>",
    "POST /post.cgi?signin",
    "POST /post.cgi?signout",
    "POST /post.cgi?passwd",
    "GET /dev_settings.bin",
    "GET /lk3_settings.bin",
}
