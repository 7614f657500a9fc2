"""What all controllers of a process share: threads, engines, turns at hashing, places, documents.

A process with one controller has these for it alone. One with many has them once, so that no
controller costs a thread, and no burst of sign-ins of some fills the memory of all. Everything is
made when it is first needed.
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
        #: Turns at hashing passwords, which takes much memory.
        self.hashing = asyncio.Semaphore(passwords.AT_A_TIME)
        #: The same for the keys of backups.
        self.backups = asyncio.Semaphore(backups.AT_A_TIME)
        #: Places for work in processes of its own.
        self.places = WorkPlaces()
        #: Places for long answers.
        self.streams = streams_of_all()
        self.trap_threads = TrapThreads()
        #: Places for images of firmware, which take much memory.
        self.firmware_places = TransferPlaces()
        self.snmp_engines = AgentEngines()
        self.documents = VersionDocuments()

    @property
    def lookups(self) -> ThreadPoolExecutor:
        """Return the threads in which names of hosts are looked up."""
        if self._lookups is None:
            self._lookups = ThreadPoolExecutor(self._lookups_at_a_time, thread_name_prefix="lookup")
        return self._lookups

    async def close(self) -> None:
        """Release the threads, when the last controller has stopped."""
        if self._lookups is not None:
            self._lookups.shutdown(wait=False, cancel_futures=True)
