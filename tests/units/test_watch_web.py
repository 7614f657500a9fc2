"""The HTTP server of the watch: who gets what, and what changes nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.sessions import Accounts, administrator_alone
from leverframe.storage.history.worker import HistoryRecorder, MemoryHistory
from leverframe.testing import Twin, faults
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.file_loader import KnownSecrets, load_unit_file
from leverframe.units.journal import ApplyJournal
from leverframe.units.unit_file import UnitFile
from leverframe.units.watch_changes import UnitChanges, Wanted
from leverframe.units.watch_web import WatchWeb
from leverframe.units.watcher import WatchedUnit
from tests.cases import for_each
from tests.units.empty_plan import empty_plan

from .watch_bench import WatchBench, watching

HOST = {"host": "127.0.0.1:8090"}


class WebBench:
    """A watch over one twin, asked as by HTTP."""

    def __init__(
        self,
        bench: WatchBench,
        accounts: Accounts | None = None,
        wanted: dict[str, Wanted] | None = None,
    ) -> None:
        self.bench = bench
        self.recorder = HistoryRecorder(MemoryHistory(), bench.clock)
        self.changes = UnitChanges(bench.watcher, wanted or {}, Path("journals"))
        self.web = WatchWeb(
            bench.watcher, self.recorder, bench.clock, OwnNames(), self.changes, accounts
        )

    async def ask(self, target: str, method: str = "GET", **headers: str) -> Reply:
        path, mark, query = target.partition("?")
        named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        request = Request(
            method, path, query if mark else None, {**HOST, **named}, b"", "127.0.0.1"
        )
        answer: Any = self.web.handle(request)
        reply: Reply = answer if isinstance(answer, Reply) else await answer
        return reply

    async def json(self, target: str, method: str = "GET", **headers: str) -> Any:
        reply = await self.ask(target, method, **headers)
        assert reply.status == 200, reply.body
        return msgspec.json.decode(reply.body)


@asynccontextmanager
async def web_bench(
    accounts: Accounts | None = None, wanted: dict[str, Wanted] | None = None
) -> AsyncIterator[tuple[WebBench, Twin]]:
    async with Twin(name="Cellar") as twin:
        await twin.asense(DS1=21.5)
        async with watching(WatchedUnit("cellar", twin.url)) as bench:
            web = WebBench(bench, accounts, wanted)
            yield web, twin
            await web.changes.close()


async def test_state_of_a_unit_reads_like_that_of_a_controller() -> None:
    async with web_bench() as (bench, twin):
        assert (await bench.json("/api/state?unit=cellar"))["uptime"] is None
        await bench.bench.look()
        state = await bench.json("/api/state?unit=cellar")
        own = await twin.astate()
        assert state["DS1"] == own["DS1"] == 21.5
        assert state["profile"] == {"hw": "3.9", "sw": "1.75"}
        assert state["troubles"] == {}
        assert "DS1" not in (await bench.json("/api/units"))["units"][0]


async def test_figures_health_and_the_page_are_served() -> None:
    async with web_bench() as (bench, _):
        await bench.bench.look()
        metrics = await bench.ask("/metrics")
        assert b'leverframe_unit_reading{name="cellar",label="DS1"} 21.5' in metrics.body
        assert b"process_cpu_seconds_total" in metrics.body
        assert await bench.json("/health") == {"status": "ok"}
        page = await bench.ask("/")
        assert page.status == 200
        assert "default-src 'none'" in dict(page.headers)["Content-Security-Policy"]
        assert (await bench.ask("/web/units/app.js")).status == 200
        assert (await bench.ask("/nothing")).status == 404


async def test_unit_is_looked_at_and_read_by_post_alone() -> None:
    async with web_bench() as (bench, _):
        for path in ("/api/units/look?unit=cellar", "/api/units/pull?unit=cellar"):
            refused = await bench.ask(path)
            assert refused.status == 405
            assert dict(refused.headers)["Allow"] == "POST"
        assert (await bench.json("/api/units/look?unit=cellar", "POST"))["is_up"]
        assert len((await bench.json("/api/units/pull?unit=cellar", "POST"))["digest"]) == 64
        assert (await bench.ask("/api/units", "POST")).status == 405
        assert bench.bench.watcher.health["cellar"].looks == 1


@for_each(
    "headers",
    [
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Host": "elsewhere.example"},
    ],
)
async def test_pages_of_other_sites_change_nothing(headers: dict[str, str]) -> None:
    async with web_bench() as (bench, _):
        refused = await bench.ask("/api/units/look?unit=cellar", "POST", **headers)
        assert refused.status == 403
        assert bench.bench.watcher.health["cellar"].looks == 0


@pytest.mark.parametrize("target", ["/api/state", "/api/state?unit=attic", "/api/history?unit="])
async def test_unknown_unit_is_refused_with_those_that_there_are(target: str) -> None:
    async with web_bench() as (bench, _):
        refused = await bench.ask(target)
        assert refused.status == 404
        assert b"cellar" in refused.body


async def test_history_of_a_unit_is_answered_by_its_labels() -> None:
    async with web_bench() as (bench, _):
        await bench.bench.look()
        bench.recorder.samples += bench.bench.samples
        bench.bench.clock.move_to(bench.bench.clock.now() + 60)
        history = await bench.json("/api/history?unit=cellar&labels=DS1")
        assert history["series"]["DS1"]["values"] == [21.5]
        assert "OUT0" in (await bench.json("/api/history?unit=cellar"))["series"]
        assert (await bench.ask("/api/history?unit=cellar&labels=NONE")).status == 400


async def with_password() -> Accounts:
    return administrator_alone("admin", await Passwords().hash("a long password"))


RIGHT = UnitLogin("admin", "a long password").header()


async def test_password_is_required_for_everything_but_health() -> None:
    accounts = await with_password()
    wrong = UnitLogin("admin", "a wrong password").header()
    async with web_bench(accounts) as (bench, _):
        assert (await bench.ask("/health")).status == 200
        for target, method in (("/", "GET"), ("/metrics", "GET"), ("/api/units/look", "POST")):
            refused = await bench.ask(target, method)
            assert refused.status == 401
            assert dict(refused.headers)["WWW-Authenticate"].startswith("Basic")
        assert (await bench.ask("/metrics", Authorization=RIGHT)).status == 200
        assert (await bench.ask("/nothing", Authorization=RIGHT)).status == 404
        assert (await bench.ask("/metrics", Authorization=wrong)).status == 401
        assert bench.bench.watcher.health["cellar"].looks == 0


# --- changes --------------------------------------------------------------------------------------


def wants(folder: Path, name: str) -> dict[str, Wanted]:
    file = folder / "cellar.toml"
    file.write_text(f'[outputs.OUT0]\nname = "{name}"\n')
    return {"cellar": lambda profile: load_unit_file(file, profile=profile)}


async def test_unit_is_compared_planned_and_changed_by_the_plan_that_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = wants(tmp_path, "Pump")
    signed = {"Authorization": RIGHT}
    async with web_bench(await with_password(), wanted) as (bench, twin):
        (one,) = await bench.json("/api/units/diff?unit=cellar", "POST", **signed)
        assert (one["path"], one["unit"], one["file"]) == ("outputs.0.name", "nothing", '"Pump"')
        plan = await bench.json("/api/units/plan?unit=cellar", "POST", **signed)
        (step,) = plan["steps"]
        assert step["changes"] == [{"path": "outputs.0.name", "old": '""', "new": '"Pump"'}]
        assert (step["more"], step["doc"]) == (0, "Name an output.")
        assert step["request"].endswith("oname=0Pump")
        assert plan["left_out"] == []
        assert twin.settings["outputs"][0]["name"] == ""
        other = await bench.ask("/api/units/apply?unit=cellar&plan=other", "POST", **signed)
        assert other.status == 409
        apply = f"/api/units/apply?unit=cellar&plan={plan['key']}"
        assert (await bench.json(apply, "POST", **signed))["steps"] == 1
        assert (await bench.ask("/api/units/plan?unit=cellar", "POST", **signed)).status == 409
        await bench.changes.wait_until_done("cellar")
        (unit,) = (await bench.json("/api/units", **signed))["units"]
        assert unit["progress"] == {"done": 1, "steps": 1, "is_over": True, "trouble": ""}
        assert twin.settings["outputs"][0]["name"] == "Pump"
        # Never twice.
        assert (await bench.ask(apply, "POST", **signed)).status == 409


async def test_unit_that_was_changed_since_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    signed = {"Authorization": RIGHT}
    async with web_bench(await with_password(), wants(tmp_path, "Pump")) as (bench, twin):
        plan = await bench.json("/api/units/plan?unit=cellar", "POST", **signed)
        await twin.acommand("/stm.cgi?oname=1Lamp")
        await bench.json(f"/api/units/apply?unit=cellar&plan={plan['key']}", "POST", **signed)
        await bench.changes.wait_until_done("cellar")
        assert bench.changes.progress["cellar"].trouble
        assert twin.settings["outputs"][0]["name"] == ""
        # What was begun elsewhere has to be ended first.
        again = await bench.json("/api/units/plan?unit=cellar", "POST", **signed)
        ApplyJournal.begin(tmp_path / "journals", empty_plan("other")).close()
        apply = f"/api/units/apply?unit=cellar&plan={again['key']}"
        left = await bench.ask(apply, "POST", **signed)
        assert left.status == 409
        assert b"not finished" in left.body


async def test_plan_names_what_the_unit_does_not_show(tmp_path: Path) -> None:
    file = tmp_path / "cellar.toml"
    file.write_text('[email]\npassword = { env = "MAIL" }\n')

    def load_wanted(profile: Profile) -> UnitFile:
        secrets = KnownSecrets({"MAIL": "new words"})
        return load_unit_file(file, profile=profile, secrets=secrets)

    async with web_bench(wanted={"cellar": load_wanted}) as (bench, twin):
        await twin.acommand("/stm.cgi?em4=oldwords")
        plan = await bench.json("/api/units/plan?unit=cellar", "POST")
        unseen = {"path": "email.password", "fate": "set", "value": "***", "is_lost": True}
        assert plan["unseen"] == [unseen]
        assert "new words" not in str(plan)


async def test_another_unit_at_the_address_is_neither_compared_nor_changed(tmp_path: Path) -> None:
    signed = {"Authorization": RIGHT}
    async with web_bench(await with_password(), wants(tmp_path, "Pump")) as (bench, twin):
        await bench.bench.look()
        with twin.fault(faults.raw("mac", "02:00:00:00:00:01")):
            for what in ("diff", "plan"):
                refused = await bench.ask(f"/api/units/{what}?unit=cellar", "POST", **signed)
                assert refused.status == 409
                assert b"its MAC address is 02:00:00:00:00:01, not" in refused.body
            await bench.json("/api/units/pull?unit=cellar", "POST", **signed)
        health = bench.bench.watcher.health["cellar"]
        assert "02:00:00:00:00:01" in health.troubles["pull"]
        assert health.drift is None


async def test_without_a_password_or_a_file_nothing_is_changed(tmp_path: Path) -> None:
    async with web_bench(wanted=wants(tmp_path, "Pump")) as (bench, twin):
        plan = await bench.json("/api/units/plan?unit=cellar", "POST")
        refused = await bench.ask(f"/api/units/apply?unit=cellar&plan={plan['key']}", "POST")
        assert refused.status == 403
        assert not (await bench.json("/api/units"))["may_apply"]
        assert {request.method for request in twin.requests()} == {"GET"}
        with twin.fault(faults.status(401)):
            refused = await bench.ask("/api/units/plan?unit=cellar", "POST")
        assert b"in the inventory" in refused.body
    async with web_bench() as (bench, _):
        refused = await bench.ask("/api/units/plan?unit=cellar", "POST")
        assert refused.status == 409
        assert b"names no file" in refused.body
