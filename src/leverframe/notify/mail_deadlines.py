"""How long a mail server may take, phase by phase."""

from msgspec import Struct


class MailDeadlines(Struct, frozen=True):
    """The deadlines of RFC 5321, 4.5.3.2; it says nothing of connecting and leaving."""

    connect_s: float = 10.0
    greeting_s: float = 300.0
    #: EHLO, STARTTLS, each step of the login, MAIL, RCPT.
    command_s: float = 300.0
    data_s: float = 120.0
    #: From the text, which is shorter than one block of the RFC's, to the answer to its final dot.
    end_s: float = 600.0
    quit_s: float = 5.0
