"""The outbox: stored before it is tried, in order, again and again, and never in the way of other
work."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.runtime.clock import VirtualClock
from leverframe.notify.channel import CannotSend, ChannelLimits, Channels, Message
from leverframe.notify.outbox import KEPT
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, MemoryStore, Rows, StoreUnavailable
from tests.effort import examples
from tests.full_disk import Disk
from tests.patience import PATIENCE_S

from .post_office import Bell, PostOffice, ScriptedChannel

PASSING = CannotSend("The server has a cold.")
FINAL = CannotSend("No one lives there.", final=True)


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
def channel(bell: Bell) -> ScriptedChannel:
    return ScriptedChannel(bell)


@pytest.fixture
async def office(bell: Bell, channel: ScriptedChannel) -> AsyncIterator[PostOffice]:
    office = PostOffice(bell=bell, email=channel)
    yield office
    await office.outbox.close()


async def test_message_is_on_disk_before_it_is_tried(tmp_path: Path, bell: Bell) -> None:
    store = SqliteStore(tmp_path / "store.db")
    seen: list[int] = []

    class Watching(ScriptedChannel):
        async def deliver(self, *arguments: object) -> str:
            seen.append(len(store.messages()))
            return await super().deliver(*arguments)  # type: ignore[arg-type]

    office = PostOffice(store=store, bell=bell, email=Watching(bell))
    office.notify("a")
    await office.until_ended()
    assert seen == [1]
    await office.outbox.close()
    await store.close()


async def test_messages_are_delivered_in_order_and_the_answer_is_kept(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    for text in ("a", "b|c", "d"):
        office.notify(text)
    sent = await office.until_ended(4)
    assert channel.delivered == ["a", "b", "c", "d"]
    assert [(one["state"], one["answer"], one["attempts"]) for one in sent] == [
        ("sent", "thanks", 1)
    ] * 4


async def test_failure_is_tried_again_and_holds_up_the_ones_behind_it(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    channel.problems = [PASSING, PASSING]
    office.notify("a")
    office.notify("b")
    first, _ = await office.until_ended(2)
    assert channel.attempted == ["a", "a", "a", "b"]
    assert (first["attempts"], first["problem"]) == (3, None)


async def test_node_that_may_have_lost_the_controller_sends_nothing(
    bell: Bell, channel: ScriptedChannel
) -> None:
    held = ["Another node may have it."]
    office = PostOffice(bell=bell, email=channel, why_held=lambda: held[0] if held else None)
    office.notify("a")
    await office.until_problem(held[0])
    assert channel.attempted == []
    held.clear()
    await office.until_ended()
    assert channel.delivered == ["a"]
    await office.outbox.close()


async def test_permanently_refused_message_fails_with_its_reason_and_lets_the_next_one_pass(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    channel.problems = [FINAL]
    office.notify("a")
    office.notify("b")
    failed, sent = await office.until_ended(2)
    assert (failed["state"], failed["problem"]) == ("failed", "No one lives there.")
    assert sent["state"] == "sent"
    assert office.reports == ["email: gave up on a message to operator: No one lives there."]


async def test_fault_of_a_channel_neither_ends_its_lane_nor_loses_the_message(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    channel.problems = [ZeroDivisionError("oops")]
    office.notify("a")
    await office.until_ended()
    assert channel.delivered == ["a"]
    assert "failed unexpectedly (ZeroDivisionError)" in office.reports[0]


class StuckChannel(ScriptedChannel):
    async def close(self) -> None:
        raise OSError("it is stuck")


async def test_channel_that_cannot_be_closed_does_not_keep_another_one_open(
    bell: Bell, caplog: pytest.LogCaptureFixture
) -> None:
    stuck, other = StuckChannel(bell), ScriptedChannel(bell)
    stuck.broken = other.broken = PASSING
    office = PostOffice(bell=bell, email=stuck, sms=other)
    for channel in ("email", "sms"):
        office.notify("a", channel)
    await office.until(lambda: bool(stuck.attempted and other.attempted))
    await office.outbox.close()
    assert other.closed == 1
    assert "it is stuck" in caplog.text


class SnappishChannel(ScriptedChannel):
    """Fails with something else when it is interrupted."""

    def __init__(self, bell: Bell, fault: Exception) -> None:
        super().__init__(bell)
        self._fault = fault
        self.hanging = True

    async def deliver(self, message: Message, channels: Channels) -> str:
        try:
            return await super().deliver(message, channels)
        except asyncio.CancelledError:
            raise self._fault from None


@pytest.mark.parametrize("fault", [PASSING, TimeoutError(), OSError("broken off")], ids=repr)
async def test_attempt_that_fails_during_its_interruption_does_not_delay_the_end(
    bell: Bell, fault: Exception
) -> None:
    channel = SnappishChannel(bell, fault)
    office = PostOffice(bell=bell, first_pause_s=60.0, email=channel)
    office.notify("a")
    office.notify("b")
    await office.until(lambda: channel.attempted == ["a"])
    async with asyncio.timeout(PATIENCE_S):
        await office.outbox.close()
    assert (channel.attempted, channel.closed) == (["a"], 1)


async def test_problem_and_its_end_are_reported_once(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    channel.broken = PASSING
    office.notify("a")
    await office.until(lambda: len(channel.attempted) == 4)
    assert office.troubles == {"email": "The server has a cold."}
    assert office.outbox.figures()["email"].problem == "The server has a cold."
    channel.broken = None
    await office.until_ended()
    assert office.reports == [
        "email: cannot deliver to operator: The server has a cold.",
        "email: delivery resumed",
    ]
    assert office.troubles == {}


async def test_attempt_that_hangs_is_ended_and_repeated(bell: Bell) -> None:
    channel = ScriptedChannel(bell, ChannelLimits(timeout_s=0.01, per_s=1e6))
    channel.hanging = True
    office = PostOffice(bell=bell, email=channel)
    office.notify("a")
    assert await office.until_problem("no answer within 0.01 s")
    channel.hanging = False
    await office.until_ended()
    assert channel.delivered == ["a"]


async def test_dead_channel_does_not_hold_up_another_one(
    bell: Bell, channel: ScriptedChannel
) -> None:
    channel.hanging = True
    other = ScriptedChannel(bell)
    office = PostOffice(bell=bell, email=channel, http2=other)
    office.notify("a")
    office.notify("b", "http", 2)
    await office.until_ended()
    assert other.delivered == ["b"]
    await office.outbox.close()


async def test_new_settings_are_tried_immediately(bell: Bell, channel: ScriptedChannel) -> None:
    office = PostOffice(bell=bell, first_pause_s=3600.0, email=channel)
    channel.broken = PASSING
    office.notify("a")
    await office.until_problem("cold")
    pause_s = office.outbox.figures()["email"].next_attempt_in
    channel.broken = None
    office.set(ui__refresh=60)
    office.set(email__host="mail.example")
    await office.until_ended()
    assert channel.attempted == ["a", "a"]
    assert pause_s is None or pause_s > 50


async def test_old_message_is_given_up_with_its_last_problem(bell: Bell) -> None:
    clock = VirtualClock()
    channel = ScriptedChannel(bell, ChannelLimits(expires_s=7200, per_s=1e6))
    channel.broken = PASSING
    office = PostOffice(bell=bell, clock=clock, email=channel)
    office.notify("a")
    await office.until_problem("cold")
    clock.move_to(7200.0)
    (failed,) = await office.until_ended()
    assert failed["problem"] == "Not delivered within 2h. The server has a cold."
    assert office.outbox.figures()["email"].problem is None


async def test_setting_the_wall_clock_makes_no_message_old(bell: Bell) -> None:
    clock = VirtualClock(wall=0.0)
    channel = ScriptedChannel(bell)
    channel.broken = PASSING
    office = PostOffice(bell=bell, clock=clock, email=channel)
    office.notify("a")
    await office.until_problem("cold")
    clock.set_wall(VirtualClock.START)
    channel.broken = None
    (sent,) = await office.until_ended()
    assert sent["state"] == "sent"


async def test_full_queue_drops_the_oldest_that_is_not_on_its_way_and_counts(bell: Bell) -> None:
    channel = ScriptedChannel(bell, ChannelLimits(max_waiting=3, per_s=1e6))
    channel.hanging = True
    office = PostOffice(bell=bell, email=channel)
    office.notify("first")
    await office.until(lambda: channel.attempted == ["first"])
    for text in "abcde":
        office.notify(text)
    figures = office.outbox.figures()["email"]
    assert (figures.waiting, figures.dropped) == (4, 2)
    await office.until_stored()
    assert [row["content"]["text"] for row in office.store.messages().values()] == [
        *("first", "c", "d", "e")
    ]
    assert office.reports[0].startswith("email: 1 messages dropped so far, oldest first")
    await office.outbox.close()


async def test_channel_that_is_not_set_up_fails_with_a_remedy(office: PostOffice) -> None:
    office.notify("not set up")
    (failed,) = office.report("failed")
    assert failed["problem"] == "There is no recipient; set one up."
    assert office.reports == ["email: There is no recipient; set one up."]


async def test_nothing_that_a_channel_does_reaches_the_controller(office: PostOffice) -> None:
    office.notify("unwritable")
    office.notify("x", "pigeon", 0)
    office.notify("")
    assert office.report("failed") + office.report("waiting") == []


async def test_waiting_messages_are_sent_in_order_after_a_restart(bell: Bell) -> None:
    store = MemoryStore()
    broken = ScriptedChannel(bell)
    broken.broken = PASSING
    before = PostOffice(store=store, bell=bell, email=broken)
    for text in "abc":
        before.notify(text)
    await before.until_problem("cold")
    await before.outbox.close()
    channel = ScriptedChannel(bell)
    after = PostOffice(store=store, bell=bell, email=channel)
    after.notify("d")
    await after.until_ended(4)
    assert channel.delivered == ["a", "b", "c", "d"]
    assert [one["number"] for one in after.report("sent")] == [1, 2, 3, 4]


async def test_outcome_of_messages_survives_a_restart(bell: Bell) -> None:
    store = MemoryStore()
    channel = ScriptedChannel(bell)
    channel.problems = [FINAL]
    before = PostOffice(store=store, bell=bell, email=channel)
    before.notify("a")
    before.notify("b")
    await before.until_ended(2)
    await before.until_stored()
    reports = before.report("sent"), before.report("failed")
    after = PostOffice(store=store, bell=bell, email=ScriptedChannel(bell))
    assert (after.report("sent"), after.report("failed")) == reports


async def test_message_that_grew_old_while_the_program_was_off_is_given_up(bell: Bell) -> None:
    store = MemoryStore()
    broken = ScriptedChannel(bell)
    broken.broken = PASSING
    before = PostOffice(store=store, bell=bell, clock=VirtualClock(), email=broken)
    before.notify("a")
    await before.outbox.close()
    channel = ScriptedChannel(bell)
    later = VirtualClock(VirtualClock.START + 90_000)
    after = PostOffice(store=store, bell=bell, clock=later, email=channel)
    (failed,) = await after.until_ended()
    assert (failed["state"], channel.attempted) == ("failed", [])


@pytest.mark.parametrize(("made", "found"), [(100.0, VirtualClock.START), (VirtualClock.START, 0)])
async def test_clock_that_was_not_set_makes_no_message_old(
    bell: Bell, made: float, found: float
) -> None:
    store = MemoryStore()
    broken = ScriptedChannel(bell)
    broken.broken = PASSING
    before = PostOffice(store=store, bell=bell, clock=VirtualClock(made), email=broken)
    before.notify("a")
    await before.outbox.close()
    channel = ScriptedChannel(bell)
    after = PostOffice(store=store, bell=bell, clock=VirtualClock(found), email=channel)
    (sent,) = await after.until_ended()
    assert sent["state"] == "sent"


async def test_rows_that_cannot_be_read_are_left_out_and_removed(bell: Bell) -> None:
    store = MemoryStore()
    await store.commit(Changes(messages={7: {"number": "seven"}, 8: "text"}))
    office = PostOffice(store=store, bell=bell, email=ScriptedChannel(bell))
    await office.until_stored()
    assert store.messages() == {}
    office.notify("a")
    await office.until_stored()
    assert next(iter(store.messages())) == 9
    await office.until_ended()


class FullDisk(MemoryStore):
    async def write(self, rows: Rows) -> None:
        raise StoreUnavailable("The disk is full.")


async def test_disk_that_takes_nothing_does_not_keep_a_message_from_being_sent(
    bell: Bell, channel: ScriptedChannel, caplog: pytest.LogCaptureFixture
) -> None:
    office = PostOffice(store=FullDisk(), bell=bell, email=channel)
    office.notify("a")
    await office.until_ended()
    assert channel.delivered == ["a"]
    assert "could not be saved: The disk is full." in caplog.text


async def test_unwritable_disk_is_reported_once_until_a_write_succeeds(
    bell: Bell, channel: ScriptedChannel, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk()
    office = PostOffice(store=disk, bell=bell, email=channel)
    for reported in (1, 2):
        disk.is_full = True
        for text in ("a", "b", "c"):
            office.notify(text)
        await office.until_ended()
        await office.writer.flush()
        assert caplog.text.count("the outbox could not be saved") == reported
        disk.is_full = False
        office.notify("d")
        await office.until_ended()
        await office.writer.flush()


async def test_captured_messages_are_kept_in_full_and_not_sent(bell: Bell) -> None:
    store = MemoryStore()
    channel = ScriptedChannel(bell)
    office = PostOffice(store=store, bell=bell, capture=True, email=channel)
    office.notify("a|b")
    assert [one["content"] for one in office.report("captured")] == [
        {"text": text, "recipients": ["operator"], "body": text} for text in "ab"
    ]
    assert channel.attempted == []
    sending = PostOffice(store=store, bell=bell, email=channel)
    sending.notify("c")
    await sending.until_ended()
    assert channel.delivered == ["c"]


async def test_captured_message_names_the_problem_that_would_block_it(
    bell: Bell, channel: ScriptedChannel
) -> None:
    office = PostOffice(bell=bell, capture=True, email=channel)
    office.notify("unsendable")
    (captured,) = office.report("captured")
    assert (captured["problem"], captured["content"]) == (
        "The sender is no address.",
        {"text": "unsendable"},
    )


async def test_capturing_leaves_alone_what_waited_before(bell: Bell) -> None:
    store = MemoryStore()
    broken = ScriptedChannel(bell)
    broken.broken = PASSING
    before = PostOffice(store=store, bell=bell, email=broken)
    before.notify("a")
    await before.outbox.close()
    PostOffice(store=store, bell=bell, capture=True, email=broken)
    channel = ScriptedChannel(bell)
    after = PostOffice(store=store, bell=bell, email=channel)
    await after.until_ended()
    assert channel.delivered == ["a"]


async def test_only_the_last_ended_messages_stay_on_disk(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    for number in range(KEPT["sent"] + 5):
        office.notify(str(number))
    await office.until(lambda: office.outbox.figures()["email"].sent == KEPT["sent"] + 5)
    await office.until_stored()
    assert list(office.store.messages()) == list(range(6, KEPT["sent"] + 6))


async def test_content_of_a_message_is_shown_only_if_captured(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    channel.hanging = True
    office.notify("key=s3cret")
    assert "s3cret" not in str(office.outbox.report())


async def test_empty_lane_lets_go_of_its_connections(
    office: PostOffice, channel: ScriptedChannel
) -> None:
    office.notify("a")
    await office.until_ended()
    office.notify("b")
    await office.until_ended(2)
    await asyncio.sleep(0)
    assert channel.closed == 2


@examples(30)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from([None, PASSING, FINAL])), max_size=15
    )
)
def test_every_message_is_sent_or_failed_exactly_once_and_in_order(
    script: list[tuple[str, CannotSend | None]],
) -> None:
    async def live() -> None:
        bell = Bell()
        channel = ScriptedChannel(bell)
        office = PostOffice(bell=bell, email=channel)
        channel.problems = [problem for _, problem in script if problem is not None]
        finals = channel.problems.count(FINAL)
        for number, (letter, _) in enumerate(script):
            office.notify(f"{letter}{number}")
        ended = await office.until_ended(min(len(script), 20))
        assert [one["number"] for one in ended] == list(range(1, len(script) + 1))
        assert len(office.report("failed")) == finals
        assert [int(text[1:]) for text in channel.delivered] == sorted(
            int(text[1:]) for text in channel.delivered
        )
        await office.outbox.close()

    asyncio.run(live())
