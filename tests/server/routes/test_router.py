"""The HTTP contract, through the one request function."""

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.interface.descriptions.listing import example_request
from leverframe.interface.table.lookup import TABLE
from leverframe.server.routes.headers import PAGE_HEADERS
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin
from tests.cases import for_each

#: Commands about the lock itself, and those that concern the controller as a whole.
EXEMPT = frozenset(("outblock", "devrestart", "eeprom_reset", "upgrade"))


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


async def test_command_answers_xml_with_the_states_after_it(twin: LoopTwin) -> None:
    reply = await twin.ok("/outs.cgi?out2=1&pwm1=1&vout3=1")
    assert reply.content_type == "text/xml"
    assert reply.body == (b"<response>\n<out>001000</out>\n<pwm>2</pwm>\n<ev>8</ev>\n</response>\n")


@pytest.mark.parametrize(
    "path", ["/outs.cgi", "/stm.cgi", "/inpa.cgi", "/eeprom.cgi", "/outs.cgi?"]
)
async def test_endpoint_without_a_query_answers_the_status_reply(twin: LoopTwin, path: str) -> None:
    assert (await twin.ok(path)).body.startswith(b"<response>\n<out>000000</out>\n")


async def test_joined_commands_run_in_order(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out=out1&out=out1&out=out2")
    assert await twin.outputs() == "001000"


async def test_later_command_sees_what_an_earlier_one_set(twin: LoopTwin) -> None:
    await twin.refused("/inpa.cgi?igain=03", 409)
    await twin.ok("/inpa.cgi?sensor=01&igain=03")
    assert (await twin.settings())["analog_inputs"][0]["gain"] == 50


async def test_one_bad_command_voids_the_whole_request(twin: LoopTwin) -> None:
    before = await twin.settings()
    problem = await twin.refused("/stm.cgi?oname=0Lamp&oname=9Pump&outblock=1", 400)
    assert problem["command"] == "oname=9Pump"
    assert problem["field"] == "A"
    assert problem["allowed"] == "0 to 5"
    assert "Field A" in problem["detail"]
    assert "0 to 5" in problem["detail"]
    assert await twin.settings() == before


async def test_lenient_controller_skips_bad_commands() -> None:
    twin = await LoopTwin.start(lenient=True)
    await twin.ok("/stm.cgi?oname=0Lamp&oname=9Pump&zzz=1&oname=1Pump")
    await twin.ok("/inpa.cgi?igain=03&sensor=01")
    settings = await twin.settings()
    assert [output["name"] for output in settings["outputs"][:2]] == ["Lamp", "Pump"]
    assert settings["analog_inputs"][0] == settings["analog_inputs"][1] | {"sensor": "vin=3.3V/5V"}


async def test_lenient_controller_skips_a_bad_body() -> None:
    twin = await LoopTwin.start(lenient=True)
    before = await twin.settings()
    await twin.ok("/post.cgi?mod_custom_save", "POST", b"no list")
    assert await twin.settings() == before


@for_each("upload", ["settingsupload", "pictureupload", "wwwfileupload"])
@for_each("body", [b"", b"no such file"])
@for_each("lenient", [False, True])
async def test_bad_upload_is_refused_also_by_a_lenient_controller(
    upload: str, body: bytes, lenient: bool
) -> None:
    twin = await LoopTwin.start(lenient=lenient)
    assert (await twin.ask(f"/post.cgi?{upload}", "POST", body)).status == 400


async def test_lenient_controller_logs_each_skipped_command() -> None:
    twin = await LoopTwin.start(lenient=True)
    for _ in range(2):
        await twin.ok("/outs.cgi?out0=1&out9=1")
    texts = [entry["text"] for entry in await twin.json("/api/log")]
    report = "skipped out9=1: Field A: 9 is outside 0 to 5. Allowed: 0 to 5."
    assert texts.count(report) == 2


async def test_body_that_no_command_takes_is_refused(twin: LoopTwin) -> None:
    reply = await twin.ask("/outs.cgi?out0=1", "POST", b"out0=1")
    assert reply.status == 400
    assert await twin.outputs() == "000000"


async def test_locked_output_refuses_the_whole_request_from_outside(twin: LoopTwin) -> None:
    await twin.refused("/stm.cgi?outblock=1&pwm0=1", 423)
    await twin.ok("/stm.cgi?outblock=1")
    for command in ("out0=1", "out=out0", "out=01", "pwm0=1", "pwm=pwm0", "out0=0"):
        await twin.refused(f"/outs.cgi?{command}", 423)
    await twin.ok("/outs.cgi?vout0=1")
    assert await twin.outputs() == "000000"


async def test_no_command_of_a_client_moves_a_pin_while_outputs_are_locked(twin: LoopTwin) -> None:
    board = twin.controller.board
    assert isinstance(board, SimulatedBoard)
    await twin.ok("/stm.cgi?pwmd=050&pwmt=02&pwm0=1")
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/stm.cgi?pwmd=070&outblock=1")
    await twin.controller.advance(3)
    before = list(board.history)
    for row in TABLE:
        if row.form.method == "GET" and row.form.items and row.form.items[0].key not in EXEMPT:
            await twin.ask(example_request(row, Profile()).removeprefix("GET "))
    moved = [one for one in board.history if one not in before and "pull-up" not in one.what]
    assert moved == []


@pytest.mark.parametrize("body", [b"out0=1", b"out0=1&out2=1\r\n"])
async def test_commands_may_be_sent_as_a_form_in_the_body(twin: LoopTwin, body: bytes) -> None:
    reply = await twin.ask(
        "/outs.cgi", "POST", body, content_type="application/x-www-form-urlencoded"
    )
    assert reply.status == 200
    assert (await twin.outputs())[0] == "1"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/outs.cgi", b"out9=1", 400),
        ("/outs.cgi", b'{"out0": 1}', 404),
        ("/outs.cgi", "wyjście=1".encode(), 400),
        ("/post.cgi", b"oled_save", 400),
        ("/outs.cgi", b"out0=1&nothing=1", 404),
    ],
)
async def test_body_that_is_no_form_of_commands_is_refused(
    twin: LoopTwin, path: str, body: bytes, status: int
) -> None:
    reply = await twin.ask(path, "POST", body)
    assert reply.status == status
    assert await twin.outputs() == "000000"


async def test_doubled_slashes_are_taken_by_a_lenient_controller_only(twin: LoopTwin) -> None:
    await twin.refused("//outs.cgi?out0=1", 404)
    lenient = await LoopTwin.start(lenient=True)
    await lenient.ok("//outs.cgi?out0=1")
    assert (await lenient.ask("///json//status.json")).status == 200
    assert await lenient.outputs() == "100000"


@pytest.mark.parametrize(
    ("code", "source"),
    [(54, "EVENT1"), (58, "OUT0"), (63, "OUT5"), (67, "EVENT8"), (68, "MQTT"), (76, "PWM3")],
)
async def test_sources_in_the_codes_of_hw_30_are_taken_by_a_lenient_controller_only(
    twin: LoopTwin, code: int, source: str
) -> None:
    command = f"/inpa.cgi?event=0*{code}*0*1*0*1*0*{code}*0*1*0*0"
    await twin.refused(command, 400)
    lenient = await LoopTwin.start(lenient=True)
    await lenient.ok(command)
    (rule,) = (await lenient.settings())["rules"]
    assert (rule["source"], rule["source2"]) == (source, source)


@pytest.mark.parametrize("code", [69, 72, 77])
async def test_source_that_no_hardware_has_is_skipped_by_a_lenient_controller(code: int) -> None:
    lenient = await LoopTwin.start(lenient=True)
    await lenient.ok(f"/inpa.cgi?event=0*{code}*0*1*0*0*0*0*0*0*0*0")
    assert (await lenient.settings())["rules"] == []


@pytest.mark.parametrize(("days", "count"), [(128, 7), (129, 1), (255, 7), (384, None)])
async def test_bit_7_of_the_days_never_makes_an_entry_that_never_runs(
    twin: LoopTwin, days: int, count: int | None
) -> None:
    body = f"&s0=Lamp*0*1*60*0*{days}*1&&".encode()
    reply = await twin.ask("/post.cgi?sched_save", "POST", body)
    assert reply.status == (400 if count is None else 200)
    entry = (await twin.settings())["schedule"][0]
    assert count is None or len(entry["days"]) == count


async def test_commands_may_be_sent_with_post(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1", "POST")
    assert await twin.outputs() == "100000"


async def test_head_request_switches_nothing(twin: LoopTwin) -> None:
    assert (await twin.ask("/outs.cgi?out0=1", "HEAD")).status == 405
    assert await twin.outputs() == "000000"


async def test_command_with_a_body_takes_only_post(twin: LoopTwin) -> None:
    problem = await twin.refused("/post.cgi?oled_save", 405)
    assert problem["allowed"] == "POST"


@pytest.mark.parametrize(
    "target", ["/nothing", "/st2.xml", "/stm.cgi?nothing=1", "/api/nothing", "/outs.cgi?oname=0x"]
)
async def test_missing_resource_is_404(twin: LoopTwin, target: str) -> None:
    await twin.refused(target, 404)


async def test_unknown_command_says_where_it_exists(twin: LoopTwin) -> None:
    assert "/stm.cgi" in (await twin.refused("/outs.cgi?oname=0x", 404))["detail"]


async def test_command_of_another_version_names_the_version() -> None:
    old = await LoopTwin.start(Profile("3.5", "1.29"))
    assert "1.30" in (await old.refused("/stm.cgi?pwmt=01", 404))["detail"]
    new = await LoopTwin.start()
    assert "1.49" in (await new.refused("/inpa.cgi?diffzsel=01", 410))["detail"]


async def test_more_than_a_hundred_commands_are_refused(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?" + "&".join(["out0=1"] * 100))
    await twin.refused("/outs.cgi?" + "&".join(["out0=1"] * 101), 400)


async def test_files_take_only_get(twin: LoopTwin) -> None:
    await twin.refused("/json/status.json", 405, "POST")


async def test_file_is_built_again_only_when_something_changed(twin: LoopTwin) -> None:
    first = await twin.ok("/json/status.json")
    assert await twin.ok("/json/status.json") is first
    await twin.ok("/outs.cgi?out0=1")
    assert (await twin.ok("/json/status.json")).body != first.body


async def test_secrets_are_masked(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?em4=canary1&gsmcode=canary2&mqtt=0**1883**canary3*x*0")
    await twin.ok("/stm.cgi?snmp=0*canary4*canary5")
    for path in ("/api/settings", "/json/status.json", "/xml/st.xml", "/dev_settings.bin"):
        assert b"canary" not in (await twin.ok(path)).body
    settings = await twin.settings()
    assert settings["email"]["password"] == "***"
    assert settings["snmp"]["authentication_key"] is None


async def test_restart_keeps_settings_and_clears_the_flag(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?roafs=01&out0=1&out1=1")
    await twin.ok("/stm.cgi?restart_power_on=1")
    assert (await twin.json("/json/status.json"))["restart"] == "1"
    await twin.ok("/stm.cgi?devrestart=1")
    assert (await twin.json("/json/status.json"))["restart"] == "0"
    assert await twin.outputs() == "100000"


@pytest.mark.parametrize(
    ("query", "flag", "pwm"),
    [
        ("devrestart=1&restart_power_on=1&pwm0=1", "1", 1),
        ("restart_power_on=1&pwm0=1&devrestart=1", "0", 0),
        ("pwm0=1&devrestart=1&restart_power_on=1&oname=0Lamp", "1", 0),
        ("restart_power_on=1&devrestart=1&pwm0=1&devrestart=1", "0", 0),
    ],
)
async def test_restart_comes_in_its_turn(twin: LoopTwin, query: str, flag: str, pwm: int) -> None:
    await twin.ok(f"/stm.cgi?{query}")
    assert (await twin.json("/json/status.json"))["restart"] == flag
    assert (await twin.state())["PWM0"] == pwm


async def test_remembered_state_is_on_disk_before_and_after_a_restart_in_a_request() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/outs.cgi?roafs=01&roafs=11")
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/stm.cgi?devrestart=1")
    assert await twin.outputs() == "100000"
    assert await (await LoopTwin.start(store=store)).outputs() == "100000"


@pytest.mark.parametrize("fields", [14, 15])
async def test_event_entry_with_fields_that_no_version_printed_is_refused(fields: int) -> None:
    command = "/inpa.cgi?event=" + "*".join(["0"] * fields)
    problem = await (await LoopTwin.start()).refused(command, 400)
    assert "11, 12, 13 or 16 fields" in problem["detail"]
    lenient = await LoopTwin.start(lenient=True)
    await lenient.ok(command)
    assert len((await lenient.settings())["rules"]) == 1


@pytest.mark.parametrize("star", ["%2A", "%2a"])
async def test_encoded_asterisk_separates_what_are_only_numbers(twin: LoopTwin, star: str) -> None:
    await twin.ok("/inpa.cgi?event=0*10*0*2150*50*0*2*0*0*0*0*0*1*0*0*0".replace("*", star))
    await twin.ok(f"/stm.cgi?pidvalue=1*10{star}215*500*10*0*0".replace("*", star))
    await twin.ok(f"/stm.cgi?postop=0*{'*'.join(['7'] * 79)}".replace("*", star))
    settings = await twin.settings()
    assert (settings["rules"][0]["reference"], settings["pid"]["target"]) == (21.5, 21.5)
    await twin.ok("/stm.cgi?gsmsms1=a%2Ab*c")
    assert (await twin.settings())["gsm"]["sms"][0]["on_text"] == "a*b"


@pytest.mark.parametrize("value", ["-0", "-0.0"])
async def test_minus_zero_is_never_shown(twin: LoopTwin, value: str) -> None:
    await twin.ok("/inpa.cgi?sensor=01")
    await twin.ok(
        f"/sim.cgi?DS1={value}&T1={value}&m1={value}&INPA1={value}&{'28' + ':00' * 7}={value}"
    )
    await twin.ok("/inpa.cgi?diffsel=0*6*0*6")
    for path in ("/api/state", "/json/status.json", "/json/all.json", "/metrics", "/api/sim"):
        assert b"-0.0" not in (await twin.ok(path)).body.replace(b"-0.05", b""), path


async def test_factory_reset_leaves_the_defaults() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    before = await twin.settings()
    await twin.ok("/stm.cgi?oname=0Lamp&gsmcode=1&pmeter=5")
    await twin.ok("/inpa.cgi?event=0*0*0*0*0*0*0*0*0*0*0*0&powset=05000")
    await twin.ok("/stm.cgi?eeprom_reset=1")
    assert await twin.settings() == before
    assert (await twin.state())["ENERGY1"] == 0
    again = await LoopTwin.start(store=store)
    assert await again.settings() == before


async def test_settings_survive_in_the_store() -> None:
    store = MemoryStore()
    twin = await LoopTwin.start(store=store)
    await twin.ok("/stm.cgi?oname=3Pump&tname=8Attic")
    await twin.ok("/inpa.cgi?event=0*10*0*2150*50*0*3*0*0*0*0*5&eventon=0*1")
    settings = await twin.settings()
    assert await (await LoopTwin.start(store=store)).settings() == settings


async def test_bootloader_answers_503_for_a_minute_with_all_outputs_off(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1&pwm0=1")
    await twin.ok("/stm.cgi?upgrade=devstart3")
    reply = await twin.ask("/json/status.json")
    assert reply.status == 503
    assert dict(reply.headers) == {"Retry-After": "60"}
    assert not any(twin.controller.board.outputs)  # type: ignore[attr-defined]
    await twin.controller.advance(59.9)
    assert (await twin.ask("/outs.cgi")).status == 503
    await twin.controller.advance(0.1)
    assert await twin.outputs() == "000000"


async def test_replies_in_the_bootloader_show_the_outputs_off(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1&pwm0=1&vout0=1")
    for target in ("/stm.cgi?upgrade=devstart3", "/sim.cgi", "/sim.cgi?DS1=20"):
        body = (await twin.ok(target)).body
        assert b"<out>000000</out>\n<pwm>0</pwm>\n<ev>1</ev>" in body, target
    await twin.ok("/sim.cgi?advance=60")
    await twin.ok("/outs.cgi?out1=1")
    assert await twin.outputs() == "010000"


async def test_virtual_time_can_be_moved_out_of_the_bootloader(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?upgrade=devstart3")
    await twin.ok("/sim.cgi?advance=59")
    assert (await twin.ask("/outs.cgi")).status == 503
    await twin.ok("/sim.cgi?advance=next")
    assert await twin.outputs() == "000000"


async def test_nothing_drives_a_pin_while_the_bootloader_waits(twin: LoopTwin) -> None:
    await twin.ok("/inpa.cgi?event=0*118*0*1*0*0*3*0*0*0*0*0*1*0*0*0&eventon=0*1")
    await twin.ok("/stm.cgi?upgrade=devstart3&pwm0=1")
    twin.controller.note_connection(True)
    board = twin.controller.board
    assert isinstance(board, SimulatedBoard)
    assert not any(board.outputs)
    assert not any(board.levels)


@pytest.mark.parametrize(
    ("target", "status", "command"),
    [
        pytest.param("/outs.cgi?ouet=05&out1=1", 423, "out1=1", id="locked"),
        pytest.param("/inpa.cgi?eventon=3*1", 409, "eventon=3*1", id="no such rule"),
        pytest.param("/inpa.cgi?igain=12", 409, "igain=12", id="gain without its sensor"),
    ],
)
async def test_refusal_by_the_state_names_the_command(
    twin: LoopTwin, target: str, status: int, command: str
) -> None:
    await twin.ok("/stm.cgi?outblock=1")
    reply = await twin.ask(target)
    assert reply.status == status
    assert msgspec.json.decode(reply.body)["command"] == command


async def test_one_wire_ids_are_read_one_after_another(twin: LoopTwin) -> None:
    ids = ["28:FF:64:1E:8C:16:03:5A", "28:AA:BB:CC:DD:EE:FF:01"]
    await twin.ok("/sim.cgi?" + "&".join(f"onewire={sensor}" for sensor in ids))
    for sensor in ids:
        await twin.ok("/stm.cgi?dswrite=0")
        assert (await twin.json("/json/dsi2c.json"))["dsid"] == sensor
    await twin.ok(f"/stm.cgi?dswrite=3:{ids[1]}")
    assert (await twin.settings())["onewire"][2]["id"] == ids[1]
    assert (await twin.state())["DS3"] == 20.0


async def test_i2c_sensor_is_detected(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?i2c=HTS221")
    await twin.ok("/stm.cgi?bme280detect=1")
    assert (await twin.settings())["i2c"]["primary"] == "HTS221"
    await twin.ok("/sim.cgi?i2c=none")
    await twin.ok("/stm.cgi?bme280detect=1")
    assert (await twin.settings())["i2c"]["primary"] == "NONE"


async def test_clock_can_be_set(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?t_man=1893456000")
    assert (await twin.state())["time"] == 1893456000
    assert b"<time>1893456000</time>" in (await twin.ok("/xml/co.xml")).body


async def test_every_value_has_its_name_and_unit(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?oname=0Lamp")
    await twin.ok("/stm.cgi?modbus_sensor=01")
    await twin.ok(f"/stm.cgi?modbusmapping={'*'.join(['10', *['00'] * 29])}")
    labels = await twin.json("/api/labels")
    assert labels["OUT0"] == {"name": "Lamp", "unit": ""}
    assert labels["DS1"] == {"name": "", "unit": "°C"}
    assert labels["m1"] == {"name": "voltage", "unit": "V"}
    assert labels["m2"] == {"name": "", "unit": ""}
    assert set(labels) <= set(await twin.state())


async def test_readings_of_a_module_are_listed_in_the_order_of_the_mapping(
    twin: LoopTwin,
) -> None:
    modules = await twin.json("/api/modules")
    await twin.ok("/stm.cgi?modbus_sensor=01")
    await twin.ok(f"/stm.cgi?modbusmapping={'*'.join(f'1{number}' for number in range(30))}")
    labels = await twin.json("/api/labels")
    for number, reading in enumerate(modules["SDM120"]):
        assert labels[f"m{number + 1}"] == reading


async def test_health_and_front_page_answer(twin: LoopTwin) -> None:
    assert await twin.json("/health") == {"status": "ok", "board": "simulated"}
    assert (await twin.ok("/")).content_type == "text/html"


async def test_backup_holds_the_settings(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?oname=0Lamp")
    for path in ("/dev_settings.bin", "/lk3_settings.bin"):
        reply = await twin.ok(path)
        assert reply.content_type == "application/octet-stream"
        content = msgspec.json.decode(reply.body[reply.body.index(b"{") :])
        assert content["settings"]["outputs.0.name"] == "Lamp"


async def test_connecting_the_lighting_module_chooses_it(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?lightmod=1")
    serial = (await twin.settings())["serial"]
    assert (serial["module"], serial["lighting"]) == ("lighting module", True)
    await twin.ok("/stm.cgi?usart_sensor=3")
    assert (await twin.settings())["serial"]["lighting"] is False


async def test_older_number_form_sets_all_four_recipients(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?gsmnumber=+48123456789")
    slots = (await twin.settings())["gsm"]["sms"]
    assert [slot["numbers"] for slot in slots] == [["+48123456789"]] * 4


async def test_contact_closed_at_power_on_is_no_press(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?inpdb=1")
    await twin.ok("/sim.cgi?INPD1=0")
    assert (await twin.state())["INPD1"] == 1
    await twin.ok("/stm.cgi?devrestart=1")
    assert (await twin.state())["INPD1"] == 0
    await twin.ok("/sim.cgi?INPD1=1&INPD1=0")
    assert (await twin.state())["INPD1"] == 1


@pytest.mark.parametrize(
    ("spoken", "title"), [("fr, en", "Il n’y a rien ici"), ("", "There is nothing here")]
)
async def test_browser_is_shown_a_page_where_there_is_nothing(spoken: str, title: str) -> None:
    twin = await LoopTwin.start()
    asked = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept_language": spoken}
    reply = await twin.ask("/nonsense<b>", **asked)
    assert (reply.status, reply.content_type) == (404, "text/html")
    assert title in reply.body.decode()
    assert b"nonsense" not in reply.body
    headers = dict(reply.headers)
    # It carries its style, and no other is taken.
    assert "style-src 'sha256-" in headers.pop("Content-Security-Policy")
    assert headers.items() >= dict(PAGE_HEADERS[1:]).items()


async def test_program_gets_a_problem_for_an_unknown_path() -> None:
    twin = await LoopTwin.start()
    reply = await twin.ask("/nonsense", accept="*/*")
    assert (reply.status, reply.content_type) == (404, "application/problem+json")
