"""A snapshot of a twin, which can be saved to a file that another process loads."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leverframe.controller.saved_snapshot import SavedSnapshot

#: The keeper of snapshots of twins in this process.
THIS_PROCESS = "this process"
#: What a snapshot says itself, so it cannot be given to a twin that is loaded from one.
OF_SNAPSHOT = ("hw", "sw", "mac", "name", "start", "timezone", "settings")


class TwinSnapshot:
    """Everything that a twin resumes from, at one moment."""

    def __init__(self, state: Any, encode: Callable[[Any], bytes], keeper: str) -> None:
        #: What the kind of twin that took it goes back to.
        self.state = state
        #: Where the state is kept, and so the twins that can restore it.
        self.keeper = keeper
        self._encode = encode

    def save(self, path: str | Path) -> None:
        """Write it to a file for its owner alone, since it holds all secrets of the twin.

        `Twin.load(path)` makes a twin of it. It cannot be saved if faults were set when it was
        taken.
        """
        from leverframe.controller.saved_snapshot import BadSnapshot
        from leverframe.storage.private_file import write_private

        try:
            write_private(Path(path), self._encode(self.state))
        except OSError as error:
            raise BadSnapshot(f"{path} cannot be written: {error.strerror}.") from None


def read_snapshot(path: str | Path) -> tuple[bytes, "SavedSnapshot"]:
    """Read a saved snapshot; raise `BadSnapshot` where there is none that this version reads."""
    from leverframe.controller.saved_snapshot import BadSnapshot, decode_snapshot

    try:
        data = Path(path).read_bytes()
        return data, decode_snapshot(data)
    except OSError as error:
        raise BadSnapshot(f"{path} cannot be read: {error.strerror}.") from None
    except BadSnapshot as error:
        raise BadSnapshot(f"{path}: {error}") from None


def parameters_of(saved: "SavedSnapshot", given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a twin that is loaded from a snapshot."""
    from leverframe.controller.saved_snapshot import BadSnapshot

    if refused := [name for name in OF_SNAPSHOT if name in given]:
        raise BadSnapshot(
            f"{', '.join(refused)}: the snapshot says this itself. Allowed beside it: accounts,"
            " tls, mqtt, lenient, recorded, seed, port."
        )
    return {
        "hw": saved.profile.hw,
        "sw": saved.profile.sw,
        "mac": saved.identity.get("identity.mac"),
        "timezone": saved.timezone,
        **given,
    }
