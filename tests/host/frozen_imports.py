"""The program, which can load nothing any more once it has loaded what its features need.

`python -m tests.host.frozen_imports FILE ARGUMENTS...`: the file gets a line when loading is
over, one for each module that is requested afterwards, which fails, and one for each file that is
opened on the event loop.
"""

import sys
import threading
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from leverframe.__main__ import main
from leverframe.devices.linux import oled_panel
from leverframe.host import serve
from leverframe.server import passwords
from leverframe.server.routes.pages import pages
from tests.patience import PATIENCE_S

FROZEN = "frozen"
#: What has a result when it is loaded.
LOADED = (pages, passwords._hasher, oled_panel.png_of)


class Freezer:
    def __init__(self, report: Path) -> None:
        self._report = report.open("a")
        self._is_frozen = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self._is_frozen:
            self._write_line(f"{name} in {threading.current_thread().name}")
            raise ImportError(f"{name} is wanted too late")
        return None

    def notice(self, event: str, arguments: tuple[object, ...]) -> None:
        on_loop = threading.current_thread() is threading.main_thread()
        if event == "open" and self._is_frozen and on_loop:
            if "zoneinfo" in str(arguments[0]):
                # Zones are small tables of the machine; one is read when it is chosen. Where it
                # cannot be opened, the command fails and nothing is changed.
                return
            self._write_line(f"{arguments[0]} opened on the event loop")

    def freeze_when_loaded(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not all(function.cache_info().currsize for function in LOADED):
            if time.monotonic() > deadline:
                self._write_line("not loaded in time")
                return
            time.sleep(0.01)
        self._is_frozen = True
        self._write_line(FROZEN)

    def _write_line(self, line: str) -> None:
        print(line, file=self._report, flush=True)


if __name__ == "__main__":
    serve.LARGE_AFTER_S = 0.0
    freezer = Freezer(Path(sys.argv[1]))
    sys.meta_path.insert(0, freezer)
    sys.addaudithook(freezer.notice)
    threading.Thread(target=freezer.freeze_when_loaded, daemon=True).start()
    sys.exit(main(sys.argv[2:]))
