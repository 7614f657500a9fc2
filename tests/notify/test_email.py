"""E-mail against a real mail server on loopback."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.runtime.outgoing import Targets
from leverframe.core.settings import Email
from leverframe.notify.channel import CannotSend, Message, Trust
from leverframe.notify.channel import write_mail as compose_mail
from leverframe.notify.email import TLS_PORT, Mail
from leverframe.notify.smtp import encode_mail

from .conftest import Certificates
from .email_server import PASSWORD, USER, mail_peer
from .post_office import Bell, PostOffice


@pytest.fixture
def bell() -> Bell:
    return Bell()


@asynccontextmanager
async def mailing(
    bell: Bell, port: int, ca_file: str | None = None, tls_port: int = TLS_PORT
) -> AsyncIterator[PostOffice]:
    office = PostOffice(
        bell=bell, email=Mail("leverframe-1", Trust(ca_file), Targets().channel("email"), tls_port)
    )
    office.set(
        email__host="localhost",
        email__port=port,
        email__recipient="bert@example.org",
        email__sender="cellar@example.org",
        email__subject="Cellar",
    )
    try:
        yield office
    finally:
        await office.outbox.close()


async def test_mail_arrives_with_text_subject_and_addresses(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        office.set(email__subject="Keller: Größe ✓")
        office.notify("31.3 °C im Keller\u2026 🚂")
        (sent,) = await office.until_ended()
    (taken,) = peer.taken
    assert (taken.sender, taken.recipients) == ("cellar@example.org", ["bert@example.org"])
    assert taken.mail["Subject"] == "Keller: Größe ✓"
    assert taken.mail["To"] == "bert@example.org"
    assert taken.mail.get_content().splitlines() == ["31.3 °C im Keller\u2026 🚂"]
    assert not taken.encrypted
    assert sent["answer"] == "taken as 42"
    assert sent["target"] == "bert@example.org"


async def test_starttls_and_login(bell: Bell, certificates: Certificates) -> None:
    async with (
        mail_peer(bell, starttls=certificates.server, login=True) as peer,
        mailing(bell, peer.port, certificates.ca_file) as office,
    ):
        office.set(email__tls=True, email__username=USER, email__password=PASSWORD)
        office.notify("a")
        await office.until_ended()
    (taken,) = peer.taken
    assert (taken.encrypted, taken.signed_in) == (True, True)


async def test_refused_login_waits_and_goes_out_when_it_is_corrected(
    bell: Bell, certificates: Certificates
) -> None:
    async with (
        mail_peer(bell, starttls=certificates.server, login=True) as peer,
        mailing(bell, peer.port, certificates.ca_file) as office,
    ):
        office.set(email__tls=True, email__username=USER, email__password="wr0ng")
        office.notify("a")
        problem = await office.until_problem("refuses the login")
        assert problem == "localhost refuses the login (535); check em3 and em4."
        assert "wr0ng" not in str(office.reports) + str(office.outbox.report())
        office.set(email__password=PASSWORD)
        await office.until_ended()
    assert len(peer.taken) == 1


async def test_without_a_login_that_the_server_wants_the_mail_waits(
    bell: Bell, certificates: Certificates
) -> None:
    async with (
        mail_peer(bell, starttls=certificates.server, login=True) as peer,
        mailing(bell, peer.port, certificates.ca_file) as office,
    ):
        office.set(email__tls=True)
        office.notify("a")
        await office.until_problem("530")
        office.set(email__username=USER, email__password=PASSWORD)
        await office.until_ended()


async def test_untrusted_certificate_is_reported_and_no_password_sent(
    bell: Bell, certificates: Certificates
) -> None:
    async with (
        mail_peer(bell, starttls=certificates.server, login=True) as peer,
        mailing(bell, peer.port) as office,
    ):
        office.set(email__tls=True, email__username=USER, email__password=PASSWORD)
        office.notify("a")
        problem = await office.until_problem("is not trusted")
    assert problem.startswith(f"The certificate of localhost:{peer.port} is not trusted (")
    assert peer.taken == []


async def test_missing_tls_of_the_server_is_reported(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        office.set(email__tls=True)
        office.notify("a")
        await office.until_problem("localhost does not support what the settings require")
    assert peer.taken == []


async def test_tls_from_the_first_byte_on_its_own_port(
    bell: Bell, certificates: Certificates
) -> None:
    async with (
        mail_peer(bell, tls=certificates.server) as peer,
        mailing(bell, peer.port, certificates.ca_file, tls_port=peer.port) as office,
    ):
        office.set(email__tls=True)
        office.notify("a")
        await office.until_ended()
    assert len(peer.taken) == 1


def test_port_of_tls_from_the_first_byte_is_465() -> None:
    assert TLS_PORT == 465


async def test_busy_server_is_tried_again_until_it_takes_the_mail(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        peer.refuse_recipients = ["450 mailbox busy"]
        peer.refuse_mails = ["451 try later", "452 full"]
        office.notify("a")
        (sent,) = await office.until_ended()
    assert (sent["state"], sent["attempts"]) == ("sent", 4)
    assert [words.partition(": ")[2] for words in office.reports[:2]] == [
        "cannot deliver to bert@example.org: localhost does not accept mail for bert@example.org "
        "(450 mailbox busy).",
        "cannot deliver to bert@example.org: localhost answered 451 try later.",
    ]


async def test_old_server_that_knows_only_helo_gets_its_mail(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        peer.refuse_commands["EHLO"] = "502 what?"
        office.notify("a")
        await office.until_ended()
    assert len(peer.taken) == 1


async def test_mail_that_may_not_even_begin_is_given_up(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        peer.refuse_commands["DATA"] = "554 no mail today"
        office.notify("a")
        (failed,) = await office.until_ended()
    assert (failed["problem"], failed["uncertain"]) == (
        "localhost answered 554 no mail today.",
        False,
    )


@pytest.mark.parametrize("utf8", [True, False])
async def test_address_with_other_letters_needs_a_server_that_takes_them(
    bell: Bell, utf8: bool
) -> None:
    async with mail_peer(bell, utf8=utf8) as peer, mailing(bell, peer.port) as office:
        office.set(email__sender="käller@example.org")
        office.notify(".a\n.b")
        if utf8:
            await office.until_ended()
            assert peer.taken[0].sender == "käller@example.org"
            assert peer.taken[0].mail.get_content().split() == [".a", ".b"]
        else:
            await office.until_problem("addresses with non-ASCII characters")


async def test_recipient_that_does_not_exist_is_given_up(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        peer.refuse_recipients = ["550 no such person"]
        office.notify("a")
        (failed,) = await office.until_ended()
    assert failed["problem"] == (
        "localhost does not accept mail for bert@example.org (550 no such person)."
    )


async def test_every_recipient_gets_a_mail_of_its_own(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        office.set(email__recipient="bert@example.org, carla@example.org; ")
        peer.refuse_recipients = ["550 no such person"]
        office.notify("a")
        failed, sent = await office.until_ended(2)
    assert (failed["state"], sent["state"]) == ("failed", "sent")
    assert [taken.recipients for taken in peer.taken] == [["carla@example.org"]]


async def test_dead_server_is_reported_and_the_mail_sent_when_it_is_back(bell: Bell) -> None:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        dead = chosen.getsockname()[1]
        async with mail_peer(bell) as peer, mailing(bell, dead) as office:
            office.notify("a")
            await office.until_problem(f"localhost:{dead} refuses connections")
            office.set(email__port=peer.port)
            await office.until_ended()
    assert len(peer.taken) == 1


async def test_unresolvable_name_is_reported(bell: Bell) -> None:
    async with mailing(bell, 25) as office:
        office.set(email__host="no-such-host.invalid")
        office.notify("a")
        await office.until_problem("The name no-such-host.invalid cannot be resolved")


async def test_missing_setup_names_the_command_that_sets_it(bell: Bell) -> None:
    async with mailing(bell, 25) as office:
        office.set(email__recipient="")
        office.notify("a")
        office.set(email__host="")
        office.notify("b")
    assert [failed["problem"] for failed in office.report("failed")] == [
        "No mail recipient is set; set one with em5=...",
        "No mail server is set; set one with em1=...",
    ]


async def test_edge_without_a_text_sends_nothing(bell: Bell) -> None:
    async with mailing(bell, 25) as office:
        office.notify("")
    assert office.report("waiting") + office.report("failed") == []


async def test_resent_mail_keeps_its_message_id(bell: Bell) -> None:
    async with mail_peer(bell) as peer, mailing(bell, peer.port) as office:
        office.notify("a")
        office.notify("b")
        await office.until_ended(2)
    first, second = (taken.mail["Message-ID"] for taken in peer.taken)
    assert first.startswith("<1.")
    assert second.startswith("<2.")


def write_mail(**settings: str) -> bytes:
    """A mail as it is sent."""
    message = Message(1, "email", 1, True, "rule 1", "bert@example.org", 1e9, content={"text": "x"})
    email = replace(Email(host="h", sender="a@example.org"), **settings)
    return encode_mail(compose_mail(message, email, "leverframe-1"))


@given(st.text(max_size=60))
def test_no_subject_adds_a_header_or_a_line_to_the_text(subject: str) -> None:
    head, _, body = write_mail(subject=subject).partition(b"\r\n\r\n")
    names = [line.partition(b":")[0] for line in head.split(b"\r\n") if line[:1] not in b" \t"]
    assert sorted(names) == sorted(
        [
            *(b"From", b"To", b"Subject", b"Date", b"Message-ID", b"Auto-Submitted"),
            *(b"Content-Type", b"Content-Transfer-Encoding", b"MIME-Version"),
        ]
    )
    assert body == b"x\r\n"


@pytest.mark.parametrize(
    "sender", ["", "anna", "a@b\r\nBcc: c@d", "a@b, c@d", "<a@b>", "a b@c", "a@b@c", "a@[", '"@b']
)
def test_invalid_sender_address_is_reported(sender: str) -> None:
    with pytest.raises(CannotSend, match="is not an e-mail address; set one with em6"):
        write_mail(sender=sender)


@given(st.text(max_size=30) | st.from_regex(r"\A[^@]{1,9}@[^@]{1,9}\Z"))
def test_sender_is_one_address_in_one_header_or_refused(sender: str) -> None:
    try:
        head = write_mail(sender=sender).partition(b"\r\n\r\n")[0]
    except CannotSend:
        return
    assert head.startswith(b"From: ")
    assert head.partition(b"\r\n")[2].startswith(b"To: bert@example.org\r\n")
