"""Trusted networks: programs there need not sign in; browsers and proxies there have to."""

import logging
from pathlib import Path

import msgspec
import pytest

from leverframe.host.configuration import BadConfiguration, read_config
from leverframe.host.reach import reach_of
from leverframe.interface.table.lookup import TRUSTED_ADMINISTRATOR, TRUSTED_USER, Account
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Reply, Request
from leverframe.server.routes.admission import TrustedNetworks
from leverframe.server.routes.router import Reach
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.server.signing_up import ADMINISTRATOR, USER, base64, basic

INSIDE, OUTSIDE = "192.168.7.9", "192.168.8.9"
SWITCH, SET = "/outs.cgi?out0=1", "/stm.cgi?oname=0Pump"
BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0"}


async def start(account: Account = TRUSTED_USER) -> LoopTwin:
    networks = read_config(
        None, {"trusted": ["192.168.7.0/24", "fd00::/64"]}
    ).networks_without_sign_in()
    names = OwnNames("0.0.0.0")
    twin = await LoopTwin.start(reach=Reach(names, trusted=TrustedNetworks(networks, account)))
    fields = "*".join(base64(text) for text in (*ADMINISTRATOR, *USER))
    await twin.ok(f"/stm.cgi?auth=11{fields}")
    return twin


async def ask(
    twin: LoopTwin, target: str, peer: str = INSIDE, *, http10: bool = False, **headers: str
) -> Reply:
    path, mark, query = target.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request("GET", path, query if mark else None, named, b"", peer, http10)
    answer = twin.web.handle(request)
    reply = answer if isinstance(answer, Reply) else await answer
    assert isinstance(reply, Reply)
    return reply


@for_each("peer", [INSIDE, f"::ffff:{INSIDE}", "fd00::7", "fd00::7%eth0"])
async def test_program_in_a_trusted_network_acts_as_the_user(peer: str) -> None:
    twin = await start()
    assert (await ask(twin, SWITCH, peer)).status == 200
    assert (await ask(twin, "/json/status.json", peer)).status == 200
    assert (await ask(twin, SET, peer)).status == 403
    assert (await ask(twin, "/api/settings", peer)).status == 403
    assert (await ask(twin, "/outs.cgi?out0=0&out1=1", peer)).status == 403
    await twin.controller.stop()


async def test_user_may_be_read_only_there_too() -> None:
    twin = await start()
    reply = await ask(twin, "/eeprom.cgi?bit3=1", authorization=basic(*ADMINISTRATOR))
    assert reply.status == 200
    assert (await ask(twin, SWITCH)).status == 403
    assert (await ask(twin, "/json/status.json")).status == 200
    await twin.controller.stop()


async def test_program_acts_as_administrator_where_the_configuration_says_so() -> None:
    twin = await start(TRUSTED_ADMINISTRATOR)
    assert (await ask(twin, f"{SET}&outnn=0")).status == 200
    assert (await ask(twin, "/api/settings")).status == 200
    await twin.controller.stop()


@for_each("peer", [OUTSIDE, "127.0.0.1", "::1", "fd01::1", "", "not an address"])
async def test_untrusted_clients_have_to_sign_in(peer: str) -> None:
    twin = await start(TRUSTED_ADMINISTRATOR)
    for target in (SWITCH, SET, "/json/status.json"):
        assert (await ask(twin, target, peer)).status == 401
    await twin.controller.stop()


@for_each(
    "headers",
    [
        {"x_forwarded_for": INSIDE},
        {"forwarded": f"for={INSIDE}"},
        {"via": "1.1 proxy"},
        {"x_real_ip": INSIDE},
        {"x_forwarded_proto": "http"},
    ],
)
async def test_client_behind_a_proxy_is_not_trusted(headers: dict[str, str]) -> None:
    twin = await start(TRUSTED_ADMINISTRATOR)
    for peer in (INSIDE, OUTSIDE):
        assert (await ask(twin, SWITCH, peer, **headers)).status == 401
    # As proxies ask by default that add nothing.
    assert (await ask(twin, SWITCH, http10=True)).status == 401
    await twin.controller.stop()


@for_each(
    "headers",
    [
        # A picture of a foreign page that hides where it stands: the browser's name remains.
        {},
        {"referer": "http://evil.example/"},
        {"origin": "http://evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "none", "sec_fetch_mode": "navigate"},
    ],
)
async def test_no_page_in_a_browser_there_is_trusted(headers: dict[str, str]) -> None:
    twin = await start(TRUSTED_ADMINISTRATOR)
    for named in ({**BROWSER, **headers}, headers):
        if named:
            sent = {name.replace("-", "_"): value for name, value in named.items()}
            assert (await ask(twin, SWITCH, **sent)).status in (401, 403)
    assert twin.controller.engine.values["OUT0"] == 0
    await twin.controller.stop()


async def test_wrong_credentials_and_other_host_names_are_refused_there_too() -> None:
    twin = await start(TRUSTED_ADMINISTRATOR)
    assert (await ask(twin, SWITCH, authorization=basic("chief", "wrong"))).status == 401
    assert (await ask(twin, SWITCH, host="evil.example")).status == 403
    assert (await ask(twin, SWITCH, cookie="leverframe=gone")).status == 401
    await twin.controller.stop()


async def test_trusted_networks_are_shown_to_the_administrator_only() -> None:
    twin = await start()
    reply = await ask(twin, "/api/account", OUTSIDE, authorization=basic(*ADMINISTRATOR))
    report = msgspec.json.decode(reply.body)
    assert (report["trusted"], report["trusted_role"]) == (["192.168.7.0/24", "fd00::/64"], "user")
    assert "trusted" not in msgspec.json.decode((await ask(twin, "/api/account")).body)
    await twin.controller.stop()


@pytest.mark.parametrize(
    ("role", "account"), [("user", TRUSTED_USER), ("administrator", TRUSTED_ADMINISTRATOR)]
)
def test_every_start_logs_who_is_trusted(
    caplog: pytest.LogCaptureFixture, role: str, account: Account
) -> None:
    config = read_config(None, {"trusted": ["192.168.7.0/24"], "trusted_role": role})
    with caplog.at_level(logging.WARNING):
        assert reach_of(config).trusted.account is account
    assert f"programs in 192.168.7.0/24 have the role {role} without signing in" in caplog.text


def test_no_network_is_trusted_by_default(caplog: pytest.LogCaptureFixture) -> None:
    assert reach_of(read_config(None, {})).trusted.networks == ()
    assert caplog.text == ""


@for_each(
    "network",
    ["192.168.7.9/24", "home", "", "127.0.0.1", "0.0.0.0/0", "::/0", "::1", "::ffff:127.0.0.1"],
)
def test_invalid_network_or_one_with_this_machine_is_refused(network: str) -> None:
    with pytest.raises(BadConfiguration, match=r"trusted: .*192\.168\.[17]\.0/24"):
        read_config(None, {"trusted": [network]})


def test_trusted_networks_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "leverframe.toml"
    file.write_text('trusted = ["192.168.7.0/24"]\ntrusted_role = "administrator"\n')
    config = read_config(file, {})
    assert [str(network) for network in config.networks_without_sign_in()] == ["192.168.7.0/24"]
    assert config.trusted_role == "administrator"
