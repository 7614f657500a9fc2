"""Random Modbus TCP frames at a server: it lives, answers in order, and writes only what was asked.

    python -m tests.server.modbus.fuzzed_frames [--frames 200000] [--seed 1]

Frames are well formed, damaged, or noise; noise ends a connection, and the next one continues. What
the coils must be is followed by a model of its own, which knows the protocol only from its text.
"""

import argparse
import asyncio
import random
import struct
from ipaddress import ip_network

from leverframe.core.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.server.fair_shares import DescriptorBudget
from leverframe.server.modbus_tcp import ModbusTcpServer
from leverframe.server.shared_ports import OwnPlace
from leverframe.testing import LoopTwin

COILS = (*OUTPUTS, *PWMS, *EVENT_VARIABLES)
LOOPBACK = (ip_network("127.0.0.0/8"),)
#: Coils behind these, which reset counters and read 0.
RESETS = 6
BATCH = 50


class Model:
    """What the coils must be after the requests so far."""

    def __init__(self) -> None:
        self.coils = [0] * len(COILS)

    def take(self, pdu: bytes) -> bool:
        """Follow a request; must it be confirmed?"""
        if len(pdu) == 5 and pdu[0] == 5:
            address, value = struct.unpack(">HH", pdu[1:])
            return value in (0, 0xFF00) and self._set(address, [int(value > 0)])
        if len(pdu) >= 6 and pdu[0] == 15:
            address, count, size = struct.unpack(">HHB", pdu[1:6])
            if count == 0 or size != (count + 7) // 8 or len(pdu) != 6 + size:
                return False
            bits = [pdu[6 + n // 8] >> n % 8 & 1 for n in range(count)]
            return self._set(address, bits)
        return False

    def _set(self, address: int, bits: list[int]) -> bool:
        if address + len(bits) > len(self.coils) + RESETS:
            return False
        kept = bits[: max(0, len(self.coils) - address)]
        self.coils[address : address + len(kept)] = kept
        return True


def random_pdu(chance: random.Random) -> bytes:
    address = chance.choice((chance.randrange(20), chance.randrange(1200), chance.randrange(65536)))
    count = chance.choice((1, chance.randrange(20), chance.randrange(130), chance.randrange(65536)))
    bits = chance.randbytes(chance.choice(((count % 24 + 7) // 8, chance.randrange(5))))
    pdu = chance.choice(
        (
            struct.pack(">BHH", chance.randrange(1, 5), address, count),
            struct.pack(">BHH", 5, address, chance.choice((0, 0xFF00, count))),
            struct.pack(">BHHB", 15, address, count % 24, len(bits)) + bits,
            chance.randbytes(chance.randrange(1, 30)),
        )
    )
    if chance.random() < 0.2:
        damaged = bytearray(pdu)
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        pdu = bytes(damaged[: chance.randrange(1, len(damaged) + 1)])
    # Duties are settings; they have tests of their own, and the disk would be what is measured.
    return pdu if pdu[0] not in (6, 16) else b"\x07"


def frame(number: int, pdu: bytes) -> bytes:
    return struct.pack(">HHHB", number, 0, len(pdu) + 1, 1) + pdu


async def batch(port: int, chance: random.Random, model: Model, size: int) -> None:
    """One connection: good frames in pieces, every answer checked, perhaps noise at the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    pdus = [random_pdu(chance) for _ in range(size)]
    stream = b"".join(frame(number, pdu) for number, pdu in enumerate(pdus))
    cut = chance.randrange(len(stream))
    writer.write(stream[:cut])
    await writer.drain()
    writer.write(stream[cut:])
    for number, pdu in enumerate(pdus):
        head = await reader.readexactly(7)
        transaction, protocol, length, unit = struct.unpack(">HHHB", head)
        answer = await reader.readexactly(length - 1)
        assert (transaction, protocol, unit) == (number, 0, 1)
        assert answer[0] & 0x7F == pdu[0] & 0x7F
        if pdu[0] in (5, 15):
            assert model.take(pdu) == (answer[0] < 0x80), (pdu, answer)
    if chance.random() < 0.3:
        # Never a frame: another protocol's number, whatever follows.
        writer.write(
            chance.randbytes(2) + b"\xff" + chance.randbytes(chance.randrange(40)) + b"\0" * 7
        )
        assert await reader.read() == b""
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def fuzz(frames: int, seed: int) -> int:
    """Send that many frames; gives how many writes were confirmed to be right."""
    twin = await LoopTwin.start()
    server = ModbusTcpServer(
        twin.controller, OwnPlace("127.0.0.1", 0), LOOPBACK, DescriptorBudget()
    )
    twin.controller.settings_watchers.append(server.adopt)
    await twin.ok("/stm.cgi?modbuson=1")
    port = server.port
    assert port is not None
    chance, model = random.Random(seed), Model()
    checked = 0
    for done in range(0, frames, BATCH):
        await batch(port, chance, model, min(BATCH, frames - done))
        values = twin.controller.engine.machine.values
        assert [values[label] for label in COILS] == model.coils
        checked += 1
    await server.close()
    await twin.controller.stop()
    return checked


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--frames", type=int, default=200_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    checked = asyncio.run(fuzz(chosen.frames, chosen.seed))
    print(f"{chosen.frames} frames on {checked} connections: no crash, no wrong write")


if __name__ == "__main__":
    main()
