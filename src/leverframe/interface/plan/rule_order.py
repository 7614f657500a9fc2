"""The order of changes to rules, in which no rule is off because another rule changes.

A rule that is enabled before and after the plan stays enabled all the time, even if it moves to
another place: the copy at the new place is enabled before the rule at the old place is overwritten
or deleted. Leverframe moves a rule in one step. On a real unit the rule is written again. If other
rules must make room, they are moved one by one, the last rule first. If rules exchange places in a
cycle, one of them gets a temporary copy after the last rule. Only if all places are in use must a
rule of such a cycle be off until it is written at its new place.

A surplus rule is deleted if the other rules are then at their places. To empty a place between
rules, a gap is created after the last rule. The rules after the place are written behind the gap,
and their old copies are deleted, which moves the gap down. A rule that the version cannot represent
is not written. If there is no rule at its place yet, a disabled rule is written there, so that the
following rules have the right numbers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict, replace

from leverframe.core.engine.calls import MODBUS_WRITES, PULSES
from leverframe.core.engine.live_rule import dependence
from leverframe.core.engine.rules import rules_without
from leverframe.core.settings import MAX_RULES, Rule, RulePlaces, number_rules, rule_numbered
from leverframe.interface.plan.plan_builder import PlanBuilder, PlannedRequest
from leverframe.interface.table.params import encode_text, has_field
from leverframe.interface.table.rules import EVENT_ROW, SETTINGS, event_query
from leverframe.interface.version_change.limits import missing_of_rule

# The requests that write, enable, name and delete a single rule, tracked as a plan adds them.
#
# A real unit gets one command per request, because some units depend on several event entries in
# one request. Leverframe performs all commands of a request or none, so there a rule can change
# without being off in between.
#
# `RuleWriter` also tracks the parts of rules that a unit does not show, because writing a rule
# overwrites its unread values, and deleting removes them.

_RULE_PATH = "/inpa.cgi"
#: Actions that only Leverframe has.
_OWN_ACTIONS = frozenset((*MODBUS_WRITES, *PULSES))


def event_fields(rule: Rule | None) -> Rule | None:
    """Return a rule with only the settings that `event` sets."""
    return rule and replace(rule, enabled=False, permanent=False, name="")


def effect_of(rule: Rule) -> Rule:
    """Return the effect of a rule regardless of its place and that of the rule it depends on."""
    return replace(rule, enabled=False, depends=0, name="")


class RuleWriter:
    """Adds the requests for single rules to a plan."""

    def __init__(self, making: PlanBuilder, *, with_own: bool) -> None:
        self._making = making
        self.with_own = with_own
        #: For every place: the original place of its unread values; None if it has none.
        self._origin: list[int | None] = list(range(len(self.rules)))

    @property
    def rules(self) -> tuple[Rule | None, ...]:
        """Return the rules after the steps so far."""
        return tuple(self._making.now.rules)

    def live(self) -> Counter[Rule]:
        """Count the enabled rules by effect."""
        return Counter(effect_of(rule) for _, rule in number_rules(self.rules) if rule.enabled)

    def can_say(self, rule: Rule) -> bool:
        """Return whether the unit has a command that sets this rule."""
        if rule.action in _OWN_ACTIONS and not self.with_own:
            return False
        return not missing_of_rule(rule, self._making.profile)

    def differs(self, place: int, aim: Rule) -> bool:
        """Return whether a request is needed to set this rule at a place."""
        return bool(self._items(place, aim, rewrite=False))

    def write(self, place: int, aim: Rule) -> None:
        """Set the rule at a place: disable, write and enable it in adjacent steps."""
        self._send(self._items(place, aim, rewrite=False), place)

    def insert(self, place: int, aim: Rule, to: int) -> None:
        """Write a rule at one place and move it to another, in one request of Leverframe."""
        self._send([*self._items(place, aim, rewrite=True), f"rulemove={place}*{to}"], place)
        self._origin.insert(to, self._origin.pop(place))

    def move(self, place: int, to: int) -> None:
        self._send([f"rulemove={place}*{to}"], place)
        self._origin.insert(to, self._origin.pop(place))

    def delete(self, place: int) -> None:
        """Delete a rule; later rules move down by one."""
        rule = rule_numbered(self.rules, place + 1)
        assert rule is not None
        if rule.enabled and not self.with_own:
            self._send([f"eventon={place}*0"], place)
        origin = self._origin.pop(place) if place < len(self._origin) else None
        removed = [path for path in self._making.unshown_of_rules() if _is_of(path, origin)]
        self._making.take(_request(f"eventdel={place}"), sets=(), removed=removed)

    def _items(self, place: int, aim: Rule, *, rewrite: bool) -> list[str]:
        """List the commands that set the rule at a place, in the order in which they are sent."""
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
        """Return the desired settings of a rule that were not read and must always be sent."""
        wanted = rule_numbered(self._making.wanted.rules, place + 1)
        return {
            name
            for name, value in asdict(aim).items()
            if f"rules.{place}.{name}" in self._making.unknown
            and wanted is not None
            and getattr(wanted, name) == value
        }

    def _needs_name(self, place: int, base: Rule, aim: Rule, unknown: set[str]) -> bool:
        """Return whether to send the name; an unread name is changed only if a name is desired."""
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


def set_rules(making: PlanBuilder, *, with_own: bool) -> None:
    """Delete, move, write and enable rules until all rules are as desired."""
    order = _RuleOrder(making.wanted.rules, RuleWriter(making, with_own=with_own))
    order.delete_surplus()
    order.keep_what_cannot_be_said()
    order.empty_places()
    if with_own and order.is_dense:
        order.move_to_places()
    order.write_places()
    order.delete_copies()
    # A deletion can clear dependences of other rules, so write these rules again.
    order.write_places()


class _RuleOrder:
    def __init__(self, wanted: RulePlaces, writer: RuleWriter) -> None:
        self._aims = [*wanted]
        self._writer = writer
        enabled = Counter(effect_of(rule) for _, rule in number_rules(wanted) if rule.enabled)
        #: The number of rules with an effect that must be on all the time.
        self._needed = enabled & writer.live()

    @property
    def _rules(self) -> tuple[Rule | None, ...]:
        return self._writer.rules

    @property
    def is_dense(self) -> bool:
        """Return whether neither the current nor the desired rules have an empty place."""
        return None not in self._rules and None not in self._aims

    def _can_lose(self, place: int) -> bool:
        """Return whether all required effects remain without the rule at a place."""
        rule = rule_numbered(self._rules, place + 1)
        if rule is None or not rule.enabled:
            return True
        effect = effect_of(rule)
        return self._writer.live()[effect] > self._needed[effect]

    def _places(self, first: int = 0, end: int = MAX_RULES) -> list[int]:
        """List the places with a rule, the last place first."""
        found = (number - 1 for number, _ in number_rules(self._rules))
        return [place for place in found if first <= place < end][::-1]

    # --- removed rules ----------------------------------------------------------------------------

    def delete_surplus(self) -> None:
        """Delete surplus rules one by one, so that as many others as possible stay in place."""
        while len(self._rules) > len(self._aims):
            kept = {
                place: self._in_place_without(place)
                for place in self._places()
                if self._can_lose(place)
            }
            if not kept:
                return
            self._writer.delete(max(kept, key=lambda place: (kept[place], place)))

    def _in_place_without(self, place: int) -> int:
        left = rules_without(self._rules, place)
        return sum(
            aim is not None and event_fields(rule) == event_fields(aim)
            for rule, aim in zip(left, self._aims, strict=False)
        )

    def keep_what_cannot_be_said(self) -> None:
        """Keep current rules at places where the version cannot represent the desired ones."""
        for place, aim in enumerate(self._aims):
            if aim is not None and not self._writer.can_say(aim):
                self._aims[place] = rule_numbered(self._rules, place + 1) or Rule()

    # --- places that are to be empty --------------------------------------------------------------

    def empty_places(self) -> None:
        """Move the rules that follow the first place to be emptied, so that a gap precedes them."""
        first = min((p for p in self._places() if self._is_to_be_empty(p)), default=None)
        if first is None:
            return
        for place in self._places(first):
            if self._can_lose(place):
                self._writer.delete(place)
        tail = self._aims[first:]
        lead = next((index for index, aim in enumerate(tail) if aim is not None), len(tail))
        self._close_gaps(first, lead)
        end = len(self._rules)
        for index, aim in enumerate(tail):
            if aim is None:
                continue
            while first + len(self._places(first, end)) + index >= MAX_RULES:
                # There is no place left for a copy.
                end = self._delete_old(self._places(first, end)[0], end)
            count = len(self._places(first, end))
            self._writer.write(first + count + index, _depending(aim, first, count))
            for place in self._places(first, end):
                if self._can_lose(place):
                    end = self._delete_old(place, end)
        for place in self._places(first, end):
            self._copy(place, ())
            end = self._delete_old(place, end)

    def _is_to_be_empty(self, place: int) -> bool:
        return place < len(self._aims) and self._aims[place] is None

    def _delete_old(self, place: int, end: int) -> int:
        self._writer.delete(place)
        return end - 1

    def _close_gaps(self, first: int, most: int) -> None:
        """Fill and delete empty places until at most `most` are left."""
        while True:
            gaps = [p for p in range(first, len(self._rules)) if self._rules[p] is None]
            if len(gaps) <= most:
                return
            self._writer.write(gaps[-1], Rule())
            self._writer.delete(gaps[-1])

    # --- new rules --------------------------------------------------------------------------------

    def move_to_places(self) -> None:
        """Move rules to their desired places, and make room for new ones."""
        for place, aim in enumerate(self._aims):
            assert aim is not None
            behind = self._rules[place:]
            if not behind:
                return
            effects = [effect_of(rule) for rule in behind if rule is not None]
            if effects[0] == effect_of(aim):
                continue
            if effect_of(aim) in effects:
                self._writer.move(place + self._nearest(place, effects, effect_of(aim)), place)
                continue
            left = Counter(effects) - Counter(_effects(self._aims[place:]))
            if effects[0] in left:
                continue
            unneeded = [index for index, effect in enumerate(effects) if effect in left]
            is_full = len(self._rules) >= len(self._aims)
            source = place + unneeded[-1] if is_full and unneeded else len(self._rules)
            if source < MAX_RULES:
                self._writer.insert(source, aim, place)

    def _nearest(self, place: int, effects: list[Rule], effect: Rule) -> int:
        """Return which of several equal rules to move: the first that is not yet at its place."""
        found = [index for index, one in enumerate(effects) if one == effect]
        aims = [*_effects(self._aims[place:])]
        astray = (index for index in found if index >= len(aims) or aims[index] != effect)
        return next(astray, found[0])

    def write_places(self) -> None:
        """Write differing rules; overwrite a rule that must stay on only when its copy is on."""
        written: set[int] = set()
        copied: set[int] = set()
        while waiting := {p: aim for p, aim in self._waiting() if p not in written}:
            blocked = [p for p, aim in waiting.items() if not self._can_write(p, aim)]
            held = {effect_of(rule) for p in blocked if (rule := self._rules[p])}
            ready = [p for p in waiting if p not in blocked]
            place = next((p for p in ready if effect_of(waiting[p]) in held), None)
            if place is None and blocked and blocked[0] not in copied:
                self.delete_copies()
                self._copy(blocked[0], ready)
                copied.add(blocked[0])
                continue
            place = next(iter([*ready, *blocked])) if place is None else place
            self._writer.write(place, waiting[place])
            written.add(place)

    def _can_write(self, place: int, aim: Rule) -> bool:
        """Return whether writing a place loses no effect, or writes the same rule again."""
        rule = rule_numbered(self._rules, place + 1)
        return self._can_lose(place) or (rule is not None and effect_of(rule) == effect_of(aim))

    def _copy(self, place: int, free: Sequence[int]) -> None:
        """Write a copy of a rule after the last rule, or else at a place that is written later."""
        rule, end = self._rules[place], max(len(self._rules), len(self._aims))
        spare = [end] if end < MAX_RULES else free
        if rule is not None and spare:
            self._writer.write(spare[0], rule)

    def _waiting(self) -> Iterator[tuple[int, Rule]]:
        for place, aim in enumerate(self._aims):
            if aim is not None and self._writer.differs(place, aim):
                yield place, aim

    def delete_copies(self) -> None:
        """Delete surplus rules after the desired ones, the last rule first."""
        for place in self._places(len(self._aims)):
            if self._can_lose(place):
                self._writer.delete(place)


def _effects(rules: RulePlaces) -> Iterator[Rule]:
    return (effect_of(rule) for rule in rules if rule is not None)


def _depending(rule: Rule, first: int, count: int) -> Rule:
    """Adapt the dependence of a rule to the deletion of `count` rules from `first` on."""
    number, _ = dependence(rule)
    follows = first < number <= MAX_RULES - count
    return replace(rule, depends=rule.depends + count) if follows else rule
