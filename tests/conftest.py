"""What all tests share: repeatable property tests, and the mark for programs from outside.

`@pytest.mark.needs_program("mbpoll")` skips a test, and says why, where the program is missing.
The Debian package that brings the program belongs in requirements/debian.txt.
"""

import os
import shutil

import hypothesis
import pytest

# Servers such as snmpd live in the sbin folders, which an ordinary user's path leaves out.
PROGRAM_FOLDERS = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

# The same examples in every run, and no limit on the time of one: a failure is never a matter of
# luck or of a busy machine.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, print_blob=True, database=None
)
hypothesis.settings.load_profile("repeatable")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs_program"):
        (name,) = mark.args
        if shutil.which(name, path=PROGRAM_FOLDERS) is None:
            pytest.skip(
                f"needs the program {name}, which is not installed here;"
                " its Debian package is in requirements/debian.txt"
            )
