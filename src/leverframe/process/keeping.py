"""What a controller keeps in its data folder besides the store: its history, and snapshots."""

from collections.abc import Callable
from pathlib import Path

from leverframe.config import Config
from leverframe.controller import Controller
from leverframe.process.services import Service
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.worker import ThreadHistoryWorker
from leverframe.storage.snapshot_keeper import SnapshotKeeper
from leverframe.storage.snapshots import Snapshots


def history_worker(config: Config, folder: DataFolder) -> ThreadHistoryWorker:
    """Virtual time begins anew with every start, and so does what was recorded on it."""
    bounds = Bounds(raw_days=config.history_days, max_bytes=config.history_max_mb * 1024 * 1024)
    path = None if config.virtual_time else folder.history_path
    return ThreadHistoryWorker(path, bounds, may_wait=config.virtual_time)


def keep_snapshots(controller: Controller, store_path: Path, settle: Callable[[], None]) -> Service:
    compactor = SnapshotKeeper(Snapshots(store_path, settle), controller.troubles)
    controller.settings_watchers.append(compactor.settings_changed)
    return compactor
