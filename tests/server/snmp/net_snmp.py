"""net-snmp's own programs, as the other side of SNMP tests."""

import asyncio
from pathlib import Path

from tests.patience import PATIENCE_S

ENTERPRISE = ".1.3.6.1.4.1.7616"
V3 = ["-v3", "-l", "authPriv", "-a", "SHA-256", "-x", "AES"]


async def run(program: str, *arguments: str) -> tuple[int, str]:
    """The exit code and everything that the program printed."""
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # No file of the machine that runs the test may change what the program does.
        env={"SNMPCONFPATH": "/nonexistent", "MIBS": "", "PATH": "/usr/bin:/usr/sbin"},
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode().strip()


class Manager:
    """A client with a community, or with a user's keys."""

    def __init__(self, port: int, *credentials: str) -> None:
        self._port = port
        self._credentials = credentials

    async def ask(self, program: str, *rest: str) -> tuple[int, str]:
        where = f"127.0.0.1:{self._port}"
        waiting = ("-t", str(PATIENCE_S), "-r", "0")
        return await run(program, *self._credentials, "-On", *waiting, where, *rest)

    async def get(self, *places: str) -> list[str]:
        """What stands behind the = of each line."""
        code, output = await self.ask("snmpget", *(f"{ENTERPRISE}.{place}" for place in places))
        assert code == 0, output
        return [line.partition(" = ")[2] for line in output.splitlines() if " = " in line]

    async def set(self, *pairs: tuple[str, int]) -> tuple[int, str]:
        values = [part for at, value in pairs for part in (f"{ENTERPRISE}.{at}", "i", str(value))]
        return await self.ask("snmpset", *values)


class TrapReceiver:
    """snmptrapd, printing what it gets."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, *configuration: str) -> None:
        config = self._folder / "snmptrapd.conf"
        config.write_text("\n".join(configuration) + "\n")
        self._process = await asyncio.create_subprocess_exec(
            *("snmptrapd", "-f", "-C", "-c", str(config), "-m", "", "-On", "-Lo"),
            *("-F", "%v\n", f"udp:127.0.0.1:{self._port}"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"SNMP_PERSISTENT_DIR": str(self._folder), "PATH": "/usr/bin:/usr/sbin"},
        )
        await self.line_with("NET-SNMP version")

    async def line_with(self, text: str) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while line := (await self._process.stdout.readline()).decode():
                if text in line:
                    return line
        raise AssertionError(f"snmptrapd ended without {text!r}")

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()
