"""The example of every row is a request that the row takes, on every version."""

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import example_body, example_request
from leverframe.interface.table.bodies import Upload
from leverframe.interface.table.lookup import TABLE, Call, find
from leverframe.interface.table.row import Row
from leverframe.interface.table.versions import params_of
from tests.boundary_profiles import profiles_that_change
from tests.cases import for_each

CASES = [
    (row, profile)
    for number, row in enumerate(TABLE)
    for profile in profiles_that_change(number)
    if row.is_offered(profile)
]
IDS = [f"{row.line} {profile}" for row, profile in CASES]


@for_each(("row", "profile"), CASES, ids=IDS)
def test_example_is_taken_by_its_row(row: Row, profile: Profile) -> None:
    method, target = example_request(row, profile).split(" ")
    assert (method, target.partition("?")[0]) == (row.form.method, row.form.path)
    query = target.partition("?")[2]
    if query:
        (call,) = find(method, row.form.path, query.split("&"), profile)
        assert isinstance(call, Call)
        assert call.row is row


@for_each(("row", "profile"), CASES, ids=IDS)
def test_example_of_a_body_is_read_by_its_row(row: Row, profile: Profile) -> None:
    example = example_body(row, profile)
    if example is None:
        assert row.body is None or isinstance(row.body, Upload)
    else:
        assert row.body is not None
        assert row.body.read(example.encode(), "", profile)


@for_each("row", TABLE, ids=lambda row: row.line)
def test_texts_chosen_for_an_example_are_of_fields_of_the_row(row: Row) -> None:
    assert set(row.example) <= set(params_of(row))
