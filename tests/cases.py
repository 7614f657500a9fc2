"""Many cases of one rule in one test: `@for_each` where `pytest.mark.parametrize` would make
hundreds of tests that take microseconds each.

A test costs pytest and its workers four milliseconds of processor time. All cases run, and each
failure is reported by its name.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., Any]
Case = tuple[str, dict[str, Any]]


def for_each(
    names: str | Sequence[str],
    cases: Iterable[Any],
    *,
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Test], Test]:
    """Run a test once for each case; cases and `ids` are those of `pytest.mark.parametrize`.

    Fixtures are shared by all cases of a test.
    """
    report = _name_cases([names] if isinstance(names, str) else list(names), list(cases), ids)

    def decorate(test: Test) -> Test:
        def run_all(**others: Any) -> None:
            faults: list[Exception] = []
            for name, case in report:
                try:
                    test(**case, **others)
                except Exception as fault:
                    faults.append(_add_name(fault, name))
            _raise(faults, report)

        async def await_all(**others: Any) -> None:
            faults: list[Exception] = []
            for name, case in report:
                try:
                    await test(**case, **others)
                except Exception as fault:
                    faults.append(_add_name(fault, name))
            _raise(faults, report)

        together = await_all if inspect.iscoroutinefunction(test) else run_all
        functools.update_wrapper(together, test)
        signature = inspect.signature(test)
        left = [one for one in signature.parameters.values() if one.name not in report[0][1]]
        together.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return together

    return decorate


def _name_cases(
    names: list[str], cases: list[Any], ids: Callable[[Any], object] | Sequence[str] | None
) -> list[Case]:
    """Name every case. A test without any would pass whatever it says."""
    assert cases, f"there is no case of {', '.join(names)}"
    report = []
    for number, case in enumerate(cases):
        values = case if len(names) > 1 else [case]
        name = repr(case)
        if isinstance(case, type(pytest.param())):
            assert not case.marks, "a case of a test has no marks of its own"
            values, name = case.values, str(case.id)
        elif callable(ids):
            name = ", ".join(str(ids(value)) for value in values)
        elif ids is not None:
            name = ids[number]
        report.append((name, dict(zip(names, values, strict=True))))
    return report


def _add_name(fault: Exception, name: str) -> Exception:
    fault.add_note(f"in the case {name}")
    return fault


def _raise(faults: list[Exception], cases: list[Case]) -> None:
    if faults:
        raise ExceptionGroup(f"{len(faults)} of {len(cases)} cases", faults)
