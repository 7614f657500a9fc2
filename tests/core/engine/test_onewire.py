"""DS1-DS8: readings by label and by ID, offsets, and looking through the bus."""

from leverframe.core.settings import NO_ONEWIRE_ID

from .measuring import Measuring

ID_A = "28:FF:00:00:00:00:00:0A"
ID_B = "28:FF:00:00:00:00:00:0B"


def test_reading_by_id_appears_at_the_position_that_names_the_id() -> None:
    bench = Measuring({"onewire.2.id": ID_A})
    bench.sense({ID_A: 21.5, ID_B: 5.0})
    assert bench.values["DS3"] == 21.5
    assert bench.values["DS1"] is None


def test_id_may_be_reported_in_small_letters() -> None:
    bench = Measuring({"onewire.0.id": ID_A})
    bench.sense({ID_A.lower(): 21.5})
    assert bench.values["DS1"] == 21.5


def test_naming_an_id_shows_what_that_sensor_reported_before() -> None:
    bench = Measuring()
    bench.sense({ID_A: 21.5})
    bench.set({"onewire.7.id": ID_A})
    assert bench.values["DS8"] == 21.5
    bench.set({"onewire.7.id": NO_ONEWIRE_ID})
    assert bench.values["DS8"] is None


def test_one_id_may_be_named_by_two_positions() -> None:
    bench = Measuring({"onewire.0.id": ID_A, "onewire.1.id": ID_A, "onewire.1.offset": 1.0})
    bench.sense({ID_A: 21.5})
    assert (bench.values["DS1"], bench.values["DS2"]) == (21.5, 22.5)


def test_id_of_zeros_names_no_sensor() -> None:
    bench = Measuring()
    bench.sense({NO_ONEWIRE_ID: 21.5})
    assert bench.values["DS1"] is None


def test_reading_by_label_wins_over_one_by_id() -> None:
    bench = Measuring({"onewire.0.id": ID_A})
    bench.sense({"DS1": 10.0, ID_A: 21.5})
    assert bench.values["DS1"] == 10.0
    bench.sense({ID_A: 22.5})
    assert bench.values["DS1"] == 10.0
    bench.sense({"DS1": None})
    assert bench.values["DS1"] == 22.5


def test_unplugged_sensor_is_absent_since_the_wall_time_it_went() -> None:
    bench = Measuring({"onewire.0.id": ID_A})
    bench.sense({ID_A: 21.5})
    bench.wait(10)
    bench.sense({ID_A: None})
    assert bench.values["DS1"] is None
    assert bench.machine.absent_since["DS1"] == bench.machine.at.wall


def test_sensor_that_leaves_the_bus_is_absent() -> None:
    bench = Measuring({"onewire.0.id": ID_A, "onewire.1.id": ID_B})
    bench.sense({"onewire": (ID_A, ID_B), ID_A: 21.5, ID_B: 5.0})
    bench.sense({"onewire": (ID_B,)})
    assert (bench.values["DS1"], bench.values["DS2"]) == (None, 5.0)


def test_offset_is_added_and_may_change() -> None:
    bench = Measuring({"onewire.0.offset": -0.5})
    bench.sense({"DS1": 20.1})
    assert bench.values["DS1"] == 19.6
    bench.set({"onewire.0.offset": 0.2})
    assert bench.values["DS1"] == 20.3
    assert bench.inputs.raw("DS1") == 20.1


def test_ids_come_one_after_another_then_the_end_of_the_list_then_again() -> None:
    bench = Measuring()
    bench.sense({"onewire": (ID_A, ID_B)})
    seen = []
    for _ in range(5):
        bench.inputs.next_onewire_id()
        seen.append(bench.machine.dsid)
    assert seen == [ID_A, ID_B, NO_ONEWIRE_ID, ID_A, ID_B]


def test_empty_bus_has_no_next_id() -> None:
    bench = Measuring()
    bench.sense({"onewire": (ID_A,)})
    bench.inputs.next_onewire_id()
    bench.sense({"onewire": ()})
    assert [bench.inputs.next_onewire_id() for _ in range(3)] == [NO_ONEWIRE_ID] * 3
    assert bench.machine.dsid == NO_ONEWIRE_ID


def test_changed_bus_is_read_from_its_start() -> None:
    bench = Measuring()
    bench.sense({"onewire": (ID_A,)})
    bench.inputs.next_onewire_id()
    bench.sense({"onewire": (ID_A, ID_B)})
    assert bench.inputs.next_onewire_id() == ID_A


def test_new_dsid_grows_the_version() -> None:
    bench = Measuring()
    bench.sense({"onewire": (ID_A,)})
    bench.version_grows()
    bench.inputs.next_onewire_id()
    assert bench.version_grows()
