"""What a start decides when nothing can be saved, before anything is served."""

from datetime import UTC
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import build
from leverframe.host.configuration import Config
from leverframe.host.reach import NoAdministrator, ensure_sign_in
from leverframe.host.start_version import CannotBecome, settle_version
from leverframe.server.http.certificate import CertificateUnusable, own_certificate
from leverframe.storage.sqlite import ReadOnlyStore
from leverframe.storage.store import Changes, MemoryStore, Rows, StoreUnavailable
from leverframe.testing import LoopTwin

OLD = Config(hw="3.0", sw="1.58a")
SENTENCE = "The store cannot be written."


async def read_only(config: Config = OLD) -> ReadOnlyStore:
    """The store of a controller that has run with this configuration."""
    written = MemoryStore()
    settled = await settle_version(written, config.version, written.load())
    twin = await LoopTwin.start(settled.profile, store=written)
    await twin.ok("/stm.cgi?oname=0Pump")
    return ReadOnlyStore(written._rows, SENTENCE)


@pytest.mark.parametrize("config", [OLD, Config(), Config(sw="1.58a")])
async def test_controller_that_stays_what_it_was_starts(config: Config) -> None:
    store = await read_only()
    profile, _ = await settle_version(store, config.version, store.load())
    assert profile == Profile("3.0", "1.58a")
    twin = await LoopTwin.start(profile, store=store)
    assert (await twin.settings())["outputs"][0]["name"] == "Pump"
    await twin.refused("/stm.cgi?oname=0Lamp", 507)
    await twin.ok("/outs.cgi?out0=1")
    assert await twin.outputs() == "100000"


async def test_another_version_is_refused_by_both_names() -> None:
    store = await read_only()
    with pytest.raises(CannotBecome) as refused:
        await settle_version(store, Config(hw="3.9", sw="1.75").version, store.load())
    assert str(refused.value) == (
        "The controller has version HW 3.0 SW 1.58a and cannot change to HW 3.9 SW 1.75 now. "
        f"{SENTENCE}"
    )


async def test_strangers_do_not_reach_a_controller_without_usable_accounts() -> None:
    with pytest.raises(NoAdministrator, match=r"no administrator yet.*cannot be written"):
        await ensure_sign_in(await read_only(), as_json=False)
    known = ReadOnlyStore(Rows(settings={"access.admin.password": '"hash"'}), SENTENCE)
    await ensure_sign_in(known, as_json=False)


def test_failed_certificate_creation_is_reported_with_a_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.touch()
    with pytest.raises(CertificateUnusable, match=r"cannot be created: .+ --tls-certificate"):
        own_certificate(folder, "name", ())


async def test_store_from_before_cookies_had_names_of_their_own_starts_read_only() -> None:
    written = MemoryStore()
    kept = {"identity.mac": "02:00:00:00:00:01", "identity.name": "old"}
    await written.commit(Changes(kept=kept))
    built = await build(Profile(), ReadOnlyStore(written._rows, SENTENCE), VirtualClock(), UTC)
    assert (built.name, built.mac) == ("old", "02:00:00:00:00:01")
    with pytest.raises(StoreUnavailable):
        await build(Profile(), ReadOnlyStore(Rows(), SENTENCE), VirtualClock(), UTC)
