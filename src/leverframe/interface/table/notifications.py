"""Rows: e-mail, the requests HTTP1-HTTP4, the MQTT client, the SNMP agent and trap receivers."""

from typing import Any

from leverframe.core.engine.calls import SendTest
from leverframe.interface.table import codes
from leverframe.interface.table.params import Flag, Int, ListOf, Text, Word
from leverframe.interface.table.row import row
from leverframe.interface.table.serial_port import PHONES, SMS_SLOT, SMS_TEXT, set_message
from leverframe.interface.table.stage import Stage

# Rows: the e-mail forms, combined and single.

TEXT = Text(255)
FIELDS: dict[str, Any] = {
    "A": Text(63),
    "B": Int(1, 65535),
    "C": Text(63),
    "D": Text(63),
    "E": Text(127),
    "F": Text(127),
    "G": Text(127),
    "H": TEXT,
}
PATHS = {
    "A": "email.host",
    "B": "email.port",
    "C": "email.username",
    "D": "email.password",
    "E": "email.recipient",
    "F": "email.sender",
    "G": "email.subject",
    "H": "email.on_texts.0",
}
WHAT = {
    "A": "address of the mail server",
    "B": "port of the mail server",
    "C": "user name",
    "D": "password",
    "E": "recipient",
    "F": "sender",
    "G": "subject",
    "H": "activation text of eMail 1",
}
#: A note for fields that determine the server.
FORGETS = " A different value deletes the password unless `em4` sets it in the same request."
EXAMPLE = {
    "A": "mail.example",
    "B": "587",
    "C": "cellar",
    "D": "secret",
    "E": "keeper@example.org",
    "F": "cellar@example.org",
    "G": "Cellar",
    "H": "Door%20open",
}
WHOLE = "GET /stm.cgi?em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>&em9=<I>"
_ADDRESSES = {letter: path for letter, path in PATHS.items() if letter != "H"}


def send_test(stage: Stage) -> None:
    stage.do(SendTest("email"))


def set_texts(stage: Stage, H: tuple[str, ...], **_: Any) -> None:
    stage.set("email.on_texts", H[:4])
    stage.set("email.off_texts", H[4:])


EMAIL_ROWS = (
    row("GET /stm.cgi?testemail=1", run=send_test, doc="Send a test e-mail."),
    row(
        WHOLE,
        **(FIELDS | {"H": ListOf(TEXT, 8), "I": Flag()}),
        sets={**_ADDRESSES, "I": "email.tls"},
        run=set_texts,
        limits={"email.on_texts": ListOf(TEXT, 4), "email.off_texts": ListOf(TEXT, 4)},
        example={**EXAMPLE, "H": "Door%20open*Warm***Door%20closed*Cool**"},
        doc="Set up e-mail: server, port, user name, password, recipient, sender, subject, "
        "eight texts (four for activation, four for deactivation), TLS. Send the password "
        "every time; an empty password deletes it.",
    ),
    row(
        "GET /stm.cgi?em1=<A>&em2=<B>&em3=<C>&em4=<D>&em5=<E>&em6=<F>&em7=<G>&em8=<H>",
        **FIELDS,
        sets=PATHS,
        replaced_by=WHOLE,
        example=EXAMPLE,
        doc="Set up e-mail with a single text; TLS and the other texts keep their values.",
    ),
    *(
        row(
            f"GET /stm.cgi?em{number}=<A>",
            A=FIELDS[letter],
            sets=PATHS[letter],
            example={"A": EXAMPLE[letter]},
            doc=f"Set one e-mail field: {WHAT[letter]}.{FORGETS if letter in 'AB' else ''}",
        )
        for number, letter in enumerate(FIELDS, start=1)
    ),
)


# Rows: the requests of HTTP1-HTTP4, the MQTT client, the SNMP agent and the receiver of traps.
#
# They are our own, in the style of the document, which has no commands for these.

URL = Text(
    255,
    pattern=r"|(?:https?://)?[A-Za-z0-9._~-]+(?::[0-9]{1,5})?(?:/[^\s]*)?",
    form="host with optional :port and /path, optionally after http:// or https://",
    fitting=("", "example.org:8080/set?t=%141", "https://example.org/x*y"),
    unfitting=("ftp://example.org", "two words", "/only/a/path"),
)
HOST = Text(
    63,
    pattern=r"[A-Za-z0-9.:_-]*",
    form="a host name or address",
    fitting=("", "broker.example", "192.168.1.2"),
    unfitting=("two words", "a/b"),
)
PORT = Int(1, 65535)
SECRET = Text(63)
USER_NAME = Text(63)
REQUEST_BODY = Text(255)
TOPIC = Text(
    63,
    1,
    pattern=r"[^#+/\s][^#+\s]*",
    form="a topic without # and +",
    fitting=("leverframe", "home/cellar"),
    unfitting=("a/#", "+/b", "/x"),
)
DISCOVERY = Text(
    63,
    pattern=r"[^#+/\s]*",
    form="one level of a topic, or nothing",
    fitting=("homeassistant", ""),
    unfitting=("a/b", "#", "x y"),
)
#: The protocol does not allow SNMPv3 keys shorter than eight characters.
V3_KEY = Text(
    63,
    pattern=r"|.{8,63}",
    form="at least 8 characters, or nothing",
    fitting=("", "12345678"),
    unfitting=("1234567",),
)


# Rows: the messages of rules, on the path of rules.
#
# All commands of a request have the same path: with these rows, a rule and the text of its message
# are changed together or not at all.

MAIL_SLOT = Int(1, 4)


def set_mail(stage: Stage, A: int, B: str, C: str, D: str) -> None:
    stage.set(f"email.on_texts.{A - 1}", B)
    stage.set(f"email.off_texts.{A - 1}", C)
    stage.set("email.recipient", D)


MESSAGE_ROWS = (
    row(
        "GET /inpa.cgi?rulemail=<A>*<B>*<C>*<D>",
        A=MAIL_SLOT,
        B=TEXT,
        C=TEXT,
        D=FIELDS["E"],
        run=set_mail,
        limits={
            "email.on_texts.*": TEXT,
            "email.off_texts.*": TEXT,
            "email.recipient": FIELDS["E"],
        },
        example={"B": "Door%20open", "C": "Door%20closed", "D": EXAMPLE["E"]},
        doc="Set the texts of eMail 1-4 for activation and deactivation, and the recipient of all "
        "mails. Other e-mail settings keep their values.",
    ),
    row(
        "GET /inpa.cgi?rulesms=<A>*<B>*<C>*<D>",
        A=SMS_SLOT,
        B=SMS_TEXT,
        C=SMS_TEXT,
        D=PHONES,
        run=set_message,
        limits={
            "gsm.sms.*.on_text": SMS_TEXT,
            "gsm.sms.*.off_text": SMS_TEXT,
            "gsm.sms.*.numbers": PHONES,
        },
        example={"B": "Door%20open", "C": "Door%20closed"},
        doc="Set the texts of SMS1-SMS4 for activation and deactivation, and its recipients, "
        "several separated by a colon.",
    ),
)


HTTP_SLOT = Int(1, 4)
#: The first receiver has the command `snmptrap`.
MORE_RECEIVERS = Int(2, 4)


def set_url(stage: Stage, A: int, B: str) -> None:
    stage.set(f"http.{A - 1}.url", B)


def set_post(stage: Stage, A: int, B: bool, C: str) -> None:
    stage.set(f"http.{A - 1}.post", B)
    stage.set(f"http.{A - 1}.body", C)


def set_login(stage: Stage, A: int, B: str, C: str) -> None:
    stage.set(f"http.{A - 1}.username", B)
    stage.set(f"http.{A - 1}.password", C)


def set_receiver(stage: Stage, A: int, B: bool, C: str, D: int, E: str) -> None:
    for name, value in (("enabled", B), ("host", C), ("port", D), ("community", E)):
        stage.set(f"snmp.more_traps.{A - 2}.{name}", value)


def set_inform(stage: Stage, A: int, B: bool) -> None:
    receiver = "trap" if A == 1 else f"more_traps.{A - 2}"
    stage.set(f"snmp.{receiver}.inform", B)


URL_ROW = row(
    "GET /stm.cgi?http<A>=<B>",
    A=HTTP_SLOT,
    B=URL,
    run=set_url,
    limits={"http.*.url": URL},
    secret=True,
    doc="Set the address that the action HTTP1-HTTP4 requests; empty means none. Reading "
    "codes in it are replaced by values. A login belongs to one server: another scheme, "
    "host or port deletes its password unless `httpauth<A>` sets it in the same request.",
)

ROWS = (
    URL_ROW,
    row(
        "GET /stm.cgi?httppost<A>=<B>*<C>",
        A=HTTP_SLOT,
        B=Flag(),
        C=REQUEST_BODY,
        run=set_post,
        limits={"http.*.post": Flag(), "http.*.body": REQUEST_BODY},
        secret=True,
        doc="Choose the method of HTTP1-HTTP4: 0 GET, 1 POST; and the body of the POST. Reading "
        "codes in it are replaced by values.",
    ),
    row(
        "GET /stm.cgi?httpauth<A>=<B>*<C>",
        A=HTTP_SLOT,
        B=USER_NAME,
        C=SECRET,
        run=set_login,
        limits={"http.*.username": USER_NAME, "http.*.password": SECRET},
        secret=True,
        doc="Set user name and password for HTTP1-HTTP4. They are sent only if the server "
        "requests Basic or Digest authentication.",
    ),
    row(
        "GET /stm.cgi?httpdouble=<A>",
        A=Flag(),
        sets="http_double_percent",
        doc="Choose how a reading code in HTTP1-HTTP4 begins: 0 with one percent sign, 1 with two.",
    ),
    row(
        "GET /stm.cgi?httpperiod=<A>",
        A=Int(0, 86400),
        sets="http_period",
        doc="Request HTTP1 at this interval in seconds; 0 means never.",
    ),
    row(
        "GET /stm.cgi?mqtt=<A>*<B>*<C>*<D>*<E>*<F>*<G>",
        A=Flag(),
        B=HOST,
        C=PORT,
        D=USER_NAME,
        E=SECRET,
        F=TOPIC,
        G=Flag(),
        sets={
            "A": "mqtt.enabled",
            "B": "mqtt.host",
            "C": "mqtt.port",
            "D": "mqtt.username",
            "E": "mqtt.password",
            "F": "mqtt.prefix",
            "G": "mqtt.tls",
        },
        example={"C": "8883", "D": "cellar", "E": "secret"},
        doc="Set up the MQTT client: enabled, host, port, user name, password, topic prefix, "
        "TLS. Send the password every time; an empty password deletes it.",
    ),
    row(
        "GET /stm.cgi?mqttdiscovery=<A>",
        A=DISCOVERY,
        sets="mqtt.discovery",
        doc="Set the first level of the topics that announce every output, input, reading and "
        "meter to Home Assistant; empty switches the announcements off.",
    ),
    row(
        "GET /stm.cgi?snmp=<A>*<B>*<C>",
        A=Flag(),
        B=SECRET,
        C=SECRET,
        sets={"A": "snmp.enabled", "B": "snmp.read_community", "C": "snmp.write_community"},
        example={"B": "reading", "C": "writing"},
        doc="Set up the SNMP agent: enabled, read community, write community.",
    ),
    row(
        "GET /stm.cgi?snmpv3=<A>*<B>*<C>",
        A=Text(31),
        B=V3_KEY,
        C=V3_KEY,
        sets={"A": "snmp.user", "B": "snmp.authentication_key", "C": "snmp.privacy_key"},
        example={"A": "keeper"},
        doc="Set up SNMPv3: user, authentication key, privacy key.",
    ),
    row(
        "GET /stm.cgi?snmptrap=<A>*<B>*<C>*<D>",
        A=Flag(),
        B=HOST,
        C=PORT,
        D=SECRET,
        sets={
            "A": "snmp.trap.enabled",
            "B": "snmp.trap.host",
            "C": "snmp.trap.port",
            "D": "snmp.trap.community",
        },
        example={"C": "162", "D": "traps"},
        doc="Set up the receiver of SNMP traps: enabled, host, port, community. Send the "
        "community every time; an empty community deletes it.",
    ),
    row(
        "GET /stm.cgi?snmptrap<A>=<B>*<C>*<D>*<E>",
        A=MORE_RECEIVERS,
        B=Flag(),
        C=HOST,
        D=PORT,
        E=SECRET,
        run=set_receiver,
        limits={
            "snmp.more_traps.*.enabled": Flag(),
            "snmp.more_traps.*.host": HOST,
            "snmp.more_traps.*.port": PORT,
            "snmp.more_traps.*.community": SECRET,
        },
        secret=True,
        example={"D": "162", "E": "traps"},
        doc="Set up a further receiver of SNMP traps: enabled, host, port, community, as "
        "`snmptrap` does for the first. Every enabled receiver gets every trap.",
    ),
    row(
        "GET /stm.cgi?snmpinform<A>=<B>",
        A=Int(1, 4),
        B=Flag(),
        run=set_inform,
        limits={"snmp.trap.inform": Flag(), "snmp.more_traps.*.inform": Flag()},
        doc="Choose what a receiver gets: 0 traps, which are not acknowledged; 1 informs, "
        "which are repeated for up to an hour until the receiver acknowledges them.",
    ),
    row(
        "GET /stm.cgi?snmpprivacy=<A>",
        A=Word(codes.SNMP_PRIVACIES),
        sets="snmp.privacy",
        doc="Choose the privacy of SNMPv3 for the agent and for traps: 0 none (messages are "
        "authenticated with SHA-256, not encrypted); 1 AES-128; 2 AES-256.",
    ),
)
