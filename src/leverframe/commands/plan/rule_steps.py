"""The requests that write, enable, name and delete one rule, tracked as a plan takes them.

A real unit gets one command in each request: some depend on several event entries in one.
Leverframe carries out all commands of a request or none, so a rule changes there without ever being
off.

`RuleWriter` also keeps account of what a unit does not show of its rules: a rule is written whole,
so that a value which no one has read is overwritten, and a deletion removes it.
"""

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import asdict, replace

from leverframe.commands.plan.plan_builder import PlanBuilder
from leverframe.commands.plan.written import PlannedRequest
from leverframe.commands.table.params import encode_text, has_field
from leverframe.commands.table.rules import EVENT_ROW, SETTINGS, event_query
from leverframe.commands.version_change.limits import missing_of_rule
from leverframe.engine.actions import MODBUS_WRITES, PULSES
from leverframe.engine.settings import Rule, number_rules, rule_numbered

_RULE_PATH = "/inpa.cgi"
#: Ours alone.
_OWN_ACTIONS = frozenset((*MODBUS_WRITES, *PULSES))


def event_fields(rule: Rule | None) -> Rule | None:
    """Return the part of a rule that `event` sets."""
    return rule and replace(rule, enabled=False, permanent=False, name="")


def effect_of(rule: Rule) -> Rule:
    """Return what a rule does, at whatever place it and the rule stand that it depends on."""
    return replace(rule, enabled=False, depends=0, name="")


class RuleWriter:
    """Takes the requests for single rules into a plan."""

    def __init__(self, making: PlanBuilder, *, with_own: bool) -> None:
        self._making = making
        self.with_own = with_own
        #: Of every place, the place where its unread values stood before the plan; None if it has
        #: none.
        self._origin: list[int | None] = list(range(len(self.rules)))

    @property
    def rules(self) -> tuple[Rule | None, ...]:
        """Return the rules as the steps so far leave them."""
        return tuple(self._making.now.rules)

    def live(self) -> Counter[Rule]:
        """Count the enabled rules by what they do."""
        return Counter(effect_of(rule) for _, rule in number_rules(self.rules) if rule.enabled)

    def can_say(self, rule: Rule) -> bool:
        """Return whether the unit has a command that sets this rule."""
        if rule.action in _OWN_ACTIONS and not self.with_own:
            return False
        return not missing_of_rule(rule, self._making.profile)

    def differs(self, place: int, aim: Rule) -> bool:
        """Return whether a place needs a request to hold this rule."""
        return bool(self._items(place, aim, rewrite=False))

    def write(self, place: int, aim: Rule) -> None:
        """Make a place hold a rule: disabled, written and enabled in adjacent steps."""
        self._send(self._items(place, aim, rewrite=False), place)

    def insert(self, place: int, aim: Rule, to: int) -> None:
        """Write a rule at one place and move it to another, in one request of Leverframe."""
        self._send([*self._items(place, aim, rewrite=True), f"rulemove={place}*{to}"], place)
        self._origin.insert(to, self._origin.pop(place))

    def move(self, place: int, to: int) -> None:
        self._send([f"rulemove={place}*{to}"], place)
        self._origin.insert(to, self._origin.pop(place))

    def delete(self, place: int) -> None:
        """Delete a rule; the later ones move down by one."""
        rule = rule_numbered(self.rules, place + 1)
        assert rule is not None
        if rule.enabled and not self.with_own:
            self._send([f"eventon={place}*0"], place)
        origin = self._origin.pop(place) if place < len(self._origin) else None
        removed = [path for path in self._making.unshown_of_rules() if _is_of(path, origin)]
        self._making.take(_request(f"eventdel={place}"), sets=(), removed=removed)

    def _items(self, place: int, aim: Rule, *, rewrite: bool) -> list[str]:
        """List the commands that make a place hold a rule, in the order in which they are sent."""
        present = rule_numbered(self.rules, place + 1)
        base = present or Rule()
        unknown = self._unknown(place, aim)
        rewrite = rewrite or event_fields(present) != event_fields(aim) or bool(unknown & _WRITTEN)
        may_be_on = base.enabled or "enabled" in unknown
        is_off_first = may_be_on and (not aim.enabled or (rewrite and not self.with_own))
        items = [f"eventon={place}*0"] if is_off_first else []
        if rewrite:
            query = event_query(place, aim, self._making.profile)
            assert query is not None
            items.append(query)
        if self.with_own and self._needs_name(place, base, aim, unknown):
            items.append(f"rulename={place}*{encode_text(aim.name)}")
        if base.permanent != aim.permanent or "permanent" in unknown:
            items.append(f"eventper={place}*{int(aim.permanent)}")
        if aim.enabled and (is_off_first or not base.enabled or "enabled" in unknown):
            items.append(f"eventon={place}*1")
        return items

    def _unknown(self, place: int, aim: Rule) -> set[str]:
        """Return the wanted parts of a rule that were not read, to be sent in any case."""
        wanted = rule_numbered(self._making.wanted.rules, place + 1)
        return {
            name
            for name, value in asdict(aim).items()
            if f"rules.{place}.{name}" in self._making.unknown
            and wanted is not None
            and getattr(wanted, name) == value
        }

    def _needs_name(self, place: int, base: Rule, aim: Rule, unknown: set[str]) -> bool:
        """Return whether to send the name; one that was not read and is not wanted stays."""
        is_wanted = base.name != aim.name and f"rules.{place}.name" not in self._making.hidden
        return is_wanted or "name" in unknown

    def _send(self, items: list[str], place: int) -> None:
        requests = ["&".join(items)] if self.with_own else items
        for query in requests:
            self._making.take(_request(query), sets=tuple(self._set_by(query)))
            if query.startswith("event="):
                self._mark_as_known(place)

    def _mark_as_known(self, place: int) -> None:
        self._origin += [None] * (place + 1 - len(self._origin))
        self._origin[place] = None

    def _set_by(self, query: str) -> Iterator[str]:
        """Yield the settings that a request sets."""
        for item in query.split("&"):
            command, _, fields = item.partition("=")
            place = fields.partition("*")[0]
            names: tuple[str, ...] = _SET_BY.get(command, ())
            if command == "event":
                params = EVENT_ROW.params
                has = (x for x in SETTINGS if has_field(params[x], self._making.profile))
                names = tuple(SETTINGS[letter] for letter in has)
            yield from (f"rules.{place}.{name}" for name in names)


_WRITTEN = frozenset(SETTINGS.values())
#: The settings of a rule that commands other than `event` set.
_SET_BY = {"eventon": ("enabled",), "eventper": ("permanent",), "rulename": ("name",)}


def _request(query: str) -> PlannedRequest:
    return PlannedRequest("GET", f"{_RULE_PATH}?{query}")


def _is_of(path: str, place: int | None) -> bool:
    return place is not None and path.startswith(f"rules.{place}.")
