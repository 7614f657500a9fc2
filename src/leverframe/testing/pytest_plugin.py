"""The pytest plugin: fixtures `twin`, `twin_factory` and `fleet`, there without a conftest.

`@pytest.mark.leverframe(hw="3.0", sw="1.58a", ...)` says what the fixture `twin` starts; several
marks on one test, or `versions=[...]` in one, run it once for each. Marks of a class or module hold
for all its tests. `--leverframe-versions` names the versions for tests that name none themselves.

Importing this loads nothing of the kit: every run of pytest imports it, also those without a twin.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from leverframe.testing.any_twin import AnyTwin
    from leverframe.testing.fleet import Fleet

MARK = "leverframe"
OPTION = "--leverframe-versions"
#: The fixture whose parameter says what the `twin` of a test is.
VARIANT = "leverframe_variant"
#: Keywords that say which version it is, beside `versions`.
NAMES_VERSION = frozenset(("hw", "sw", "settings"))

Variant = dict[str, Any]


class LeakedTwin(UserWarning):
    """A test started a twin and did not close it."""


_MADE = pytest.StashKey["list[AnyTwin]"]()
_LEFT = pytest.StashKey["list[AnyTwin]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("leverframe", "twins of Leverframe")
    group.addoption(
        OPTION,
        default="newest",
        metavar="VERSIONS",
        help="run tests with the fixture `twin` that name no version once for each of these:"
        " `newest`, `hardware` (each hardware with its newest software), `all`, or a list like"
        " 3.0/1.58a,3.5/1.49",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(hw, sw, mac, name, start, timezone, settings, accounts, tls, modbus, snmp, mqtt,"
        " lenient, recorded, seed, versions, process, data): what the fixture `twin` starts",
    )
    if config.getoption(OPTION) != "newest":
        _versions(config)


def _versions(config: pytest.Config) -> list[str]:
    from leverframe.profile import UnknownProfile
    from leverframe.testing.versions import versions_from

    try:
        return versions_from(config.getoption(OPTION))
    except UnknownProfile as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from None


# --- what the twin of a test is -------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if VARIANT not in metafunc.fixturenames:
        return
    variants = _variants(metafunc.definition)
    if len(variants) > 1:
        metafunc.parametrize(VARIANT, variants, ids=_names(variants), indirect=True)


def _variants(test: pytest.Item) -> list[Variant]:
    own = [mark for mark in test.own_markers if mark.name == MARK]
    outer: Variant = {}
    for mark in test.iter_markers(MARK):
        if mark not in own:
            outer = _within(_keywords(mark), outer)
    variants: list[Variant] = []
    # The marks of a function are listed from the bottom up.
    for keywords in [_keywords(mark) for mark in reversed(own)] or [{}]:
        variants += _by_version(_within(outer, keywords), test.config)
    return variants


def _within(outer: Variant, inner: Variant) -> Variant:
    """Return what an outer mark says, and whatever an inner one says itself."""
    if inner.keys() & NAMES_VERSION:
        outer = {key: value for key, value in outer.items() if key != "versions"}
    return {**outer, **inner}


def _by_version(variant: Variant, config: pytest.Config) -> list[Variant]:
    from leverframe.testing.versions import version_parameters, versions_from

    versions = variant.pop("versions", None)
    if versions is None:
        if config.getoption(OPTION) == "newest" or variant.keys() & NAMES_VERSION:
            return [variant]
        versions = _versions(config)
    elif isinstance(versions, str):
        versions = versions_from(versions)
    if not versions:
        raise pytest.UsageError(f"@pytest.mark.{MARK} has no version in `versions`.")
    return [{**variant, **version_parameters(version)} for version in versions]


def _keywords(mark: pytest.Mark) -> Variant:
    if mark.args:
        raise pytest.UsageError(
            f"@pytest.mark.{MARK} takes keywords such as hw='3.0', not {mark.args!r}."
        )
    return dict(mark.kwargs)


def _names(variants: list[Variant]) -> list[str]:
    """Name each variant by its version, or by what else differs."""
    names = [
        f"{one['hw']}/{one['sw']}" if {"hw", "sw"} <= one.keys() else f"twin{number}"
        for number, one in enumerate(variants)
    ]
    return names if len(set(names)) == len(names) else [f"twin{n}" for n in range(len(names))]


@pytest.fixture
def leverframe_variant(request: pytest.FixtureRequest) -> Variant:
    """Return what the twin of this test is."""
    if hasattr(request, "param"):
        variant: Variant = request.param
        return variant
    return _variants(request.node)[0]


# --- fixtures -------------------------------------------------------------------------------------


@pytest.fixture
def twin_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "AnyTwin"]]:
    """Start twins by `twin_factory(hw=..., process=True, ...)`; they are closed after the test."""
    made: list[AnyTwin] = request.node.stash.setdefault(_MADE, [])

    def make(*, process: bool = False, **parameters: Any) -> "AnyTwin":
        from leverframe.testing import Twin

        _place_files(parameters, request.path.parent)
        parameters.setdefault("seed", _seed(request.node.nodeid, len(made)))
        twin = Twin.process(**parameters) if process else Twin(**parameters)
        made.append(twin)
        return twin.start()

    yield make
    for one in reversed(made):
        one.close()


@pytest.fixture
def twin(leverframe_variant: Variant, twin_factory: Callable[..., "AnyTwin"]) -> "AnyTwin":
    """Provide a controller on virtual time, of the newest version or as the mark says."""
    return twin_factory(**leverframe_variant)


@pytest.fixture
def fleet(request: pytest.FixtureRequest) -> Iterator[Callable[..., "Fleet"]]:
    """Start many twins that share one time, by `fleet(10, versions=[...])`."""
    made: list[AnyTwin] = request.node.stash.setdefault(_MADE, [])
    fleets: list[Fleet] = []

    def make(count: int, versions: Any = (), **parameters: Any) -> "Fleet":
        from leverframe.testing import Fleet

        _place_files(parameters, request.path.parent)
        parameters.setdefault("seed", _seed(request.node.nodeid, len(made)))
        one = Fleet(count, versions, **parameters)
        fleets.append(one)
        made.extend(one)
        return one.start()

    yield make
    for one in reversed(fleets):
        one.close()


def _seed(nodeid: str, number: int) -> int:
    """Return a seed that is the same in every run, and another one for every twin."""
    return crc32(f"{nodeid} {number}".encode())


def _place_files(parameters: dict[str, Any], folder: Path) -> None:
    """Take the name of a settings file or recording as one beside the test, if it is there."""
    for key in ("settings", "recorded"):
        name = parameters.get(key)
        if isinstance(name, str) and (folder / name).exists():
            parameters[key] = folder / name


# --- leaks and reports ----------------------------------------------------------------------------


def _started() -> "set[AnyTwin]":
    """Return the twins that were started in this process, without loading the kit."""
    kit = sys.modules.get("leverframe.testing.any_twin")
    return set() if kit is None else set(kit.STARTED_TWINS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = _started()
    try:
        return (yield)
    finally:
        own = item.stash.get(_MADE, [])
        item.stash[_LEFT] = [twin for twin in _started() - before if twin not in own]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        leaked = [twin for twin in item.stash.get(_LEFT, []) if twin.is_on]
        for twin in leaked:
            twin.close()
        if leaked:
            warnings.warn(
                LeakedTwin(
                    f"{item.nodeid} left {len(leaked)} twins on; they were closed. Start them with"
                    " `with`, or by the fixture twin_factory."
                ),
                stacklevel=1,
            )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    if report.when == "call" and report.failed:
        twins = [*item.stash.get(_MADE, []), *item.stash.get(_LEFT, [])]
        for number, twin in enumerate(twins, start=1):
            text = _report_of(twin)
            if text is not None:
                repeat = f"The same again: pytest {item.nodeid!r}, or seed={twin.seed}."
                report.sections.append((f"leverframe twin {number}", f"{text}\n{repeat}"))
    return report  # type: ignore[no-any-return]


def _report_of(twin: "AnyTwin") -> str | None:
    try:
        return twin.report() if twin.is_on else twin.last_report
    except Exception as error:
        # A twin that was killed, or is frozen by a fault, must not hide the failure itself.
        return f"{twin!r} could not tell what happened: {error}"
