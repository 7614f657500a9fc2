"""A real mail server that is slow, phase by phase: each has its deadline, and no other message
waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from leverframe.core.runtime.outgoing import Targets
from leverframe.notify.channel import MailDeadlines, Trust
from leverframe.notify.email import LIMITS, Mail
from leverframe.storage.store import MemoryStore
from tests.devices.waiting import until

from .conftest import Certificates
from .email_server import PASSWORD, USER, Hold, MailPeer, mail_peer
from .post_office import Bell, PostOffice, ScriptedChannel

#: In which phase each deadline counts, and what is said when it has passed.
PHASES = [
    ("greeting", "greeting_s", "sent no greeting within"),
    ("EHLO", "command_s", "did not answer EHLO within"),
    ("STARTTLS", "command_s", "did not answer STARTTLS within"),
    ("AUTH", "command_s", "did not answer AUTH within"),
    ("MAIL", "command_s", "did not answer MAIL within"),
    ("RCPT", "command_s", "did not answer RCPT within"),
    ("DATA", "data_s", "did not answer DATA within"),
    ("end", "end_s", "did not confirm this within"),
]
SHORT_S = 0.5


@pytest.fixture
def bell() -> Bell:
    return Bell()


@asynccontextmanager
async def slow_office(
    bell: Bell,
    certificates: Certificates,
    deadlines: MailDeadlines | None = None,
    patience_s: float = 0.05,
    store: MemoryStore | None = None,
    name: str = "leverframe-1",
    peer: MailPeer | None = None,
    first_pause_s: float = 0.001,
) -> AsyncIterator[tuple[MailPeer, PostOffice]]:
    async with mail_peer(bell, starttls=certificates.server, login=True) as made:
        peer = peer or made
        channel = Mail(
            name,
            Trust(certificates.ca_file),
            Targets().channel("email"),
            limits=replace(LIMITS, patience_s=patience_s),
            deadlines=deadlines or MailDeadlines(),
        )
        office = PostOffice(
            bell=bell,
            store=store,
            first_pause_s=first_pause_s,
            email=channel,
            sms=ScriptedChannel(bell),
        )
        office.set(
            email__host="localhost",
            email__port=peer.port,
            email__recipient="bert@example.org",
            email__sender="cellar@example.org",
            email__tls=True,
            email__username=USER,
            email__password=PASSWORD,
        )
        try:
            yield peer, office
        finally:
            for hold in peer.holds.values():
                hold.release.set()
            await office.outbox.close()


def test_deadlines_are_those_of_rfc_5321() -> None:
    rfc = MailDeadlines()
    assert (rfc.greeting_s, rfc.command_s, rfc.data_s, rfc.end_s) == (300, 300, 120, 600)
    # The whole attempt may use up every phase.
    assert LIMITS.timeout_s > rfc.greeting_s + 8 * rfc.command_s + rfc.data_s + rfc.end_s


@pytest.mark.parametrize(("phase", "deadline", "words"), PHASES)
async def test_each_phase_has_its_deadline_and_its_sentence(
    bell: Bell, certificates: Certificates, phase: str, deadline: str, words: str
) -> None:
    deadlines = replace(MailDeadlines(), **{deadline: SHORT_S})
    async with slow_office(bell, certificates, deadlines) as (peer, office):
        peer.holds[phase] = Hold()
        office.notify("a")
        problem = await office.until_problem(words)
        assert f"{words} 0.5s" in problem
        assert f"localhost:{peer.port}" in problem
        (sent,) = await office.until_ended()
    assert sent["state"] == "sent"
    assert sent["attempts"] >= 2


@pytest.mark.parametrize("phase", [phase for phase, _, _ in PHASES])
async def test_slow_phase_costs_neither_the_mail_nor_others(
    bell: Bell, certificates: Certificates, phase: str
) -> None:
    async with slow_office(bell, certificates) as (peer, office):
        peer.holds[phase] = Hold()
        office.notify("slow")
        await office.until(lambda: peer.holds[phase].reached == 1)
        office.notify("next")
        office.notify("other channel", channel="sms")
        await office.until_ended(2)
        (waits,) = office.report("waiting")
        assert (waits["number"], waits["attempts"]) == (1, 1)
        assert office.outbox.figures()["email"].waiting == 1
        peer.holds[phase].release.set()
        await office.until_ended(3)
    arrived = sorted(taken.mail.get_content().strip() for taken in peer.taken)
    assert arrived == ["next", "slow"]
    assert all(one["attempts"] == 1 for one in office.report("sent"))


async def test_server_that_is_slow_after_the_final_dot_gets_each_mail_once(
    bell: Bell, certificates: Certificates
) -> None:
    async with slow_office(bell, certificates) as (peer, office):
        hold = peer.holds["end"] = Hold(dialogues=20)
        for number in range(LIMITS.max_aside + 3):
            office.notify(str(number))
        # All that may be aside, and the one that has its turn.
        await office.until(lambda: hold.reached == LIMITS.max_aside + 1)
        hold.release.set()
        ended = await office.until_ended(LIMITS.max_aside + 3)
    assert {one["state"] for one in ended} == {"sent"}
    assert len(peer.taken) == len(ended)
    assert not any(one["uncertain"] for one in ended)


@pytest.mark.parametrize("how", ["late", "cut"])
async def test_mail_without_a_final_answer_is_uncertain_and_keeps_its_message_id(
    bell: Bell, certificates: Certificates, how: str
) -> None:
    store = MemoryStore()
    deadlines = replace(MailDeadlines(), end_s=SHORT_S)
    async with slow_office(bell, certificates, deadlines, store=store) as (peer, office):
        if how == "late":
            peer.holds["end"] = Hold()
        else:
            peer.cuts = 1
        office.notify("a")
        problem = await office.until_problem("It is uncertain whether the mail arrived")
        assert "It is sent again with the same Message-ID." in problem
        assert any("uncertain" in report for report in office.reports)
        (sent,) = await office.until_ended()
    assert (sent["state"], sent["uncertain"]) == ("sent", True)
    # A busy machine may be late with the second answer, too.
    first, *again = (taken.mail["Message-ID"] for taken in peer.taken)
    assert set(again) == {first}


async def test_stop_after_the_final_dot_leaves_the_mail_uncertain_with_its_message_id(
    bell: Bell, certificates: Certificates
) -> None:
    store = MemoryStore()
    async with slow_office(bell, certificates, store=store) as (peer, office):
        peer.holds["end"] = Hold()
        office.notify("a")
        await office.until(lambda: peer.holds["end"].reached == 1)
        await office.outbox.close()
        await office.until_stored()
        (row,) = store.messages().values()
        assert row["uncertain"] is True
        async with slow_office(bell, certificates, store=store, name="renamed", peer=peer) as (
            _,
            after,
        ):
            (sent,) = await after.until_ended()
    assert sent["uncertain"] is True
    first, second = (taken.mail["Message-ID"] for taken in peer.taken)
    assert first == second


async def test_slow_mail_is_retried_immediately_when_settings_change(
    bell: Bell, certificates: Certificates
) -> None:
    # The next attempt is the last one for ten minutes, and is not to be late.
    deadlines = replace(MailDeadlines(), end_s=4 * SHORT_S)
    async with slow_office(bell, certificates, deadlines, first_pause_s=600.0) as (peer, office):
        peer.holds["end"] = Hold()
        office.notify("a")
        await until(lambda: (office.outbox.figures()["email"].next_attempt_in or 0) > 100)
        office.set(email__subject="Again")
        await office.until_ended()
    assert [taken.mail["Subject"] for taken in peer.taken] == [
        "Message from leverframe-1",
        "Again",
    ]
