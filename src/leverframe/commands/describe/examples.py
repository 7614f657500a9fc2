"""One exact request for every row, for the reference and for what others build from the table.

The texts follow from the parameter types. Where a type cannot know what reads well (a port, a rule
that makes sense), the row has texts of its own in `CHOSEN`; such a text is used only on versions
that take it. A chosen text needs no care when a row changes: the tests send every example.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from leverframe.commands.table.bodies import FormBody, ListBody
from leverframe.commands.table.params import (
    Base64Text,
    Changed,
    Depends,
    Flag,
    Int,
    ListOf,
    Param,
    Record,
    Scaled,
    Text,
    Trailing,
    Word,
)
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.row import Row
from leverframe.profile import Profile, offered

_MAIL = {
    "A": "mail.example",
    "B": "587",
    "C": "cellar",
    "D": "secret",
    "E": "keeper@example.org",
    "F": "cellar@example.org",
    "G": "Cellar",
}
_WATCHDOG_TIMES = "3*2*60*120*10*0*60"
#: Field texts that read better than what the types alone give, by the row's line.
CHOSEN: Mapping[str, Mapping[str, str]] = {
    "GET /stm.cgi?modbusid=<A><B>": {"A": "0", "B": "12"},
    "GET /stm.cgi?modbusmapping=<A>": {"A": "*".join(["10", "11", "112"] + ["00"] * 27)},
    "GET /stm.cgi?mod_custom_set<A>=<B>*<C>*<D>*<E>*<F>": {"B": "Heat%20pump", "F": "2"},
    "GET /stm.cgi?pwmf=<A><B>": {"B": "20000"},
    "GET /stm.cgi?pidvalue=<A>*<B>*<C>*<D>*<E>*<F>*<G>": {
        "B": "10",
        "C": "215",
        "D": "500",
        "E": "10",
        "F": "0",
    },
    "GET /stm.cgi?gsmcmd=<A>": {"A": "AT%2BCSQ"},
    "GET /stm.cgi?gsmcode=<A>": {"A": "1234"},
    "GET /stm.cgi?gsmsms<A>=<B>*<C>": {"B": "Door%20open", "C": "Door%20closed"},
    "GET /stm.cgi?gsmsms=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>": {
        **dict.fromkeys("BCDFGH", ""),
        "A": "Door%20open",
        "E": "Door%20closed",
    },
    "GET /inpa.cgi?sensor=<A><B>": {"B": "13"},
    "GET /inpa.cgi?multiplier=<A><B>": {"B": "105"},
    "GET /inpa.cgi?diffsel=<A>*<B>*<C>*<D>": {"A": "0", "B": "6", "C": "0", "D": "7"},
    "GET /stm.cgi?i2csensors=<A>": {"A": "18"},
    "GET /stm.cgi?i2cofreq=<A>": {"A": "100"},
    "GET /stm.cgi?oled=<A>*<B>*<C>*<D>*<E>": {"B": "Cellar", "C": "", "D": "", "E": ""},
    "GET /stm.cgi?em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>&em9=<I>": {
        **_MAIL,
        "H": "Door%20open*Warm***Door%20closed*Cool**",
    },
    "GET /stm.cgi?em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>": {
        **_MAIL,
        "H": "Door%20open",
    },
    **{f"GET /stm.cgi?em{number}=<A>": {"A": _MAIL[x]} for number, x in enumerate(_MAIL, start=1)},
    "GET /stm.cgi?em8=<A>": {"A": "Door%20open"},
    "GET /inpa.cgi?event=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>*<I>*<J>*<K>*<L>*<M>*<N>*<O>*<P>": {
        **dict.fromkeys("AFGHIJKLNOP", "0"),
        "B": "10",
        "C": "1",
        "D": "2150",
        "E": "50",
        "M": "1",
    },
    "GET /inpa.cgi?eventper=<A>*<B>": {"A": "0"},
    "GET /inpa.cgi?eventon=<A>*<B>": {"A": "0"},
    "GET /inpa.cgi?eventdel=<A>": {"A": "0"},
    "GET /inpa.cgi?powim=<A><B>": {"B": "800"},
    "GET /inpa.cgi?powset=<A><B>": {"B": "273490"},
    "GET /stm.cgi?dsOffset=<A>:<B>": {"B": "-5"},
    "GET /stm.cgi?dsOffset<A>=<B>": {"B": "-5"},
    "GET /inpa.cgi?schedon=<A>*<B>": {"A": "0"},
    "GET /stm.cgi?wdog1=<A>&wdog2=<B>&wdog3=<C>&wdog4=<D>&wdog5=<E>&wdog6=<F>": {
        "A": f"1*0*0*192.168.1.1*{_WATCHDOG_TIMES}",
        **dict.fromkeys("BCDEF", f"0*0*0**{_WATCHDOG_TIMES}"),
    },
    "GET /stm.cgi?auth=<A><B><C>*<D>*<E>*<F>": {"D": "c2VjcmV0", "E": "dXNlcg==", "F": "c2VjcmV0"},
    "GET /stm.cgi?mqtt=<A>*<B>*<C>*<D>*<E>*<F>*<G>": {"C": "8883", "D": "cellar", "E": "secret"},
    "GET /stm.cgi?snmp=<A>*<B>*<C>": {"B": "reading", "C": "writing"},
    "GET /stm.cgi?snmpv3=<A>*<B>*<C>": {"A": "keeper"},
    "GET /stm.cgi?snmptrap=<A>*<B>*<C>*<D>": {"C": "162", "D": "traps"},
    "GET /stm.cgi?sdm120bitrate=<A>": {"A": "19200"},
    "GET /stm.cgi?t_man=<A>": {"A": "1767225600"},
    # fields of bodies
    "POST /post.cgi?mod_custom_save": {"B": "0", "C": "Flow", "D": "l/min"},
    "POST /post.cgi?oled_save": {
        **{f"screen{screen}": "0" for screen in (2, 3, 4)},
        **{f"line{screen}{line}": "" for screen in range(1, 5) for line in range(1, 5)},
        "displayTime": "30",
        "frequency": "400",
        "line11": "Cellar",
    },
    "POST /post.cgi?sched_save": {
        "A": "0",
        "B": "Morning",
        "C": "0",
        "D": "1",
        "E": "21600",
        "F": "0",
        "G": "31",
    },
    "POST /post.cgi?users_save": {"B": "keeper", "C": "secret"},
    "POST /post.cgi?signin": {"username": "keeper", "password": "secret"},
    "POST /post.cgi?passwd": {
        "username": "admin",
        "password": "secret",
        "new": "a+longer+secret",
    },
}


class Filled(NamedTuple):
    """Fields with an example each: the texts that are sent, and the values they stand for."""

    texts: dict[str, str]
    values: dict[str, Any]


def example_texts(row: Row, profile: Profile) -> dict[str, str]:
    """The wire text of every field that this version of the row has."""
    return fill(row.params, CHOSEN.get(row.line, {}), profile).texts


def example_request(row: Row, profile: Profile) -> str:
    """Method, path and query: `GET /stm.cgi?oname=1Pump`."""
    return f"{row.form.method} {row.form.write(example_texts(row, profile))}"


def example_body(row: Row, profile: Profile) -> str | None:
    """The body of a row that takes one, unless it is a file."""
    texts = example_body_texts(row, profile)
    if isinstance(row.body, ListBody):
        return row.body.write([texts]).decode()
    if isinstance(row.body, FormBody):
        return "&".join(f"{name}={text}" for name, text in texts.items())
    return None


def example_body_texts(row: Row, profile: Profile) -> dict[str, str]:
    """The wire text of every field of the body; none where there is no body with fields."""
    chosen = CHOSEN.get(row.line, {})
    match row.body:
        case ListBody(_, params) | FormBody(params):
            return fill(params, chosen, profile).texts
        case _:
            return {}


def fill(params: Mapping[str, Param], chosen: Mapping[str, str], profile: Profile) -> Filled:
    """Every field with its chosen text where this version takes it, with a typical one elsewhere.

    A trailing field that this version does not have gets no text, but its default value.
    """
    texts: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, param in params.items():
        if isinstance(param, Trailing) and not offered(param.when, profile):
            values[name] = param.default
            continue
        text = chosen.get(name)
        if text is None or not _takes(param, text, profile, values):
            text = typical(param, profile, values)
        texts[name] = text
        values[name] = param.parse(text, profile, values)
    return Filled(texts, values)


def _takes(param: Param, text: str, profile: Profile, seen: Mapping[str, Any]) -> bool:
    try:
        param.parse(text, profile, seen)
    except Refusal:
        return False
    return True


def typical(param: Param, profile: Profile, seen: Mapping[str, Any]) -> str:
    """A text that shows what is meant, rather than a limit."""
    match param:
        case Int(lo, hi):
            return str(_typical_number(lo, hi))
        case Flag():
            return "1"
        case Scaled(factor, lo, hi):
            return str(min(max(lo, 20 * factor), hi))
        case Text() if param.pattern:
            return param.format(max(param.fitting, key=bool), profile, seen)
        case Text():
            return "Pump"[: param.most]
        case Base64Text():
            return param.format("admin"[: param.most], profile, seen)
        case Word(table):
            # Code 0 often stands for nothing.
            return str(table.of(profile)[:2][-1].number)
        case ListOf():
            count = param.most(profile) if param.least is None else 1
            return param.separator.join([typical(param.item, profile, seen)] * count)
        case Record(fields):
            return "*".join(typical(field, profile, seen) for _, field in fields)
        case Depends():
            return typical(param.case(seen), profile, seen)
        case Changed():
            return typical(param.pick(profile), profile, seen)
        case Trailing(inner):
            return typical(inner, profile, seen)
        case _:
            return param.examples(profile, seen)[0]


def _typical_number(lo: int, hi: int) -> int:
    """Second of a short range, middle of a middling one, a minute of a long one."""
    if hi - lo < 50:
        return min(lo + 1, hi)
    return (lo + hi) // 2 if hi - lo < 256 else min(max(lo, 60), hi)
