"""mbpoll, a Modbus client that administrators have, against the server."""

import asyncio
import re

import pytest

from tests.server.modbus.test_tcp import HOST, ServedByModbus, serve

#: As the reference prints it: what is published never moves.
ENERGY1_LONG_AT = 2076

pytestmark = pytest.mark.needs_program("mbpoll")


async def mbpoll(it: ServedByModbus, *arguments: str) -> str:
    """Its output; addresses count from 0, and it waits as long as its options permit."""
    command = ["mbpoll", "-0", "-1", "-o", "10", "-m", "tcp", "-p", str(it.port), *arguments]
    program = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await program.communicate()
    return output.decode()


def values_in(output: str) -> list[str]:
    return re.findall(r"^\[\d+\]:\s+(\S+)", output, re.MULTILINE)


async def test_mbpoll_reads_and_writes_coils() -> None:
    async with serve() as it:
        assert "Written 3 references." in await mbpoll(
            it, "-t", "0", "-r", "1", HOST, "1", "0", "1"
        )
        assert await it.twin.outputs() == "010100"
        assert "Written 1 references." in await mbpoll(it, "-t", "0", "-r", "17", HOST, "1")
        coils = values_in(await mbpoll(it, "-t", "0", "-r", "0", "-c", "18", HOST))
        assert [n for n, value in enumerate(coils) if value == "1"] == [1, 3, 17]
        assert (await it.twin.state())["EVENT8"] == 1


async def test_mbpoll_reads_discrete_inputs_and_readings() -> None:
    async with serve() as it:
        await it.twin.ok("/sim.cgi?VCC=12.5&TEMP=31.25&INPD1=0")
        assert values_in(await mbpoll(it, "-t", "1", "-r", "0", "-c", "4", HOST)) == list("0111")
        floats = await mbpoll(it, "-t", "3:float", "-B", "-r", "0", "-c", "2", HOST)
        assert values_in(floats) == ["12.5", "31.25"]
        wholes = await mbpoll(it, "-t", "3", "-r", "1000", "-c", "2", HOST)
        assert values_in(wholes) == ["1250", "3125"]


async def test_mbpoll_reads_and_writes_duties() -> None:
    async with serve() as it:
        assert "Written 2 references." in await mbpoll(it, "-t", "4", "-r", "1", HOST, "7", "100")
        assert values_in(await mbpoll(it, "-t", "4", "-r", "0", "-c", "4", HOST)) == [
            *("50", "7", "100", "50"),
        ]


async def test_mbpoll_sets_the_target_and_resets_a_counter() -> None:
    async with serve() as it:
        await it.twin.ok("/inpa.cgi?powset=0123456789")
        longs = await mbpoll(it, "-t", "3:int", "-B", "-r", str(ENERGY1_LONG_AT), "-c", "1", HOST)
        assert values_in(longs) == ["123456789"]
        assert "Written 1 references." in await mbpoll(it, "-t", "0", "-r", "18", HOST, "1")
        assert (await it.twin.state())["ENERGY1"] == 0
        wrote = await mbpoll(it, "-t", "4:float", "-B", "-r", "5", HOST, "21.5")
        assert "Written 1 references." in wrote
        assert (await it.twin.settings())["pid"]["target"] == 21.5
        assert values_in(await mbpoll(it, "-t", "4", "-r", "4", "-c", "1", HOST)) == ["215"]


async def test_mbpoll_understands_refusals() -> None:
    async with serve() as it:
        assert "Illegal data address" in await mbpoll(it, "-t", "0", "-r", "24", "-c", "1", HOST)
        assert "Illegal data value" in await mbpoll(it, "-t", "4", "-r", "0", HOST, "101")
        await it.twin.ok("/stm.cgi?outblock=1")
        assert "failure" in await mbpoll(it, "-t", "0", "-r", "0", HOST, "1")
        assert await it.twin.outputs() == "000000"
