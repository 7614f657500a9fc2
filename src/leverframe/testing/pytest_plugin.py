"""The pytest plugin: fixtures `twin`, `twin_factory` and `fleet`, which need no conftest.

`@pytest.mark.leverframe(hw="3.0", sw="1.58a", ...)` sets the parameters of the fixture `twin`; with
several marks on a test, or with `versions=[...]`, the test runs once for each. Marks of a class or
module apply to all its tests. `--leverframe-versions` sets the versions of tests that do not name
any. `module_twin` and `session_twin` are one twin for a module or a run, which tests share without
resetting it.

A failing test shows what happened in all twins that it started or could use. Seeds are derived from
the names of tests and fixtures, so that a test behaves the same in every run.

Importing this module loads nothing of the kit, because every run of pytest imports it, even without
a twin. It has no assertions for pytest to rewrite: PYTEST_DONT_REWRITE.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest

from leverframe.testing.seeds import seeds_from

if TYPE_CHECKING:
    from leverframe.testing.any_twin import AnyTwin
    from leverframe.testing.fleet import Fleet

MARK = "leverframe"
OPTION = "--leverframe-versions"
#: The fixture whose parameter describes the `twin` of a test.
VARIANT = "leverframe_variant"
#: The twin that the tests of a module share.
MODULE_TWIN = "module_twin"
#: Keywords of a mark that are not parameters of twins.
MARK_ONLY = ("versions", "process")
#: The maximum number of twins in the report of a failure: a fleet may have a thousand.
MAX_REPORTED = 10
#: Keywords other than `versions` that determine the version.
NAMES_VERSION = frozenset(("hw", "sw", "settings"))

Variant = dict[str, Any]


class LeakedTwin(UserWarning):
    """A test started a twin and did not close it."""


#: Twins that were started, and will be closed, by fixtures.
_MANAGED: "WeakSet[AnyTwin]" = WeakSet()
#: Twins that were started before a test and its fixtures.
_BEFORE = pytest.StashKey["WeakSet[AnyTwin]"]()
#: Twins that the test started itself.
_LEFT = pytest.StashKey["list[AnyTwin]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("leverframe", "twins of Leverframe")
    group.addoption(
        OPTION,
        default="newest",
        metavar="VERSIONS",
        help="versions for tests with the fixture `twin` that set no version; each test runs once"
        " per version: `newest`, `hardware` (each hardware with its newest software), `all`,"
        " or a list like"
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
    from leverframe.core.profile import UnknownProfile
    from leverframe.interface.table.versions import versions_from

    try:
        return versions_from(config.getoption(OPTION))
    except UnknownProfile as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from None


# --- parameters of twins --------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if VARIANT in metafunc.fixturenames:
        variants = _variants(metafunc.definition)
        if len(variants) > 1:
            metafunc.parametrize(VARIANT, variants, ids=_names(variants), indirect=True)
    module = metafunc.definition.getparent(pytest.Module)
    if MODULE_TWIN in metafunc.fixturenames and module is not None:
        variants = _variants(module)
        if len(variants) > 1:
            names = _names(variants)
            metafunc.parametrize(MODULE_TWIN, variants, ids=names, indirect=True, scope="module")


def _variants(test: pytest.Item | pytest.Module) -> list[Variant]:
    own = [mark for mark in test.own_markers if mark.name == MARK]
    outer: Variant = {}
    for mark in test.iter_markers(MARK):
        if mark not in own:
            outer = _within(_keywords(mark), outer)
    variants: list[Variant] = []
    # Marks of a function are listed from bottom to top.
    for keywords in [_keywords(mark) for mark in reversed(own)] or [{}]:
        variants += _by_version(_within(outer, keywords), test.config)
    return variants


def _within(outer: Variant, inner: Variant) -> Variant:
    """Combine the keywords of an outer and an inner mark; the inner mark takes precedence."""
    if inner.keys() & NAMES_VERSION:
        outer = {key: value for key, value in outer.items() if key != "versions"}
    return {**outer, **inner}


def _by_version(variant: Variant, config: pytest.Config) -> list[Variant]:
    from leverframe.interface.table.versions import version_parameters, versions_from

    versions = variant.pop("versions", None)
    if versions is None:
        if config.getoption(OPTION) == "newest" or variant.keys() & NAMES_VERSION:
            return [variant]
        versions = _versions(config)
    elif isinstance(versions, str):
        versions = versions_from(versions)
    if not versions:
        raise pytest.Collector.CollectError(f"@pytest.mark.{MARK} has no version in `versions`.")
    return [{**variant, **version_parameters(version)} for version in versions]


def _keywords(mark: pytest.Mark) -> Variant:
    if mark.args:
        raise pytest.Collector.CollectError(
            f"@pytest.mark.{MARK} accepts keyword arguments such as hw='3.0', not {mark.args!r}."
        )
    from leverframe.testing import BadCall, ProcessTwin, Twin
    from leverframe.testing.misuse import check_names

    kind = ProcessTwin if mark.kwargs.get("process") else Twin
    try:
        check_names(kind, f"@pytest.mark.{MARK}", mark.kwargs, MARK_ONLY)
    except BadCall as error:
        raise pytest.Collector.CollectError(str(error)) from None
    return dict(mark.kwargs)


def _names(variants: list[Variant]) -> list[str]:
    """Name each variant by its version, or by another parameter that differs."""
    names = [
        f"{one['hw']}/{one['sw']}" if {"hw", "sw"} <= one.keys() else f"twin{number}"
        for number, one in enumerate(variants)
    ]
    return names if len(set(names)) == len(names) else [f"twin{n}" for n in range(len(names))]


@pytest.fixture
def leverframe_variant(request: pytest.FixtureRequest) -> Variant:
    """Return the parameters of the twin of this test."""
    if hasattr(request, "param"):
        variant: Variant = request.param
        return variant
    return _variants(request.node)[0]


# --- fixtures -------------------------------------------------------------------------------------


def _factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "AnyTwin"]]:
    """Start twins, and close them when the fixture ends."""
    made: list[AnyTwin] = []

    def make(*, process: bool = False, **parameters: Any) -> "AnyTwin":
        from leverframe.testing import Twin
        from leverframe.testing.misuse import check_names

        _place_files(parameters, request)
        if not process:
            check_names(Twin, "twin_factory", parameters, MARK_ONLY)
        twin = Twin.process(**parameters) if process else Twin(**parameters)
        made.append(twin)
        _MANAGED.add(twin)
        return twin.start()

    yield make
    for one in reversed(made):
        one.close()


@pytest.fixture
def twin_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "AnyTwin"]]:
    """Start twins by `twin_factory(hw=..., process=True, ...)`; they are closed after the test."""
    yield from _factory(request)


@pytest.fixture(scope="module")
def module_twin_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "AnyTwin"]]:
    """Start twins as `twin_factory` does; they are closed after the last test of the module."""
    yield from _factory(request)


@pytest.fixture(scope="session")
def session_twin_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., "AnyTwin"]]:
    """Start twins as `twin_factory` does; they are closed at the end of the run."""
    yield from _factory(request)


@pytest.fixture
def twin(leverframe_variant: Variant, twin_factory: Callable[..., "AnyTwin"]) -> "AnyTwin":
    """Provide a controller in virtual time, of the newest version or of the mark's version."""
    return twin_factory(**leverframe_variant)


@pytest.fixture(scope="module")
def module_twin(
    request: pytest.FixtureRequest, module_twin_factory: Callable[..., "AnyTwin"]
) -> "AnyTwin":
    """Provide one controller to all tests of a module, with the parameters of the module's mark."""
    variant = request.param if hasattr(request, "param") else _variants(request.node)[0]
    return module_twin_factory(**variant)


@pytest.fixture(scope="session")
def session_twin(session_twin_factory: Callable[..., "AnyTwin"]) -> "AnyTwin":
    """Provide one controller of the newest version to all tests of a run."""
    return session_twin_factory()


@pytest.fixture
def fleet(request: pytest.FixtureRequest) -> Iterator[Callable[..., "Fleet"]]:
    """Start many twins that share one time, by `fleet(10, versions=[...])`."""
    fleets: list[Fleet] = []

    def make(count: int, versions: Any = (), **parameters: Any) -> "Fleet":
        from leverframe.testing import Fleet

        _place_files(parameters, request)
        one = Fleet(count, versions, **parameters)
        fleets.append(one)
        _MANAGED.update(one)
        return one.start()

    yield make
    for one in reversed(fleets):
        one.close()


def _place_files(parameters: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """Resolve a settings file or recording relative to the test, if it exists there."""
    # A session fixture belongs to no test file.
    folder = request.config.rootpath if request.scope == "session" else request.path.parent
    for key in ("settings", "recorded"):
        name = parameters.get(key)
        if isinstance(name, str) and (folder / name).exists():
            parameters[key] = Path(folder / name)


# --- seeds ----------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    # Use the fixture's own name: the selection of tests determines which of them uses a shared
    # fixture first.
    variant = getattr(request, "param_index", 0)
    with seeds_from(f"{request.node.nodeid} {fixturedef.argname} {variant}"):
        return (yield)


# --- leaks and reports ----------------------------------------------------------------------------


def _twins_of_process() -> "set[AnyTwin]":
    """Return the twins that were started in this process, without loading the kit."""
    kit = sys.modules.get("leverframe.testing.any_twin")
    return set() if kit is None else set(kit.STARTED_TWINS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEFORE] = WeakSet(_twins_of_process())
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = _twins_of_process()
    try:
        with seeds_from(item.nodeid):
            return (yield)
    finally:
        item.stash[_LEFT] = [twin for twin in _twins_of_process() - before if twin not in _MANAGED]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        left = item.stash.get(_LEFT, [])
        leaked = [twin for twin in left if twin.is_on and twin.ends_with_test]
        for twin in leaked:
            twin.close()
        left.clear()
        if leaked:
            warnings.warn(
                LeakedTwin(
                    f"{item.nodeid} left {len(leaked)} twins running; they were closed. Start"
                    " them with"
                    " `with`, or by the fixture twin_factory."
                ),
                stacklevel=1,
            )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    if report.failed:
        before = item.stash.get(_BEFORE, WeakSet())
        own: list[str] = []
        shared: list[str] = []
        for twin in sorted(_twins_of_process(), key=lambda twin: twin.number):
            is_shared = twin in before
            if (text := _report_of(twin, is_shared)) is not None:
                (shared if is_shared else own).append(text)
        # The twin that a test created last is most likely related to the failure.
        texts = [*own[-MAX_REPORTED:], *shared][:MAX_REPORTED]
        for number, text in enumerate(texts, start=1):
            again = f"To repeat this test: pytest {item.nodeid!r}"
            report.sections.append((f"leverframe twin {number}", f"{text}\n{again}"))
        if more := len(own) + len(shared) - len(texts):
            said = f"{more} more twins; twin.report() shows each."
            report.sections.append(("leverframe twins", said))
    return report  # type: ignore[no-any-return]


def _report_of(twin: "AnyTwin", is_shared: bool) -> str | None:
    """Return the report of a twin; None if it was closed before the test."""
    try:
        return twin.report() if twin.is_on else None if is_shared else twin.last_report
    except Exception as error:
        # A twin that was killed, or that a fault has frozen, must not hide the original failure.
        again = f"To recreate this twin: {twin.recipe}"
        return f"{twin!r} could not report what happened: {error}\n{again}"
