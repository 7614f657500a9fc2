"""Controllers of a node that did not start: told with its troubles, and to who asks for them."""

import re
from collections.abc import Callable, MutableMapping
from functools import partial

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet import refusal_pages
from leverframe.fleet.entrance import Entrance
from leverframe.fleet.members import no_such_name
from leverframe.fleet.records import NotRunning, Registry
from leverframe.fleet.tenants import is_seen
from leverframe.servers.http.messages import Reply, Request, problem_reply

#: Before whom a trouble is about that does not start.
NOT_STARTED = "start "
_NUMBER = re.compile(r"\d+")

TOLD_ELSEWHERE = (
    "This controller did not start. `leverframe fleet list` and the page of the node tell its"
    " operator why."
)


class NotStarted:
    def __init__(
        self, troubles: MutableMapping[str, str], registry: Registry | None = None
    ) -> None:
        self._troubles = troubles
        self._registry = registry
        #: The parts of the troubles that are about them, by name; several may be made by one with
        #: `{n}` for the number.
        self._parts: dict[str, str] = {}
        self._names_by_address: dict[str, str] = {}
        #: Names of those that could not be made.
        self._never_made: set[str] = set()
        #: All that are stored are tried again without being asked, where there are other nodes.
        self.is_retried = False
        #: Whether strangers may be told why: it may be about files and ports of the machine.
        self.is_told_to_all: Callable[[], bool] = lambda: True

    def note(self, who: str, sentence: str, name: str = "", address: str | None = None) -> None:
        """Keep a reason why a controller does not start, or those that a file makes together."""
        self._troubles[f"{NOT_STARTED}{who}: {sentence}"] = sentence
        self._expect(who, name, address)

    def note_stored(
        self, number: int, sentence: str, name: str, address: str | None = None
    ) -> None:
        """Keep the reason why a controller that is stored does not start."""
        self._troubles[f"{NOT_STARTED}{number}"] = sentence
        self._expect(str(number), name, address)

    def why_stored(self, number: int) -> str | None:
        """Return why a controller that is stored did not start; None where it did."""
        return self._troubles.get(f"{NOT_STARTED}{number}")

    def forget_stored(self, number: int) -> None:
        """Forget that a controller did not start: it has by now, or was removed."""
        self._troubles.pop(f"{NOT_STARTED}{number}", None)

    def note_never_made(self, name: str, sentence: str, address: str | None) -> None:
        """Keep the reason why one could not be made that a file names."""
        self.forget_never_made(name)
        self._never_made.add(name)
        self.note(f"new {name}", sentence, name, address)

    def forget_never_made(self, name: str) -> None:
        """Forget that a controller could not be made: it is by now."""
        if name in self._never_made:
            self._never_made.remove(name)
            for part in [one for one in self._troubles if one.startswith(_part_of_new(name))]:
                del self._troubles[part]

    def never_made(self) -> list[str]:
        """Return the names of those that a file names and that could not be made."""
        return sorted(self._never_made)

    def leave(self, address: str | None) -> None:
        """Answer no longer for one that did not start at an address which was taken from it."""
        if address is not None:
            self._names_by_address.pop(address, None)

    def can_be_mended(self, tenant: str | None = None) -> dict[str, int]:
        """Return a tenant's that can be placed elsewhere or removed, by name; all for None.

        Where there are other nodes, these may have them by then.
        """
        return {} if self.is_retried else self.stored(tenant)

    def stored(self, tenant: str | None = None) -> dict[str, int]:
        """Return the numbers of a tenant's that are stored, by name; all for None.

        The others were never made.
        """
        records = {} if self._registry is None else self._registry.records
        parts = [part for part in self._troubles if part.startswith(NOT_STARTED)]
        who = [part.removeprefix(NOT_STARTED) for part in parts]
        numbers = [int(one) for one in who if one.isdecimal()]
        found = [(records[number], number) for number in numbers if number in records]
        return {one.name: number for one, number in found if is_seen(tenant, one.tenant)}

    def sentences_of(self, tenant: str | None) -> dict[int, str]:
        """Return by number that stored controllers of a tenant did not start; all for None."""
        sentences = {
            number: self.sentence(name, with_cause=tenant is None)
            for name, number in self.stored(tenant).items()
        }
        return {number: sentence for number, sentence in sentences.items() if sentence is not None}

    def refusal_of(self, name: str, tenant: str | None) -> Refusal:
        """Return what is said of a name that no controller has which runs."""
        sentence = self.sentence(name, with_cause=tenant is None)
        if sentence is None or (tenant is not None and name not in self.stored(tenant)):
            return no_such_name(name)
        return NotRunning(sentence)

    def _expect(self, who: str, name: str, address: str | None) -> None:
        if name:
            self._parts[name] = f"{NOT_STARTED}{who}"
        if address is not None:
            self._names_by_address[address] = name

    def sentences(self) -> list[str]:
        """Return for each that did not start why, with all reasons that it has."""
        return list(self._reasons().values())

    def _reasons(self) -> dict[str, str]:
        reasons: dict[str, list[str]] = {}
        for part, sentence in sorted(self._troubles.items()):
            if part.startswith(NOT_STARTED):
                reasons.setdefault(part.partition(": ")[0], []).append(sentence)
        return {part: " ".join(sentences) for part, sentences in reasons.items()}

    def _why(self, name: str) -> str | None:
        parts = [self._parts.get(one) for one in (name, *_as_written(name))]
        reasons = self._reasons() if any(parts) else {}
        return next((reasons[part] for part in parts if part in reasons), None)

    def knows(self, name: str) -> bool:
        """Return whether a controller of this name did not start."""
        return self._why(name) is not None

    def refusal(self, request: Request, name: str, link: str | None) -> Reply | None:
        """Refuse what is asked of one that did not start; None where there is no such one."""
        is_told = self.is_told_to_all()
        detail = self.sentence(name, with_cause=is_told)
        if detail is None:
            return None
        reply = problem_reply(NotRunning.status, detail)
        cause = (self._why(name) or "") if is_told else ""
        return refusal_pages.for_people(request, reply, refusal_pages.NOT_STARTED, link, cause)

    def sentence(self, name: str, *, with_cause: bool) -> str | None:
        """Return that a controller did not start; None where there is no such one.

        The cause names files and ports of the machine.
        """
        why = self._why(name)
        if why is None:
            return None
        if not with_cause:
            return TOLD_ELSEWHERE
        is_stored = self._parts.get(name, "").removeprefix(NOT_STARTED).isdecimal()
        if is_stored and self.is_retried:
            return f"This controller did not start. {why} It is tried again every few seconds."
        if is_stored or name in self._never_made:
            return (
                f"This controller did not start. {why} `leverframe fleet start {name}` tries it"
                " again."
            )
        return f"This controller did not start. {why} It is tried again when the node is started."

    def at_address(self, address: str) -> Entrance | None:
        """Return who answers for one that did not start at an address of its own."""
        name = self._names_by_address.get(address)
        if name is None or self._why(name) is None:
            return None
        refuse = partial(self._refuse, name=name)
        return Entrance(name, refuse, refuse)

    def _refuse(self, request: Request, name: str) -> Reply:
        # It was there when the client connected.
        return self.refusal(request, name, None) or problem_reply(503, TOLD_ELSEWHERE)


def _part_of_new(name: str) -> str:
    return f"{NOT_STARTED}new {name}: "


def _as_written(name: str) -> list[str]:
    """Return how a table may be named that makes this controller among others."""
    return [
        f"{name[: found.start()]}{{n}}{name[found.end() :]}" for found in _NUMBER.finditer(name)
    ]
