"""The connection layer has to behave the same on both event loops: its tests run on each."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

LoopFactories = dict[str, Callable[[], asyncio.AbstractEventLoop]]

ON_BOTH_LOOPS = {"test_http.py", "test_http_refusals.py", "test_http_slow_clients.py"}


def pytest_asyncio_loop_factories(item: pytest.Item) -> LoopFactories:
    factories: LoopFactories = {"asyncio": asyncio.new_event_loop}
    if item.path.name in ON_BOTH_LOOPS:
        factories["uvloop"] = uvloop.new_event_loop
    return factories
