"""Rows: the serial module, the GSM modem with its SMS texts, lighting module, SDM bitrate."""

from leverframe.core.engine.calls import ModemCommand, SendTest
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_SW
from leverframe.interface.table.params import Flag, Int, ListOf, Phone, Text, Word
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

LIGHTING_MODULE = "lighting module"
NUMBERS = "GET /stm.cgi?gsmnumber<A>=<B>"
MAX_CODE_LETTERS = 15
SMS_SLOT = Int(1, 4)
SMS_TEXT = Text(160)
PHONE = Phone()
PHONES = ListOf(PHONE, 8, ":", least=0)
SERIAL_MODULE = Word(codes.SERIAL_MODULES)
#: APN, user name and password, each in double quotes.
APN = Text(
    63,
    pattern=r'|"[^"]*"(,"[^"]*"){0,2}',
    form="items in double quotes separated by commas, or nothing",
    fitting=("", '"internet"', '"a","b","c"', '"' + "x" * 61 + '"'),
    unfitting=("internet", '"a";"b"', '"a","b","c","d"'),
)
SDM_BITRATES = codes.CodeTable(
    "bitrate",
    (codes.Code(rate, str(rate)) for rate in (1200, 2400, 4800, 9600, 19200, 38400)),
)


def choose_module(stage: Stage, A: str) -> None:
    stage.set("serial.module", A)
    stage.set("serial.lighting", A == LIGHTING_MODULE)


def connect_lighting(stage: Stage) -> None:
    choose_module(stage, LIGHTING_MODULE)


def set_numbers(stage: Stage, A: int, B: tuple[str, ...]) -> None:
    stage.set(f"gsm.sms.{A - 1}.numbers", B)


def set_single_number(stage: Stage, A: tuple[str, ...]) -> None:
    for slot in range(1, 5):
        set_numbers(stage, slot, A)


def set_slot_texts(stage: Stage, A: int, B: str, C: str) -> None:
    stage.set(f"gsm.sms.{A - 1}.on_text", B)
    stage.set(f"gsm.sms.{A - 1}.off_text", C)


def set_message(stage: Stage, A: int, B: str, C: str, D: tuple[str, ...]) -> None:
    set_slot_texts(stage, A, B, C)
    set_numbers(stage, A, D)


def set_all_texts(stage: Stage, **texts: str) -> None:
    on_texts, off_texts = [texts[x] for x in "ABCD"], [texts[x] for x in "EFGH"]
    for slot, (on_text, off_text) in enumerate(zip(on_texts, off_texts, strict=True), start=1):
        set_slot_texts(stage, slot, on_text, off_text)


def send_command(stage: Stage, A: str) -> None:
    stage.do(ModemCommand(A))


def send_test(stage: Stage) -> None:
    stage.do(SendTest("sms"))


def set_9600(stage: Stage) -> None:
    stage.set("serial.sdm_bitrate", 9600)


ROWS = (
    row(
        "GET /stm.cgi?usart_sensor=<A>",
        A=SERIAL_MODULE,
        run=choose_module,
        limits={"serial.module": SERIAL_MODULE, "serial.lighting": Flag()},
        doc="Choose the module on the serial port.",
    ),
    row(
        "GET /stm.cgi?gsmcmd=<A>",
        A=Text(255, 1),
        run=send_command,
        example={"A": "AT%2BCSQ"},
        # The command may contain a PIN or the password of an access point.
        secret=True,
        doc="Send a command to the GSM modem.",
    ),
    row(
        "GET /stm.cgi?gsmcode=<A>",
        A=Text(MAX_CODE_LETTERS),
        sets="gsm.code",
        example={"A": "1234"},
        doc="Set the authorization code that incoming messages must begin with.",
    ),
    row(
        "GET /stm.cgi?gsmapn=<A>",
        A=APN,
        sets="gsm.apn",
        when=HW35_SW["1.40"],
        doc="Set APN, user name and password of the mobile network, each in double quotes, "
        "separated by commas.",
    ),
    row(
        NUMBERS,
        A=SMS_SLOT,
        B=PHONES,
        run=set_numbers,
        limits={"gsm.sms.*.numbers": PHONES},
        doc="Set the recipients of an SMS slot, several separated by a colon.",
    ),
    row(
        "GET /stm.cgi?gsmnumber=<A>",
        A=ListOf(PHONE, 1, ":", least=0),
        run=set_single_number,
        replaced_by=NUMBERS,
        doc="Set one recipient for all four SMS.",
    ),
    row(
        "GET /stm.cgi?gsmsms<A>=<B>*<C>",
        A=SMS_SLOT,
        B=SMS_TEXT,
        C=SMS_TEXT,
        run=set_slot_texts,
        limits={"gsm.sms.*.on_text": SMS_TEXT, "gsm.sms.*.off_text": SMS_TEXT},
        example={"B": "Door%20open", "C": "Door%20closed"},
        doc="Set the texts of an SMS slot for activation and deactivation.",
    ),
    row(
        "GET /stm.cgi?gsmsms=<A>*<B>*<C>*<D>*<E>*<F>*<G>*<H>",
        A=SMS_TEXT,
        B=SMS_TEXT,
        C=SMS_TEXT,
        D=SMS_TEXT,
        E=SMS_TEXT,
        F=SMS_TEXT,
        G=SMS_TEXT,
        H=SMS_TEXT,
        run=set_all_texts,
        example={**dict.fromkeys("BCDFGH", ""), "A": "Door%20open", "E": "Door%20closed"},
        doc="Set all SMS texts: four for activation, then four for deactivation.",
    ),
    row("GET /stm.cgi?gsmsendsms", run=send_test, doc="Send a test SMS."),
    row(
        "GET /stm.cgi?lightmod=1",
        run=connect_lighting,
        doc="Connect the lighting module: it becomes the module on the serial port.",
    ),
    row(
        "GET /stm.cgi?sdm120bitrate=9600",
        run=set_9600,
        doc="Set the bitrate of the SDM meter to 9600.",
    ),
)

#: The document shows one bitrate; the meters support these.
ALIASES = (
    row(
        "GET /stm.cgi?sdm120bitrate=<A>",
        A=Word(SDM_BITRATES, numeric=True),
        sets="serial.sdm_bitrate",
        example={"A": "19200"},
        doc="Set the bitrate of the SDM meter.",
    ),
)
