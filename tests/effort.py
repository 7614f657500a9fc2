"""How hard the tests try: `quick` in every run, `thorough` or `long` with TEST_EFFORT.

Quick runs take a fifth of the examples of each property, but at least five; thorough ones take
three tenths, others than these. Where a property names a number of examples, it names that of a
long run: `@examples(400)`.
"""

import ast
import os
from collections.abc import Sequence
from typing import TypeVar

import hypothesis
from hypothesis import strategies

EFFORT = os.environ.get("TEST_EFFORT", "quick")
THOROUGH = EFFORT != "quick"
LONG_EXAMPLES = 100
#: Of cases that are counted out: one of so many.
SHARES = {"quick": 5, "thorough": 1, "long": 1}
#: Of ten examples of properties.
EXAMPLES_OF_TEN = {"quick": 2, "thorough": 3, "long": 10}
MIN_EXAMPLES = 5
#: Of the examples of a thorough run; the others follow from the name and code of each test.
THOROUGH_SEED = 1
#: Names that a module of tests imports from here if it tries less in a quick run.
SAMPLING = {"some_of", "SHARES"}

T = TypeVar("T")


def examples(count: int, **others: int) -> hypothesis.settings:
    """Settings of a property that takes this many examples in a long run."""
    share = max(count * EXAMPLES_OF_TEN[EFFORT] // 10, MIN_EXAMPLES)
    return hypothesis.settings(max_examples=min(count, share), **others)


def some_of(items: Sequence[T]) -> Sequence[T]:
    """Every fifth of them, evenly, in a quick run, the others in a thorough one; else all."""
    if EFFORT == "thorough":
        return [item for number, item in enumerate(items) if number % SHARES["quick"]]
    return items[:: SHARES[EFFORT]]


def prepare_examples() -> None:
    """Let Hypothesis read, before there are workers, what each of them would read for itself.

    Those are the constants of all modules, to draw from, and what UTF-8 can say: in a fresh clone
    eight seconds of a busy processor; later runs find them in `.hypothesis`.
    """

    @hypothesis.settings(max_examples=1)
    @hypothesis.given(strategies.from_regex("a", fullmatch=True))
    def draw(_: str) -> None:
        pass

    draw()


def sampling_names(source: str) -> set[str]:
    """Tests, functions and constants of a module that depend on how hard the tests try."""
    uses: dict[str, set[str]] = {}
    for statement in ast.parse(source).body:
        nodes = list(ast.walk(statement))
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        defined = {getattr(statement, "name", "")}
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            defined = {
                node.id
                for node in nodes
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
        uses |= dict.fromkeys(defined, used)
    found = set(SAMPLING)
    while more := {name for name, used in uses.items() if used & found} - found:
        found |= more
    return found - SAMPLING


def load_profile() -> None:
    """Take the same examples in every run, and set no limit on the time of one.

    A failure is never a matter of luck or of a busy machine.
    """
    if EFFORT not in SHARES:
        raise ValueError(f"TEST_EFFORT is {EFFORT!r}; it can be {' or '.join(SHARES)}")
    hypothesis.settings.register_profile(
        EFFORT,
        derandomize=EFFORT != "thorough",
        deadline=None,
        print_blob=True,
        database=None,
        max_examples=LONG_EXAMPLES * EXAMPLES_OF_TEN[EFFORT] // 10,
    )
    hypothesis.settings.load_profile(EFFORT)
    if EFFORT == "thorough":
        # As by --hypothesis-seed.
        hypothesis.core.global_force_seed = THOROUGH_SEED
