"""The page of reading codes: what may stand in the texts of messages and on the display."""

from leverframe.engine.labels import DIGITAL
from leverframe.engine.texts import ABSENT, CODED, MAX_SMS_LETTERS
from leverframe.reference.markdown import code, table

_TEXT = f"""\
# Reading codes

A code in a text stands for the value of a reading or state at the moment the message is made, or
the display is drawn: `%0141` is T1 with one decimal, such as `26.3`.

| where | marker | behind it |
| --- | --- | --- |
| addresses and bodies of HTTP1 to HTTP4 | `%`, or `%%` after `httpdouble=1` | number, decimals |
| texts of e-mail and SMS (HW 3.5+ SW 1.40+) | `%` | number, decimals |
| lines of the display | `!` | number, decimals, least width |

- The number has three digits on HW 3.5+ from SW 1.49 on (`%0141`), and two before and on HW 3.0
  (`%141`). It is the same number.
- Decimals are one digit, 0 to 9. A state is 0 or 1, whatever it says.
- The least width is one digit: a shorter value gets spaces in front, so that columns stay in place.
- A value that is absent is shown as `{ABSENT}`.
- What is no code, or has a number that is not in the table, stays as it is. With two digits
  `%201` is a code; where `%20` shall be a space in an address, use `httpdouble=1`.
- In a command a percent sign is written `%25`: `http1=example.org/in?t=%250141`.
- A text longer than {MAX_SMS_LETTERS} letters with its values in place is cut there for SMS.

"""


def text_codes_page() -> str:
    rows = [
        (f"{number:02}", code(label), "0 or 1" if label in DIGITAL else "number")
        for number, label in enumerate(CODED)
    ]
    return _TEXT + table(("number", "stands for", "shown as"), rows)
