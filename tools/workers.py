"""Run tests in several processes after one collection: `pytest -p tools.workers --workers 4`.

Each worker of pytest-xdist imports and collects all tests. Here one process does so, and then forks
the workers. Measured with four workers on 1,615 tests of the engine, status files, wire,
configuration and HTTP: pytest-xdist 3.8 needs 52.7 s of processor time, this plugin 37.5 s;
collecting the whole suite costs each worker of pytest-xdist 10 s. Its schedulers also do not know
which tests take long (`turns.py`). For tests and plug-ins a worker looks like one of pytest-xdist:
`PYTEST_XDIST_WORKER`, `config.workerinput`, `config.workeroutput`, and `pytest_testnodedown` when
it ends.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from types import SimpleNamespace
from typing import Any

import pytest

from tools.turns import Turns

#: A message of a worker: its name and its contents.
Message = tuple[str, dict[str, Any]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--workers", type=int, default=1, metavar="N", help="run the tests in N processes"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers; in a worker, run its share."""
    count = session.config.getoption("--workers")
    if count == 1 or session.config.option.collectonly or session.testsfailed:
        return None
    return Run(session, count).to_the_end()


@dataclass
class Worker:
    number: int
    messages: Connection
    #: Assigned tests, the running one first; a test ends only when the worker knows the next one.
    given: list[int]


class Run:
    """All workers and their messages."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session = session
        self._count = count
        self._reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        # Created before the workers, so that all their folders have the same parent.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        self._turns = Turns([item.nodeid for item in session.items], count)
        self._workers: dict[Connection, Worker] = {}
        self._processes: list[int] = []

    def to_the_end(self) -> bool:
        # Tests of several files run at the same time, so a progress line per file makes no sense.
        self._reporter.showfspath = False
        for number in range(self._count):
            if self._start(number):
                return True
        while self._workers:
            for ready in wait(list(self._workers)):
                worker = self._workers[ready]  # type: ignore[index]
                try:
                    self._hear(worker, *worker.messages.recv())
                except (EOFError, ConnectionResetError):
                    if self._bury(worker) and self._start(worker.number):
                        return True
        for process in self._processes:
            os.waitpid(process, 0)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        return True

    def _start(self, number: int) -> bool:
        """Fork a worker; return True in the worker after it has run its tests."""
        others = [thread for thread in threading.enumerate() if thread.name != "MainThread"]
        assert not others, f"what was imported has started {others}, which no worker would have"
        # Otherwise the worker would print the parent's buffered output again.
        self._reporter.flush()
        here, there = Pipe()
        process = os.fork()
        if process == 0:
            for connection in (here, *self._workers):
                connection.close()
            _work(self._session, there, number, self._count)
            return True
        there.close()
        self._processes.append(process)
        worker = self._workers[here] = Worker(number, here, [])
        self._give(worker)
        self._give(worker)
        return False

    def _give(self, worker: Worker) -> None:
        is_over = self._session.shouldfail or self._session.shouldstop
        place = None if is_over else self._turns.next_of(worker.number)
        if place is not None:
            worker.given.append(place)
        # A worker that is done or has died does not read; its end is handled later.
        with suppress(BrokenPipeError):
            worker.messages.send(place)

    def _hear(self, worker: Worker, kind: str, message: dict[str, Any]) -> None:
        config = self._session.config
        match kind:
            case "started":
                config.hook.pytest_runtest_logstart(**message)
            case "report":
                report = config.hook.pytest_report_from_serializable(config=config, data=message)
                config.hook.pytest_runtest_logreport(report=report)
            case "finished":
                config.hook.pytest_runtest_logfinish(**message)
                del worker.given[0]
                self._give(worker)
            case "ended":
                node = SimpleNamespace(workeroutput=message)
                config.hook.pytest_testnodedown(node=node, error=None)
                self._forget(worker)

    def _bury(self, worker: Worker) -> bool:
        """Report the test in which a worker died; return True if a new worker is useful."""
        self._forget(worker)
        if not worker.given:
            return False
        running, *rest = worker.given
        self._turns.give_back(worker.number, rest)
        item = self._session.items[running]
        text = f"Worker {worker.number} ended while it ran this test."
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        self._session.config.hook.pytest_runtest_logreport(report=report)
        return True

    def _forget(self, worker: Worker) -> None:
        del self._workers[worker.messages]
        worker.messages.close()


# --- in a worker ----------------------------------------------------------------------------------


def _work(session: pytest.Session, messages: Connection, number: int, count: int) -> None:
    """Run the assigned tests; suppress the usual output at the end of a run."""
    config: Any = session.config
    name = os.environ["PYTEST_XDIST_WORKER"] = f"gw{number}"
    config.workerinput = {"workerid": name, "workercount": count}
    config.workeroutput = {}
    plugins = config.pluginmanager
    plugins.unregister(plugins.get_plugin("terminalreporter"))
    # Files of the parent, to which all workers would write.
    capture = plugins.get_plugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.option.basetemp = config._tmp_path_factory.getbasetemp() / name
    config._tmp_path_factory = pytest.TempPathFactory.from_config(config, _ispytest=True)
    plugins.register(Teller(config, messages))
    for item, nextitem in _receive_tests(session, messages):
        config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)


def _receive_tests(
    session: pytest.Session, messages: Connection
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the following one, from which pytest knows what to tear down."""
    place = messages.recv()
    while place is not None:
        item, place = session.items[place], messages.recv()
        yield item, None if place is None else session.items[place]


class Teller:
    """Reports the events of this process to the process that waits for the workers."""

    def __init__(self, config: pytest.Config, messages: Connection) -> None:
        self._config = config
        self._messages = messages

    def _send(self, *message: *Message) -> None:
        self._messages.send(message)

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._send("started", {"nodeid": nodeid, "location": location})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        serializable = self._config.hook.pytest_report_to_serializable
        self._send("report", serializable(config=self._config, report=report))

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._send("finished", {"nodeid": nodeid, "location": location})

    def pytest_unconfigure(self, config: Any) -> None:
        self._send("ended", config.workeroutput)
        self._messages.close()
