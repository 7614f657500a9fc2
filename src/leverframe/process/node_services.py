"""Services that all controllers of a process share: threads, engines, hashing slots, places,
documents.

With many controllers they exist once, so that a controller costs no thread and a burst of sign-ins
cannot exhaust the memory of all. Everything is created at its first use.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from leverframe.bounded_work.places import WorkPlaces
from leverframe.hardware.pinger import LOOKUPS_AT_A_TIME
from leverframe.notify.trap_threads import TrapThreads
from leverframe.servers.accounts import passwords
from leverframe.servers.bootloader import TransferPlaces
from leverframe.servers.routes import backups
from leverframe.servers.routes.bounded_requests import streams_of_all
from leverframe.servers.routes.compressed import VersionDocuments
from leverframe.servers.snmp.agent_engines import AgentEngines


class NodeServices:
    def __init__(self, lookups_at_a_time: int = LOOKUPS_AT_A_TIME) -> None:
        self._lookups_at_a_time = lookups_at_a_time
        self._lookups: ThreadPoolExecutor | None = None
        #: Slots for hashing passwords, which uses much memory.
        self.hashing = asyncio.Semaphore(passwords.AT_A_TIME)
        #: The same for the keys of backups.
        self.backups = asyncio.Semaphore(backups.AT_A_TIME)
        #: Slots for work in separate processes.
        self.places = WorkPlaces()
        #: Slots for long answers.
        self.streams = streams_of_all()
        self.trap_threads = TrapThreads()
        #: Slots for firmware images, which use much memory.
        self.firmware_places = TransferPlaces()
        self.snmp_engines = AgentEngines()
        self.documents = VersionDocuments()

    @property
    def lookups(self) -> ThreadPoolExecutor:
        """Return the threads that resolve host names."""
        if self._lookups is None:
            self._lookups = ThreadPoolExecutor(self._lookups_at_a_time, thread_name_prefix="lookup")
        return self._lookups

    async def close(self) -> None:
        """Release the threads after the last controller has stopped."""
        if self._lookups is not None:
            self._lookups.shutdown(wait=False, cancel_futures=True)
