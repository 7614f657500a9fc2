"""A secret in every command and body that can hold one, each broken in many ways.

No answer and no entry of the log about what was skipped repeats any part of it: neither strictly
nor leniently, neither over HTTP nor by SMS or MQTT.
"""

import logging
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence

import pytest

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import example_body_texts, example_texts
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import Base64Text, Text
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Row
from leverframe.server.sms_commands import SmsCommands
from leverframe.testing import LoopTwin
from tests.effort import some_of

SECRET = "Zq7Xw9Kd3Vb5"
#: Digits alone: commands have digits in their names.
PIN = "8046193"
PART_LETTERS = 4
OLDEST = Profile("3.0", "1.19")
#: What a typing mistake, or text that was not encoded, puts into a request or takes out of it.
SLIPS = ("", "&", "=", "*", "%", "%00", "%FF", "%0A", "%26", ";", "+", "?", "x" * 300)
#: Takes some of the slips.
Choice = Callable[[Sequence[str]], Sequence[str]]
URL = f"https://hook.example/go?token={SECRET}"


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def plant(texts: dict[str, str], row: Row, secret: str) -> dict[str, str]:
    """The fields with the secret in every one that takes any text."""
    params = row.body.params if isinstance(row.body, ListBody) else row.params
    params = row.body.fields if isinstance(row.body, FormBody) else params
    found = {}
    for letter, text in texts.items():
        param = params[letter]
        if isinstance(param, Base64Text):
            text = base64(secret)
        elif isinstance(param, Text) and param.pattern is None:
            text = secret
        elif isinstance(param, Text) and "http" in param.form:
            text = URL.replace(SECRET, secret)
        found[letter] = text
    return found


def requests(secret: str) -> Iterator[tuple[str, str]]:
    """Target and body of a good request of every row that can hold a secret."""
    profile = Profile()
    for row in TABLE:
        if not row.secret:
            continue
        target = row.form.write(plant(example_texts(row, profile), row, secret))
        texts = plant(example_body_texts(row, profile), row, secret)
        body = ""
        if isinstance(row.body, ListBody):
            body = row.body.write([texts]).decode()
        elif isinstance(row.body, FormBody):
            body = "&".join(f"{name}={text}" for name, text in texts.items())
        yield target, body


def slips(text: str) -> Iterator[str]:
    """Every slip at every place, put in there or instead of a letter: at the next place otherwise.

    Both at each place would be twice as many: to commands, a letter of a secret is like another.
    """
    for place in range(len(text)):
        for number, slip in enumerate(SLIPS):
            yield text[:place] + slip + text[place + (place + number) % 2 :]
        yield text[:place]


def every_fifth(found: Sequence[str]) -> Sequence[str]:
    return found[::5]


def break_requests(secret: str, chosen: Choice = every_fifth) -> Iterator[tuple[str, str]]:
    for target, body in requests(secret):
        path, _, query = target.partition("?")
        for slip in chosen(sorted(set(slips(query)))):
            yield f"{path}?{slip}", body
        for slip in chosen(sorted(set(slips(body)))):
            yield target, slip
        yield target, body + "superfluous"
        yield f"{path}?{query.upper()}", body
        yield f"{path}?oname=0x&{query}&nonsense=1&oname=9{secret}", body
        yield f"{path}?{body}", query
        for other in ("/outs.cgi", "/inpa.cgi", "/eeprom.cgi", "/stm.cgi", "/post.cgi", "/sim.cgi"):
            yield f"{other}?{query}", body
        yield f"{path}%3F{query}", body
        yield f"{path}/{query}", body


def parts_of(secret: str) -> list[bytes]:
    """Every part of it that is long enough to be found by its letters, also in Base64."""
    return [
        text[place : place + PART_LETTERS].encode()
        for text in (secret, base64(secret))
        for place in range(len(text) - PART_LETTERS + 1)
    ]


def has_leaked(text: bytes, parts: list[bytes]) -> bool:
    return any(part in text for part in parts)


async def check_skipped(twin: LoopTwin, parts: list[bytes]) -> None:
    """What was accepted after all may show it: a slip makes a user name of a password."""
    for entry in await twin.json("/api/log"):
        if entry["text"].startswith("skipped"):
            assert not has_leaked(entry["text"].encode(), parts), entry


@pytest.mark.parametrize(
    ("secret", "lenient", "profile", "chosen"),
    [
        (SECRET, False, Profile(), some_of),
        pytest.param(SECRET, True, Profile(), every_fifth, marks=pytest.mark.thorough),
        pytest.param(PIN, False, Profile(), every_fifth, marks=pytest.mark.thorough),
        pytest.param(PIN, True, Profile(), every_fifth, marks=pytest.mark.thorough),
        pytest.param(SECRET, False, OLDEST, every_fifth, marks=pytest.mark.thorough),
    ],
    ids=["strict", "lenient", "digits", "digits, lenient", "oldest"],
)
async def test_no_refusal_repeats_a_part_of_a_secret(
    secret: str,
    lenient: bool,
    profile: Profile,
    chosen: Choice,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    twin = await LoopTwin.start(profile, lenient=lenient)
    parts = parts_of(secret)
    for number, (target, body) in enumerate(break_requests(secret, chosen)):
        method = "POST" if body or target.startswith("/post") else ("GET", "POST")[number % 2]
        reply = await twin.ask(target, method, body.encode())
        if reply.status >= 400:
            assert not has_leaked(reply.body, parts), (target, body, reply.body)
        if twin.controller.pending.access.required:
            # Accepted after all: continue with a controller that requires no sign-in.
            await twin.controller.stop()
            twin = await LoopTwin.start(profile, lenient=lenient)
        if number % 400 == 0:
            await check_skipped(twin, parts)
    assert number > 2000
    await check_skipped(twin, parts)
    assert not has_leaked(caplog.text.encode(), parts)
    await twin.controller.stop()


async def test_no_answer_by_another_way_than_http_repeats_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?gsmcode=code")
    sms = SmsCommands(twin.controller)
    parts = parts_of(SECRET)
    # Without a body many of them are the same.
    for target in every_fifth(list(dict.fromkeys(target for target, _ in break_requests(SECRET)))):
        for text in (target, target.partition("?")[2]):
            try:
                calls_in(text, twin.controller.profile)
            except Refusal as refusal:
                problem = str(refusal.as_problem())
                assert not has_leaked(problem.encode(), parts), (text, problem)
                answer = await sms.take("+48123456780", f"code:{text}")
                assert not has_leaked(str(answer).encode(), parts), (text, answer)
    assert not has_leaked(caplog.text.encode(), parts)
    await twin.controller.stop()


@pytest.mark.parametrize("item", ["sms=%s:out0=1", "sms=12:%s:x&%s", "sms=+48123:%s:a&b%s=1"])
async def test_simulated_sms_is_refused_without_its_code(item: str) -> None:
    twin = await LoopTwin.start()
    reply = await twin.ask(f"/sim.cgi?{item.replace('%s', SECRET)}")
    assert reply.status in (400, 404)
    assert not has_leaked(reply.body, parts_of(SECRET)), reply.body
