"""A unit is read completely, or the report lists what was not read; never wrongly."""

import re
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile, newest_software, version
from leverframe.core.settings import Rule, ScheduleEntry
from leverframe.core.tree import defaults, difference
from leverframe.interface.status_files.settings_reader import files_of
from leverframe.testing import Twin, faults
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitSilent
from leverframe.units.client import PacedClient, SignInNeeded, UnusableAnswer, open_paced_client
from leverframe.units.pulled_unit import PulledUnit, nearest_profile
from leverframe.units.unit_reader import NOT_ADMINISTRATOR, UNPROVEN, pull_unit
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.effort import some_of
from tests.patience import PATIENCE_S
from tests.random_settings import random_settings
from tests.units.unit_server import serve_files

#: Versions that units ever had.
EXISTING = [one for one in PROFILES if version(one.sw) <= version(newest_software(one.hw))]
#: Often enough for a busy machine, which may be late with some answers.
SOON = (0.01,) * 9
PASSWORD = "right-password"
SETTINGS: dict[str, Any] = {
    "outputs.0.name": "Pump",
    "outputs.0.return_time": 90,
    "email.host": "mail.example",
    "email.password": "very-secret",
    "rules.0.source": "DS1",
    "rules.0.reference": 30.0,
    "rules.0.enabled": True,
}


@asynccontextmanager
async def client_of(
    url: str, login: UnitLogin | None = None, answer_s: float = PATIENCE_S
) -> AsyncIterator[PacedClient]:
    async with open_paced_client(
        url, login, paced=False, answer_s=answer_s, retry_waits_s=SOON
    ) as client:
        yield client


async def pull(
    url: str,
    *,
    by_files: bool = False,
    login: UnitLogin | None = None,
    answer_s: float = PATIENCE_S,
) -> PulledUnit:
    async with client_of(url, login, answer_s) as client:
        return await pull_unit(client, by_files=by_files)


def settings_for_twin(pulled: PulledUnit) -> dict[str, Any]:
    """Return what differs from the factory settings, without accounts: no password was read."""
    standard = defaults(pulled.profile)
    return {
        path: value
        for path, _, value in difference(standard, pulled.settings)
        if not path.startswith("access.")
    }


@pytest.mark.parametrize("by_files", [True, False])
@pytest.mark.parametrize("profile", some_of(EXISTING[::6]), ids=str)
async def test_twin_of_pulled_settings_is_pulled_alike(profile: Profile, by_files: bool) -> None:
    tree = random_settings(profile, Random(str(profile)), commands=80)
    random = {
        path: value
        for path, _, value in difference(defaults(profile), tree)
        if not path.startswith("access.")
    }
    with Twin(hw=profile.hw, sw=profile.sw, settings=random) as first:
        one = await pull(first.url, by_files=by_files)
    read = dict(one.read_leaves())
    assert one.profile == profile
    assert [
        path
        for path, value in random.items()
        if path in read and read[path] != value and one.why_lossy(path) is None
    ] == []
    with Twin(hw=profile.hw, sw=profile.sw, settings=settings_for_twin(one)) as second:
        again = await pull(second.url, by_files=by_files)
    assert {path: value for path, value in again.read_leaves() if path in read} == read
    if by_files:
        assert again.unread == one.unread
        assert again.digest == one.digest


async def test_leverframe_shows_all_but_its_secrets() -> None:
    with Twin(settings=SETTINGS, accounts={"admin": PASSWORD}, name="pump-house") as twin:
        found = await pull(twin.url, login=UnitLogin("admin", PASSWORD))
    assert found.identity.name == "pump-house"
    assert found.settings.email.host == "mail.example"
    assert set(found.unread) == {"email.password", "access.admin.password"}
    assert found.remarks == ()
    assert "very-secret" not in str(found)


async def test_account_that_is_no_administrator_is_reported() -> None:
    accounts = {"admin": PASSWORD, "user": "another-password"}
    with Twin(settings=SETTINGS, accounts=accounts) as twin:
        found = await pull(twin.url, login=UnitLogin("user", "another-password"))
    assert NOT_ADMINISTRATOR in found.remarks
    assert found.why_unread("email.host")
    # A file for the administrator, and nothing else.
    assert "/xml/st.xml does not exist (status 403)" in str(found.why_unread("access.required"))
    assert found.settings.outputs[0].return_time == 90


async def test_unit_that_asks_for_a_login_is_not_read_without() -> None:
    with Twin(accounts={"admin": PASSWORD}) as twin:
        with pytest.raises(SignInNeeded):
            await pull(twin.url)
        with pytest.raises(SignInNeeded):
            await pull(twin.url, by_files=True)


PASSING_FAULTS = (
    faults.reset(),
    faults.reset_after(300),
    faults.cut(),
    faults.wrong_length(-40),
    faults.status(503),
    faults.garbage(),
    faults.garbage("answer"),
    faults.slow("1h"),
)


async def test_unit_that_fails_now_and_then_is_read_nevertheless() -> None:
    paths = [path for path in files_of(Profile()) if path.startswith("/json/")]
    with Twin(settings=SETTINGS) as twin, ExitStack() as failing:
        whole = await pull(twin.url, by_files=True)
        for path, fault in zip(paths, PASSING_FAULTS, strict=False):
            failing.enter_context(twin.fault(fault, path=path, times=2))
        assert await pull(twin.url, by_files=True, answer_s=0.4) == whole


async def test_file_that_always_fails_costs_only_its_settings() -> None:
    with Twin(settings=SETTINGS) as twin:
        whole = await pull(twin.url, by_files=True)
        for fault in (faults.garbage(), faults.reset()):
            with twin.fault(fault, path="/json/outputs.json"):
                part = await pull(twin.url, by_files=True)
            assert part.why_unread("outputs.0.return_time")
            assert part.settings.outputs[0].return_time == 0
            assert part.settings.outputs[0].name == "Pump"
            assert any("/json/outputs.json" in remark for remark in part.remarks)
            assert part.digest != whole.digest


async def test_unit_that_falls_silent_is_given_up() -> None:
    with Twin() as twin, twin.fault(faults.refuse()), pytest.raises(UnitSilent):
        await pull(twin.url)
    with Twin() as twin:
        silent = (twin.fault(faults.reset(), path=path) for path in ("/st0.xml", "/xml/co.xml"))
        with next(silent), next(silent), pytest.raises(UnitSilent):
            await pull(twin.url, by_files=True)


async def test_wrong_value_in_a_file_is_never_taken_for_read() -> None:
    wrong = {
        "ortime0": ("-5", "outputs.0.return_time"),
        "ortime1": ("soon", "outputs.1.return_time"),
        "pwmp": ("256", "pwm.0.active_low"),
        "igain2": ("9", "analog_inputs.2.gain"),
    }
    with Twin(settings=SETTINGS) as twin:
        twin.raw(**{key: text for key, (text, _) in wrong.items()})
        found = await pull(twin.url, by_files=True)
    assert all(found.why_unread(path) for _, path in wrong.values())


async def test_unit_that_restarts_during_a_pull_is_read_again() -> None:
    with Twin(settings=SETTINGS) as twin:
        twin.advance("1h")
        before = {"uptimeMinutes": "59"}
        files = _files(twin)
    async with serve_files(files) as unit:
        calm = await pull(unit.url)
        asked = len(unit.asked)
        unit.files["/json/status.json"] = msgspec.json.encode(
            {**msgspec.json.decode(files["/json/status.json"]), "uptimeHours": "2", **before}
        )
        with pytest.raises(UnusableAnswer, match="restarts repeatedly"):
            await pull(unit.url)
        assert len(unit.asked) - asked > 2 * asked
    assert calm.settings.outputs[0].return_time == 90


def _files(twin: Twin) -> dict[str, bytes]:
    profile = Profile()
    return {path: twin.get(path).encode() for path in files_of(profile)}


async def test_files_of_two_units_are_not_mixed() -> None:
    with Twin() as twin:
        files = _files(twin)
    files["/json/all.json"] = files["/json/all.json"].replace(b'"mac":"02', b'"mac":"06')
    async with serve_files(files) as unit:
        with pytest.raises(UnusableAnswer, match="two units seem to answer"):
            await pull(unit.url)


async def test_text_of_a_unit_does_not_control_the_terminal() -> None:
    with Twin() as twin:
        files = _files(twin)
    for path in ("/json/status.json", "/json/all.json", "/json/network.json"):
        content = msgspec.json.decode(files[path])
        files[path] = msgspec.json.encode(content | {"sname": "a\x1b[2Jb", "\x1bc": "x"})
    files["/xml/stat.xml"] = re.sub(b"<sname>.*</sname>", b"", files["/xml/stat.xml"])
    async with serve_files(files) as unit:
        found = await pull(unit.url)
    assert found.identity.name == r"a\u001b[2Jb"
    assert all(remark.isprintable() for remark in found.remarks)


async def test_device_that_is_no_unit_is_reported() -> None:
    for files in ({}, {"/json/status.json": {"a": "b"}}, {"/api/settings": b"{}"}):
        async with serve_files(files) as unit:
            with pytest.raises(UnusableAnswer, match="is not a unit"):
                await pull(unit.url)


async def test_real_unit_is_doubted_where_no_document_speaks() -> None:
    with Twin(settings=SETTINGS) as twin:
        files = _files(twin)
    async with serve_files(files) as unit:
        found = await pull(unit.url)
    assert found.why_lossy("rules.0.off_delay") == UNPROVEN
    assert found.why_lossy("rules.0.reference") is None


def own_answer(**changes: Any) -> dict[str, bytes]:
    document = msgspec.to_builtins(defaults(Profile()))
    return {
        "/api/settings": msgspec.json.encode(document | changes),
        "/json/network.json": b'{"sname": "x", "mac": "02:00:00:00:00:01"}',
    }


async def test_another_release_of_leverframe_is_read_as_far_as_it_goes() -> None:
    files = own_answer(novelty={"a": 1})
    document = msgspec.json.decode(files["/api/settings"])
    del document["watchdog"], document["email"]["tls"], document["power"][2]["unit"]
    document["profile"]["sw"] = "1.99"
    document["outputs"][1]["return_time"] = -7
    files["/api/settings"] = msgspec.json.encode(document)
    async with serve_files(files) as unit:
        found = await pull(unit.url)
    assert found.why_unread("watchdog.0.host")
    assert found.why_unread("email.tls")
    assert found.why_unread("power.2.unit")
    assert found.why_unread("power.1.unit") is None
    assert "does not allow" in str(found.why_unread("outputs.1.return_time"))
    assert found.settings.outputs[1].return_time == 0
    assert any("1.99 of the unit is unknown" in remark for remark in found.remarks)
    assert any("novelty" in remark for remark in found.remarks)


async def test_entries_that_the_version_cannot_hold_are_unread() -> None:
    rule, entry = Rule(action="dance"), ScheduleEntry(action="sing")
    files = own_answer(
        rules=[msgspec.to_builtins(rule)],
        schedule=[msgspec.to_builtins(entry)],
        outputs=[{"name": "Pump", "novelty": 1}],
    )
    async with serve_files(files) as unit:
        found = await pull(unit.url)
    assert "does not allow its action" in str(found.why_unread("rules.0.source"))
    assert "does not allow its action" in str(found.why_unread("schedule.0"))
    # A list that is too short does not show the rest.
    assert found.why_unread("outputs.0.name") is None
    assert found.why_unread("outputs.1.name")
    assert found.settings.rules == (Rule(),)
    assert found.settings.schedule[0] is None
    assert any("outputs.0.novelty" in remark for remark in found.remarks)


async def test_settings_of_the_wrong_type_are_refused() -> None:
    async with serve_files(own_answer(outputs="none")) as unit:
        with pytest.raises(UnusableAnswer, match="settings cannot be read"):
            await pull(unit.url)


@for_each(
    ("hardware", "software", "profile"),
    [
        ("3.9", "1.75", Profile("3.9", "1.75")),
        ("3.9", "1.80", Profile("3.9", "1.75")),
        ("3.0", "1.75", Profile("3.0", "1.58a")),
        ("3.5", "1.49dps", Profile("3.5", "1.49d")),
        ("3.10", "1.75", Profile("3.9", "1.75")),
        ("3.4", "1.30", Profile("3.0", "1.30")),
        ("1.0", "1.30", Profile("3.0", "1.30")),
        ("four", "new", Profile("3.9", "1.75")),
        ("", "", Profile("3.9", "1.75")),
    ],
)
def test_unknown_version_is_read_as_the_nearest_and_reported(
    hardware: str, software: str, profile: Profile
) -> None:
    nearest = nearest_profile(hardware, software)
    assert nearest.profile == profile
    assert bool(nearest.remark) is ((hardware, software) != (profile.hw, profile.sw))
