"""Tests in several workers are reported as in one process."""

from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
WORKERS = (
    *("-p", "tools.workers", "--workers", "3", "-p", "no:cacheprovider"),
    # Declares what is reported of a worker that is done.
    *("-p", "xdist.plugin"),
)


@pytest.fixture(autouse=True)
def only_these_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the runs find the plug-in from whatever folder they begin in, and load few others."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def outcome(pytester: pytest.Pytester) -> pytest.RunResult:
    """What is reported of tests that pass, fail, write, use folders, and end their worker."""
    pytester.makepyfile(
        test_these="""
        import os

        import pytest

        FOUND_BY = os.getpid()

        @pytest.fixture(scope="module")
        def kept():
            yield os.getpid()
            print("closed")

        @pytest.mark.parametrize("number", range(20))
        def test_one(number, kept, tmp_path, capfd):
            assert (kept, os.getppid()) == (os.getpid(), FOUND_BY)
            assert os.environ["PYTEST_XDIST_WORKER"] in str(tmp_path)
            os.system("echo heard")
            assert capfd.readouterr().out == "heard\\n"

        def test_failing():
            print("said before")
            assert 1 == 2

        def test_ending_its_worker():
            os._exit(3)

        def test_behind_it():
            pass
        """
    )
    return pytester.runpytest_subprocess(*WORKERS)


def test_each_test_runs_once_and_is_reported(outcome: pytest.RunResult) -> None:
    outcome.assert_outcomes(passed=21, failed=2)
    for line in ("*assert 1 == 2*", "said before", "Worker ? ended while it ran this test."):
        outcome.stdout.fnmatch_lines(line)
    assert outcome.ret == pytest.ExitCode.TESTS_FAILED


def test_workers_stop_at_the_first_failure_on_request(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n\n@pytest.mark.parametrize('n', range(200))\ndef test(n): assert n"
    )
    outcome = pytester.runpytest_subprocess(*WORKERS, "-x")
    outcome.stdout.fnmatch_lines("*stopping after 1 failures*")
    assert outcome.parseoutcomes()["passed"] < 199


def test_thread_that_no_worker_would_have_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading

        threading.Thread(target=threading.Event().wait, name="left on", daemon=True).start()

        def test_nothing():
            pass
        """
    )
    outcome = pytester.runpytest_subprocess(*WORKERS)
    assert outcome.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "left on" in outcome.stdout.str() + outcome.stderr.str()
