"""The page of reading codes, for texts of messages and lines of the display."""

from docs._ext.markdown import code, table
from leverframe.core.engine.texts import ABSENT, CODED, MAX_SMS_LETTERS
from leverframe.core.labels import DIGITAL

_TEXT = f"""\
# Reading codes

A code in a text is replaced by the value of a reading or state when the message is created or the
display is drawn: `%0141` is T1 with one decimal, such as `26.3`.

| where | marker | followed by |
| --- | --- | --- |
| addresses and bodies of HTTP1 to HTTP4 | `%`, or `%%` after `httpdouble=1` | number, decimals |
| texts of e-mail and SMS (HW 3.5+ SW 1.40+) | `%` | number, decimals |
| lines of the display | `!` | number, decimals, minimum width |

- The number has three digits on HW 3.5+ from SW 1.49 on (`%0141`), and two digits before that and
  on HW 3.0 (`%141`).
- Decimals are one digit, 0 to 9. A state is 0 or 1; the digit has no effect.
- The minimum width is one digit: shorter values are padded with spaces on the left, so that columns
  align.
- An absent value is shown as `{ABSENT}`.
- Text that is not a code, or whose number is not in the table, is not changed. With two digits
  `%201` is a code; to write `%20` for a space in an address, use `httpdouble=1`.
- In a command, write a percent sign as `%25`: `http1=example.org/in?t=%250141`.
- An SMS is cut after {MAX_SMS_LETTERS} characters, counted with its values.

"""


def text_codes_page() -> str:
    rows = [
        (f"{number:02}", code(label), "0 or 1" if label in DIGITAL else "number")
        for number, label in enumerate(CODED)
    ]
    return _TEXT + table(("number", "stands for", "shown as"), rows)
