"""Rows: the e-mail forms, combined and single."""

from typing import Any

from leverframe.commands.table.params import Flag, Int, ListOf, Text
from leverframe.commands.table.row import row
from leverframe.commands.table.stage import Stage
from leverframe.engine.actions import SendTest

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
    "H": "text (of eMail 1 when it activates)",
}
#: Of the fields that say which server it is.
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


ROWS = (
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
