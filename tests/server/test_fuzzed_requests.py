"""A short run of the fuzzed requests; the long one is a script (see `fuzzed_requests`)."""

from tests.server.fuzzed_requests import STRANGER, run


async def test_requests_that_are_nearly_right_do_no_harm() -> None:
    outcome = await run(6000, seed=1)
    answered = {role for role, status in outcome.statuses if status == 200}
    assert answered >= {"administrator", "user", "control user"}
    assert outcome.statuses[STRANGER, 401] > 1000
    assert outcome.statuses["administrator", 400] > 100
