"""What the history keeps beside readings and states: causes, rules, and messages.

They are recorded as series of their own, under labels that nothing else has. A series holds what
was recorded last, so a change of an output and its cause are found at the same moment.
"""

from leverframe.engine.effects import Notify
from leverframe.engine.journal import Cause
from leverframe.engine.labels import EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.engine.settings import MAX_RULES

#: What explains a value: who switched, or what was sent.
Reason = Cause | Notify

#: Label of what is switched -> the series of who switched it.
CAUSE_TRACES = {label: f"{label}.cause" for label in (*OUTPUTS, *PWMS, *EVENT_VARIABLES)}
#: By the place of a rule: 1 while it is met, else 0.
RULE_TRACES = tuple(f"rule.{number}" for number in range(1, MAX_RULES + 1))
#: In the series of a rule: what stood at this place before was another rule.
ANOTHER_RULE = -1
#: Each message that was asked for.
MESSAGE_TRACE = "messages"
#: The series of reasons; the others hold values.
REASONS = frozenset({*CAUSE_TRACES.values(), MESSAGE_TRACE})
TRACES = REASONS | {*RULE_TRACES}
