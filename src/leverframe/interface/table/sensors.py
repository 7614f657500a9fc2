"""Rows: 1-Wire and I2C sensors, weather readings."""

from leverframe.core.engine.calls import NextOneWireId
from leverframe.interface.table.codes import HW35_SW, I2C_SENSORS, CodeTable, run
from leverframe.interface.table.params import (
    Flag,
    I2cSelection,
    Int,
    ListOf,
    OneWireId,
    Scaled,
    Text,
    Word,
)
from leverframe.interface.table.row import row
from leverframe.interface.table.stage import Stage

NAME = Text(15)
OFFSET = Scaled(10, -32768, 32767)


def next_id(stage: Stage) -> None:
    stage.do(NextOneWireId())


def bind_id(stage: Stage, A: int, B: str) -> None:
    stage.set(f"onewire.{A - 1}.id", B)


def set_offset(stage: Stage, A: int, B: float) -> None:
    stage.set(f"onewire.{A - 1}.offset", B)


def select_sensors(stage: Stage, A: tuple[str, bool]) -> None:
    primary, sps30 = A
    stage.set("i2c.primary", primary)
    stage.set("i2c.sps30", sps30)


def name_sensor(stage: Stage, A: int, B: str) -> None:
    if A < 8:
        stage.set(f"onewire.{A}.name", B)
    else:
        stage.set("weather.t1_name" if A == 8 else "weather.h1_name", B)


def detect_sensor(stage: Stage) -> None:
    found = stage.i2c_found
    stage.set("i2c.primary", found if found in I2C_SENSORS else I2C_SENSORS[0])


SENSOR_ROWS = (
    row(
        "GET /stm.cgi?dswrite=0",
        run=next_id,
        doc="Read the next 1-Wire ID on the bus into `dsid` of `/json/dsi2c.json`.",
    ),
    row(
        "GET /stm.cgi?dswrite=<A>:<B>",
        A=Int(1, 8),
        B=OneWireId(),
        run=bind_id,
        limits={"onewire.*.id": OneWireId()},
        doc="Bind a 1-Wire ID to DS1-DS8; eight zero bytes free the position.",
    ),
    row(
        "GET /stm.cgi?i2csensors=<A>",
        A=I2cSelection(),
        run=select_sensors,
        limits={
            "i2c.primary": Word(CodeTable("I2C sensor", run(0, I2C_SENSORS))),
            "i2c.sps30": Flag(),
        },
        example={"A": "18"},
        shown="1 NONE, 2 BME280, 4 AM2320, 8 HTS221; plus 16 with SPS30",
        doc="Choose the primary I2C sensor (1 NONE, 2 BME280, 4 AM2320, 8 HTS221) plus 16 for "
        "SPS30.",
    ),
    row(
        "GET /stm.cgi?i2csfreq=<A>",
        A=Int(5, 100),
        sets="i2c.frequency",
        shown="frequency of the I2C sensors",
        shown_in="kHz",
        doc="Set the frequency of the I2C sensors in kHz.",
    ),
)

WEATHER_ROWS = (
    row(
        "GET /stm.cgi?tname=<A><B>",
        A=Int(0, 9),
        B=NAME,
        run=name_sensor,
        limits={"onewire.*.name": NAME, "weather.t1_name": NAME, "weather.h1_name": NAME},
        doc="Name DS1-DS8 (A 0-7), T1 (8) or H1 (9).",
    ),
    row(
        "GET /stm.cgi?p1name=<A>",
        A=NAME,
        sets="weather.p1_name",
        doc="Name P1.",
    ),
    row(
        "GET /stm.cgi?bme280detect=1",
        run=detect_sensor,
        doc="Detect the connected I2C sensor and make it the primary one.",
    ),
    row(
        "GET /stm.cgi?pmeter=<A>",
        A=Int(-1000, 10000),
        sets="weather.altitude",
        shown="altitude above the sea",
        shown_in="m",
        doc="Set the altitude in meters, used to reduce P1 to sea level.",
    ),
)

#: Rows of real units that the document does not have.
EXTRA_ROWS = (
    row(
        "GET /stm.cgi?dsOffset=<A>:<B>",
        A=Int(1, 8),
        B=OFFSET,
        run=set_offset,
        limits={"onewire.*.offset": OFFSET},
        example={"B": "-5"},
        shown="offsets of DS1-DS8",
        shown_in="/10 °C",
        doc="Set the offset of DS1-DS8 in degrees, times 10.",
    ),
    row(
        "GET /stm.cgi?dsOffset<A>=<B>",
        A=Int(1, 8),
        B=OFFSET,
        run=set_offset,
        example={"B": "-5"},
        doc="Set the offset of DS1-DS8 in degrees, times 10, in another notation.",
    ),
    row(
        "GET /stm.cgi?onewirename<A><B>=<C>",
        A=Int(0, 2),
        B=Int(0, 2),
        C=NAME,
        sets="onewire_extra.{A}.names.{B}",
        limits={"onewire_extra.*.names": ListOf(NAME, 3)},
        when=HW35_SW["1.57"],
        shown="names of the readings of the additional 1-Wire sensors",
        doc="Name reading B of the additional 1-Wire sensor A (mapping slots 4-6).",
    ),
)
