"""A twin in the process of the test.

The controller's code is loaded with the first twin, not with this module, because a project may
import `Twin` even in runs that start none.
"""

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leverframe.core.durations import WhenText
from leverframe.testing.any_twin import AnyTwin

if TYPE_CHECKING:
    from leverframe.host.controller import Controller
    from leverframe.host.maintenance.configuration import GivenSettings
    from leverframe.testing.in_process import InProcess
    from leverframe.testing.initial_state import Beginning
    from leverframe.testing.process_twin import ProcessTwin
    from leverframe.units.pulled_unit import PulledUnit


class Twin(AnyTwin):
    """A controller in this process, in virtual time; its messages are captured.

    - `hw`, `sw`: the version; without them the newest, or that of the `settings` file
    - `mac`, `name`: its identity; by default derived from the `seed`
    - `start`: its first moment, like `"2026-03-29T00:30"`; `timezone`: that of `start` and of the
      schedule
    - `settings`: values by path, like `{"outputs.0.name": "Pump"}`; a backup (`.toml`, `.json`,
      `.bin`); a unit file (`.toml`); a recorded unit (`.jsonl`), whose answers also serve
      requests that the twin does not know; what `pull_unit` returns; or the URL of a unit, which
      is read and never written to. `recorded_unit` lists what a unit did not show
    - `port`: port to listen on; by default a free port
    - `accounts`: passwords by name, the administrator first, then the user; sign-in is then
      required
    - `tls`: serve HTTPS; `ca_file` is then what clients trust
    - `modbus`, `snmp`: switch these servers on; `mqtt`: a broker to connect to, `"HOST:PORT"` or
      `"mqtt://NAME:PASSWORD@HOST:PORT"`
    - `lenient`: skip commands that are not understood, as real units do
    - `recorded`: a recording by `leverframe record`; requests that the version does not know are
      answered as recorded
    - `seed`: random seed, so that every run is the same
    """

    _reports_each_end = True
    _transport: "InProcess"

    def __init__(
        self,
        *,
        hw: str | None = None,
        sw: str | None = None,
        mac: str | None = None,
        name: str | None = None,
        start: WhenText | None = None,
        timezone: str = "UTC",
        settings: "GivenSettings | PulledUnit | None" = None,
        accounts: Mapping[str, str] | None = None,
        tls: bool = False,
        modbus: bool = False,
        snmp: bool = False,
        mqtt: str | None = None,
        lenient: bool = False,
        recorded: str | Path | None = None,
        seed: int | None = None,
        port: int = 0,
    ) -> None:
        beginning = self._begin(locals())
        self._transport = self._way_to(beginning)

    def _way_to(self, beginning: "Beginning") -> "InProcess":
        from leverframe.testing.in_process import InProcess

        return InProcess(beginning, self.seed)

    @classmethod
    def process(cls, **parameters: Any) -> "ProcessTwin":
        """Return a twin in its own process, which can be killed; see `ProcessTwin`."""
        from leverframe.testing.misuse import check_names
        from leverframe.testing.process_twin import ProcessTwin

        check_names(ProcessTwin, "Twin.process", parameters)
        return ProcessTwin(**parameters)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Return a twin that starts from a saved snapshot: `with Twin.load("warm.snapshot"): ...`.

        It has the version, identity, settings and time of the snapshot. Parameters such as
        `accounts` (for `get`), `tls` or `port` are those of `Twin`.
        """
        return cls._load("Twin.load", path, parameters)

    def fork(self) -> "Twin":
        """Return another twin on its own ports that continues from here, closed with this one.

        The fork does not connect to the broker, where it would have the same name and disconnect
        this twin.
        """
        other = copy(self)
        other._transport = self._transport.fork()
        AnyTwin.__init__(other, **{**self._given, "port": None})
        snapshot = self.snapshot()
        other.start()
        other.restore(snapshot)
        if self._transport.uses_broker:
            other._transport.note_no_broker()
        self._forks.append(other)
        return other

    @property
    def mac(self) -> str:
        """Its MAC address."""
        return self._transport.running.mac

    @property
    def name(self) -> str:
        """Its current name."""
        return self._transport.running.present_name

    @property
    def controller(self) -> "Controller":
        """The controller object, which may only be used on the loop of the twins."""
        return self._transport.controller
