"""Shares of `/api/stream`: every change is sent to every stream, so their number is limited.

A stream costs the event loop 0.1 to 0.3 ms for each change. An account has a share of the streams,
and so has an address, a larger one: behind a reverse proxy all clients have the same.
"""

import logging

from leverframe.commands.table.rights import Account
from leverframe.log_throttle import LogThrottle
from leverframe.servers.fair_shares import FairShares, source_of
from leverframe.servers.problems import TooManyStreams

MAX_STREAMS = 128
#: One account alone gets a third of the streams, one address three fifths.
PER_FREE_BY_ACCOUNT = 0.5
PER_FREE_BY_ADDRESS = 1.5


class StreamShares:
    def __init__(self) -> None:
        self.refused = 0
        self._addresses = FairShares(MAX_STREAMS, PER_FREE_BY_ADDRESS)
        self._accounts = FairShares(MAX_STREAMS, PER_FREE_BY_ACCOUNT)
        self._warn = LogThrottle(logging.getLogger(__name__)).warning

    @property
    def used(self) -> int:
        return self._addresses.used

    def share_of(self, account: Account, peer: str) -> "StreamShare":
        """Return the share of one more stream; refuse it where there is no room for it."""
        share = StreamShare(self._addresses, self._accounts, source_of(peer), account)
        if not share.has_room():
            self.refused += 1
            who = f"{account.name} at {peer}" if account.path else peer
            self._warn(who, "stream", "refused a stream to %s: it has too many open", who)
            raise TooManyStreams
        return share


class StreamShare:
    """The place of one stream, from its first message to its end."""

    def __init__(
        self, addresses: FairShares, accounts: FairShares, source: str, account: Account
    ) -> None:
        self._holders = [(addresses, source)]
        # Without sign-in, all clients are the same account.
        if account.path:
            self._holders.append((accounts, account.name))

    def has_room(self) -> bool:
        return all(shares.has_room(holder) for shares, holder in self._holders)

    def take(self) -> bool:
        """Take the place, which may be gone: several are opened before the first one begins."""
        return self.has_room() and all(shares.take(holder) for shares, holder in self._holders)

    def give_back(self) -> None:
        for shares, holder in self._holders:
            shares.give_back(holder)
