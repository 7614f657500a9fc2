"""How the process sends messages, and the outbox with the channels that need only the network.

Channels that need more, such as a modem or a connection that is kept, add themselves to it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from leverframe.clock import Clock, VirtualClock
from leverframe.engine.settings import Settings
from leverframe.notify.email import Mail
from leverframe.notify.http_call import HttpCalls
from leverframe.notify.outbox import MessageStore, Outbox
from leverframe.notify.trust import Trust


@dataclass(frozen=True, slots=True)
class Sending:
    """How the process sends messages."""

    #: Keep messages instead of sending them; None does so on virtual time, where tests run.
    capture: bool | None = None
    #: HTTP1-HTTP4 may request this machine, link-local addresses and metadata services.
    allow_local_targets: bool = False
    #: Further certificate authorities to trust, a PEM file.
    ca_file: str | None = None
    #: What the automatic firmware check asks.
    firmware_check_url: str | None = None


def network_outbox(
    store: MessageStore,
    clock: Clock,
    settings: Callable[[], Settings],
    name: str,
    sending: Sending,
    *,
    tell: Callable[[str, str], None],
    troubles: dict[str, str],
) -> Outbox:
    """An outbox that has not been started yet."""
    capture = isinstance(clock, VirtualClock) if sending.capture is None else sending.capture
    outbox = Outbox(store, clock, settings, capture=capture, tell=tell, troubles=troubles)
    trust = Trust(sending.ca_file)
    for slot in range(1, 5):
        outbox.add(f"http{slot}", HttpCalls(slot, trust, allow_local=sending.allow_local_targets))
    outbox.add("email", Mail(name, trust))
    return outbox
