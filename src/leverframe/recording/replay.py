"""`leverframe replay`: send a recording to another unit and print the differences."""

from collections import Counter
from pathlib import Path

from leverframe.exchanges.comparison import VARYING, ComparisonRules, Difference, Tolerance
from leverframe.exit_codes import DONE, NO
from leverframe.plain_text import print_line, print_warnings
from leverframe.process.json_lines import print_json
from leverframe.process.progress_bar import progress_bar
from leverframe.recording.replayer import (
    Pace,
    ReplayedExchange,
    Replayer,
    ask_login,
    needs_login,
)
from leverframe.recording.unit_client import unit_client
from leverframe.storage.recording_file import read_recording


async def replay(
    recording: Path,
    against: str,
    exclude: list[str],
    strict: bool,
    tolerance: str,
    pace: Pace,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
) -> int:
    """Replay a recording; return 1 if an answer differs."""
    allowed = Tolerance.of(tolerance)
    exchanges = list(read_recording(recording))
    named = {key.strip().lower() for keys in exclude for key in keys.split(",") if key.strip()}
    rules = ComparisonRules(allowed, frozenset(named | (set() if strict else VARYING)))
    login = ask_login(user)
    report = JsonReport() if as_json else Report()
    async with unit_client(against, ca_file) as client:
        with progress_bar("replaying", len(exchanges)) as advance:
            async for replayed in Replayer(client, rules, pace, login).replay(exchanges):
                report.add(replayed)
                advance(1)
    report.close()
    if login is None and report.differing and needs_login(exchanges):
        print_warnings(["The recorded client was signed in; sign in with --user NAME."])
    return NO if report.differing else DONE


class Report:
    """Reports differences as text: each once, with its count, after all requests."""

    def __init__(self) -> None:
        self.sent = 0
        #: Exchanges with a difference that counts.
        self.differing = 0
        self._not_sent: Counter[str] = Counter()
        self._varying: Counter[str] = Counter()
        self._found: dict[tuple[str, str], tuple[ReplayedExchange, Difference]] = {}
        self._times: Counter[tuple[str, str]] = Counter()

    def add(self, replayed: ReplayedExchange) -> None:
        if replayed.not_sent:
            self._not_sent[replayed.not_sent] += 1
            return
        self.sent += 1
        counted = [difference for difference in replayed.differences if not difference.varies]
        self.differing += bool(counted)
        self._varying.update(
            difference.key for difference in replayed.differences if difference.varies
        )
        for difference in counted:
            place = replayed.exchange.request, difference.key
            self._found.setdefault(place, (replayed, difference))
            self._times[place] += 1

    def close(self) -> None:
        for (request, key), (replayed, difference) in self._found.items():
            times = self._times[request, key]
            often = f" (first of {times})" if times > 1 else ""
            print_line(
                f"{replayed.number}. {request}: {key} was"
                f" {difference.recorded}, is {difference.now}{often}"
            )
        for why, count in self._not_sent.items():
            print_line(f"Not sent: {count}, because {why}.")
        if self._varying:
            print_line(f"Not counted because they always differ: {_list_keys(self._varying)}.")
        print_line(self._summary())

    def _summary(self) -> str:
        if not self.differing:
            return f"All {self.sent} requests got the recorded answers."
        return f"{self.differing} of {self.sent} requests got different answers."


class JsonReport(Report):
    """Reports as JSON Lines: an object for every difference, then the totals."""

    def add(self, replayed: ReplayedExchange) -> None:
        super().add(replayed)
        request = {"number": replayed.number, "request": replayed.exchange.request}
        if replayed.not_sent:
            print_json({"event": "not sent", **request, "why": replayed.not_sent})
        for difference in replayed.differences:
            print_json(
                {
                    "event": "difference",
                    **request,
                    "key": difference.key,
                    "recorded": difference.recorded,
                    "now": difference.now,
                    "counted": not difference.varies,
                }
            )

    def close(self) -> None:
        sums = {"sent": self.sent, "differing": self.differing}
        print_json({"event": "done", **sums, "not_sent": self._not_sent.total()})


def _list_keys(counted: Counter[str]) -> str:
    return ", ".join(sorted(counted))
