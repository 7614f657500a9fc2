"""A captured message is the message that a real server would have got, and whole."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from leverframe.core.engine.calls import Notify
from leverframe.core.runtime.outgoing import Targets
from leverframe.notify.channel import Channel, Trust
from leverframe.notify.email import Mail, Sms
from leverframe.notify.http import HttpCalls
from leverframe.notify.mqtt import MqttLink, MqttMessages
from leverframe.notify.snmp import SnmpTraps, TrapOrigin
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.testing import LoopTwin

from .email_server import mail_peer
from .http_server import http_peer
from .post_office import Bell, PostOffice


class NoModem:
    async def send_sms(self, number: str, text: str) -> None:
        raise AssertionError("nothing may be sent")


@pytest.fixture
def bell() -> Bell:
    return Bell()


def capture(setup: Callable[[PostOffice], None], effect: Notify, **channel: Channel) -> Any:
    office = PostOffice(capture=True, **channel)
    setup(office)
    office.outbox.notify(effect)
    (one,) = office.report("captured")
    assert one["problem"] is None
    return one["content"]


async def test_captured_mail_is_the_mail_that_arrives(bell: Bell) -> None:
    effect = Notify("email", 1, True, "rule 1", text="31.3 °C im Keller\nund mehr")
    async with mail_peer(bell) as peer:

        def setup(office: PostOffice) -> None:
            office.set(
                email__host="localhost",
                email__port=peer.port,
                email__recipient="bert@example.org",
                email__sender="cellar@example.org",
                email__subject="Größe ✓",
                email__password="s3cret",
            )

        channel = Mail("leverframe-1", Trust(), Targets().channel("email"))
        content = capture(setup, effect, email=channel)
        office = PostOffice(bell=bell, email=channel)
        setup(office)
        office.outbox.notify(effect)
        await office.until_ended()
        await office.outbox.close()
    (taken,) = peer.taken
    assert content["server"] == f"localhost:{peer.port}"
    assert content["tls"] is False
    assert content["sender"] == taken.sender == "cellar@example.org"
    assert content["recipients"] == taken.recipients == ["bert@example.org"]
    assert content["subject"] == taken.mail["Subject"] == "Größe ✓"
    arrived = {name: str(text) for name, text in taken.mail.items()}
    for moment in ("Date", "Message-ID"):  # of two messages, a moment apart
        assert content["headers"].pop(moment)[:3] == arrived.pop(moment)[:3]
    peers_own = {"X-Peer", "X-MailFrom", "X-RcptTo"}
    assert content["headers"] == {k: v for k, v in arrived.items() if k not in peers_own}
    assert content["body"] == effect.text
    assert content["body"].splitlines() == taken.mail.get_content().splitlines()
    assert "s3cret" not in str(content)


@pytest.mark.parametrize(
    ("post", "body", "method"),
    [(False, "", "GET"), (True, '{"t": "31 °C"}', "POST"), (True, "hot", "POST")],
)
async def test_captured_request_is_the_request_that_arrives(
    bell: Bell, post: bool, body: str, method: str
) -> None:
    async with http_peer(bell) as peer:
        url = f"http://127.0.0.1:{peer.port}/in?t=31.3"
        effect = Notify("http", 1, True, "rule 1", text=url, body=body)

        def setup(office: PostOffice) -> None:
            office.set(http__0__url=url, http__0__post=post, http__0__password="s3cret")

        channel = HttpCalls(1, Trust(), Targets(allow_local=True).channel("http"))
        content = capture(setup, effect, http1=channel)
        office = PostOffice(bell=bell, http1=channel)
        setup(office)
        office.outbox.notify(effect)
        await office.until_ended()
        await office.outbox.close()
    (taken,) = peer.taken
    assert (content["method"], content["url"]) == (method, url)
    assert taken.line == f"{method} /in?t=31.3 HTTP/1.1"
    assert {name.lower(): text for name, text in content["headers"].items()} == taken.headers
    assert content["body"] == taken.body.decode() == body
    assert "s3cret" not in str(content)


async def test_captured_request_without_a_usable_address_says_so() -> None:
    channel = HttpCalls(1, Trust(), Targets(allow_local=True).channel("http"))
    office = PostOffice(capture=True, http1=channel)
    office.outbox.notify(Notify("http", 1, True, "rule 1", text="http://[::1/in"))
    (one,) = office.report("captured")
    assert one["problem"] == "HTTP1 has no usable address; set one with http1=..."


async def test_captured_publish_has_its_broker_topic_and_payload() -> None:
    content = capture(
        lambda office: office.set(mqtt__enabled=True, mqtt__host="broker", mqtt__password="s3cret"),
        Notify("mqtt", 1, True, "rule 1", label="DS1", value=31.3),
        mqtt=MqttMessages(lambda: MqttLink("x", Trust(), Targets().channel("mqtt"))),
    )
    assert (content["server"], content["qos"], content["retain"]) == ("broker:1883", 1, False)
    assert content["topic"].endswith("/notify")
    said = msgspec.json.decode(content["body"])
    assert (said["number"], said["reason"], said["label"]) == (1, "rule 1", "DS1")
    assert "s3cret" not in str(content)


async def test_captured_sms_has_its_number_and_text() -> None:
    content = capture(
        lambda office: office.set(gsm__sms__0__numbers=("+48123",)),
        Notify("sms", 1, True, "rule 1", text="Hot"),
        sms=Sms(NoModem()),
    )
    assert content == {"text": "Hot", "recipients": ["+48123"], "body": "Hot"}


@pytest.mark.parametrize(("community", "version"), [("public", "2c"), ("", "3")])
async def test_captured_trap_has_its_version_kind_and_variables(
    community: str, version: str
) -> None:
    content = capture(
        lambda office: office.set(
            snmp__trap__enabled=True, snmp__trap__host="nms", snmp__trap__community=community
        ),
        Notify("snmp", 1, True, "rule 1", label="DS1", value=31.3, text="Hot"),
        snmp=SnmpTraps(
            TrapOrigin(
                EngineIdentity(b"x", 1),
                "02:00:00:00:00:01",
                name=lambda: "cellar",
                address=lambda: "192.0.2.7",
            ),
            Targets().channel("trap"),
        ),
    )
    assert content["version"] == version
    assert content["trap"].startswith("1.3.6.1.4.1.")
    assert list(content["variables"].values()) == [
        *("DS1", "31.3", "Hot", "rule 1"),
        *("02:00:00:00:00:01", "cellar", "192.0.2.7"),
    ]


async def test_twin_shows_the_whole_mail_in_its_outbox() -> None:
    twin = await LoopTwin.start()
    await twin.ok(
        "/stm.cgi?em1=mail.example&em2=25&em3=&em4=&em5=bert@example.org&em6=a@b.c&em7=Hi"
        "&em8=Hot*2*3*4*5*6*7*8&em9=0"
    )
    await twin.ok("/stm.cgi?testemail=1")
    (one,) = (await twin.json("/api/outbox"))["captured"]
    assert (one["content"]["sender"], one["content"]["subject"]) == ("a@b.c", "Hi")
    assert one["content"]["headers"]["To"] == "bert@example.org"
    assert one["content"]["body"] == "Hot"
    await twin.controller.stop()
