"""The pytest plugin: what the fixtures start, what a failure reports, what is left over."""

import pytest

from leverframe.testing import Twin

OPTIONS = (
    *("-p", "no:cacheprovider", "-W", "default"),
    *("-o", "asyncio_default_fixture_loop_scope=function"),
)
UNIT = 'hw = "3.0"\nsw = "1.58a"\n[settings]\n"outputs.0.name" = "Pump"\n'


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*OPTIONS, *options)


def test_contract_of_the_kit_holds(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from leverframe.testing import Fleet, Twin, faults

        def test_default(twin):
            twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
            twin.advance("10min")
            assert twin.state["OUT0"] == 0

        @pytest.mark.leverframe(hw="3.0", sw="1.58a", mac="02:00:00:00:00:01", name="unit7",
            start="2026-03-29T00:30", timezone="Europe/Warsaw", settings="unit7.toml")
        def test_old_unit(twin):
            assert (twin.name, twin.mac) == ("unit7", "02:00:00:00:00:01")
            assert twin.now.isoformat() == "2026-03-29T00:30:00+01:00"
            assert twin.settings["outputs"][0]["name"] == "Pump"
            twin.sense(DS1=21.5); twin.unplug("DS1")
            assert twin.state["DS1"] is None
            twin.raw(ds1="-1270")
            assert '"ds1":"-1270"' in twin.get("/json/all.json")
            with twin.fault(faults.slow("10ms"), path="/json/all.json", times=2):
                twin.get("/json/all.json"); twin.get("/json/all.json")
            with twin.fault(faults.refuse()), twin.fault(faults.reset_after(300)):
                with twin.fault(faults.status(500)), twin.fault(faults.garbage()):
                    with pytest.raises(ConnectionRefusedError):
                        twin.get("/json/all.json")
            assert len(twin.requests("/json/all.json")) == 3
            request = twin.requests("/json/all.json")[0]
            assert (request.time, request.method, request.path) == (
                twin.now, "GET", "/json/all.json")
            assert (request.query, request.status, request.problem) == (None, 200, None)
            twin.reboot(takes="8s")
            with pytest.raises(ConnectionRefusedError):
                twin.get("/json/all.json")
            twin.advance("8s")
            assert twin.get("/json/all.json")

        def test_alarm(twin):
            twin.rule(when="DS1 >= 30", then="eMail 1", hysteresis=1)
            twin.sense(DS1=31)
            mail, = twin.outbox.emails
            assert mail.subject and mail.sender and mail.to and mail.text
            twin.outbox.clear()
            snap = twin.snapshot(); twin.advance("1h"); twin.restore(snap)
            other = twin.fork(); other.advance("1d"); assert twin.now != other.now
            print(twin.explain("OUT2"))
            twin.reset()
            assert twin.settings["rules"] == []

        def test_many(fleet):
            units = fleet(10, versions=["3.0/1.58a", "3.5/1.49", "3.9/1.75"])
            units.advance("1h"); assert len({u.url for u in units}) == 10

        def test_without_pytest():
            with Twin(hw="3.5", sw="1.49") as twin: twin.get("/json/status.json")

        async def atest():
            async with Twin() as twin: await twin.aget("/api/state")

        def test_async():
            import asyncio
            asyncio.run(atest())

        def test_killed(twin_factory, tmp_path):
            twin = twin_factory(process=True, data=tmp_path / "folder")
            twin.command("stm.cgi?sname=Cellar"); twin.kill(); twin.start()
            assert twin.settings["name"] == "Cellar"
    """)
    pytester.makefile(".toml", unit7=UNIT)
    run(pytester).assert_outcomes(passed=7, warnings=0)


def test_several_marks_or_versions_run_a_test_once_for_each(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        pytestmark = pytest.mark.leverframe(timezone="Europe/Warsaw")

        @pytest.mark.leverframe(hw="3.0", sw="1.58a")
        @pytest.mark.leverframe(hw="3.5", sw="1.49")
        def test_marks(twin):
            assert twin.now.utcoffset().seconds == 3600

        @pytest.mark.leverframe(versions=["3.0", "3.5/1.49", "newest"])
        def test_versions(twin):
            assert twin.state["profile"]["sw"] in ("1.58a", "1.49", "1.75")

        @pytest.mark.leverframe(lenient=True)
        @pytest.mark.leverframe(lenient=False)
        def test_unnamed(twin): pass

        @pytest.mark.parametrize("label", ["OUT0", "OUT1"])
        def test_other_parameters(twin, label):
            assert twin.state[label] == 0
    """)
    result = run(pytester, "-v")
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines_random(
        [
            "*test_marks[[]3.0/1.58a[]]*",
            "*test_marks[[]3.5/1.49[]]*",
            "*test_versions[[]3.9/1.75[]]*",
            "*test_unnamed[[]twin1[]]*",
        ]
    )


def test_option_names_the_versions_for_tests_that_name_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        def test_any(twin): print("was", twin.profile)
        @pytest.mark.leverframe(hw="3.0")
        def test_old(twin): pass
        def test_without(): pass
    """)
    run(pytester, "--leverframe-versions=3.0/1.58a,3.5/1.49").assert_outcomes(passed=4)
    one = run(pytester, "-s", "--leverframe-versions=3.5/1.49")
    one.assert_outcomes(passed=3)
    one.stdout.fnmatch_lines(["*was HW 3.5 SW 1.49*"])
    run(pytester, "--leverframe-versions=hardware").assert_outcomes(passed=8)
    all_of_them = run(pytester, "--leverframe-versions=all").parseoutcomes()["passed"]
    assert all_of_them > 40
    result = run(pytester, "--leverframe-versions=4.0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--leverframe-versions: Unknown hardware '4.0'. Choose one*"])


def test_marker_of_a_test_takes_precedence_over_its_class(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.leverframe(versions=["3.0", "3.5"], timezone="Europe/Warsaw")
        class TestUnits:
            @pytest.mark.leverframe(hw="3.9")
            def test_newest(self, twin):
                assert (twin.profile.hw, str(twin.zone)) == ("3.9", "Europe/Warsaw")

            def test_old(self, twin):
                assert twin.profile.hw in ("3.0", "3.5")

            @pytest.mark.leverframe(versions="3.8,3.9/1.49")
            def test_as_text(self, twin):
                assert str(twin.profile) in ("HW 3.8 SW 1.75", "HW 3.9 SW 1.49")

            @pytest.mark.leverframe(versions="3.6")
            def test_asked_for_later(self, request):
                assert request.getfixturevalue("twin").profile.hw == "3.6"

        def test_fleet(fleet):
            assert [one.profile.hw for one in fleet(2, versions="3.0,3.5")] == ["3.0", "3.5"]
    """)
    run(pytester).assert_outcomes(passed=7)


def test_mark_without_a_version_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.leverframe(versions=[])
        def test_none(twin): pass
    """)
    run(pytester).stdout.fnmatch_lines(["*has no version in `versions`*"])


def test_files_of_a_unit_are_found_beside_the_test(pytester: pytest.Pytester) -> None:
    folder = pytester.mkpydir("units")
    (folder / "unit7.toml").write_text(UNIT)
    head = '{"format":"leverframe recording 1","unit":"http://u","began":"2026-11-18T10:00:00Z"}'
    answer = '{"status":200,"headers":{"content-type":"text/plain"},"body":{"text":"own"}}'
    asked = '"took_s":0.1,"method":"GET","path":"/own.txt","query":null'
    exchange = f'{{"at":"2026-11-18T10:00:00Z",{asked},"answer":{answer}}}'
    (folder / "session.jsonl").write_text(f"{head}\n{exchange}\n")
    (folder / "test_unit.py").write_text("""
import pytest

@pytest.mark.leverframe(settings="unit7.toml", recorded="session.jsonl")
def test_unit(twin):
    assert twin.settings["outputs"][0]["name"] == "Pump"
    assert twin.get("/own.txt") == "own"
""")
    run(pytester).assert_outcomes(passed=1)


def test_failure_shows_the_last_requests_the_journal_and_the_seed(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        from leverframe.testing import Twin
        def test_fixture(twin):
            twin.get("/outs.cgi?out1=1")
            assert twin.state["OUT1"] == 0
        def test_own():
            with Twin(seed=7) as twin:
                twin.get("/outs.cgi?out2=1")
                assert False
        def test_killed(twin_factory):
            twin = twin_factory(process=True)
            import os, signal
            os.kill(twin.pid, signal.SIGKILL)
            assert False
    """)
    result = run(pytester)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*leverframe twin 1*",
            "<Twin HW 3.9 SW 1.75 seed *> at 2026-01-05 00:00:00",
            "Last requests of clients:",
            "  2026-01-05 00:00:00 GET /outs.cgi[?]out1=1 200",
            "What happened last:",
            "  2026-01-05 00:00:00 command 127.0.0.1: OUT1 on",
            "To recreate this twin: Twin(seed=*)",
            "To repeat this test: pytest '*::test_fixture'",
            "*GET /outs.cgi[?]out2=1 200",
            "To recreate this twin: Twin(seed=7)",
            "To repeat this test: *::test_own'",
            "*could not report what happened*",
            "To recreate this twin: Twin.process(seed=*)",
        ]
    )


def test_seeds_of_a_test_are_the_same_in_every_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_seeds(twin, twin_factory, fleet):
            one, two = twin_factory(), fleet(2)
            print("seeds", twin.mac, one.mac, *(unit.mac for unit in two))
            assert len({twin.mac, one.mac, two[0].mac, two[1].mac}) == 4
    """)
    lines = []
    for _ in range(2):
        result = run(pytester, "-s")
        result.assert_outcomes(passed=1)
        lines.append([line for line in result.outlines if "seeds" in line])
    assert lines[0] == lines[1]


def test_failure_reports_every_twin_however_it_was_made(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from leverframe.testing import Fleet, Twin

        @pytest.fixture(scope="module")
        def shared():
            with Twin(hw="3.0") as twin: yield twin

        @pytest.fixture
        def own():
            with Twin(hw="3.5", accounts={"keeper": "secretly"}) as twin: yield twin

        def test_fixtures(shared, own):
            assert False

        def test_closed_before_it_fails(shared):
            twin = Twin(hw="3.6").start()
            try:
                twin.get("/outs.cgi?out3=1")
                raise ValueError
            finally:
                twin.close()

        def test_that_looks_at_it_afterwards():
            with Twin(hw="3.8") as twin:
                twin.command("outs.cgi?out4=1")
                state = twin.state
            assert state["OUT4"] == 0

        def test_member_of_a_fleet(fleet):
            fleet(12)[3].command("outs.cgi?out1=1")
            assert False

        @pytest.fixture
        def broken():
            with Twin(hw="3.7"):
                raise ValueError
            yield

        def test_setup(broken): pass
    """)
    result = run(pytester)
    result.assert_outcomes(failed=4, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_setup*",
            "*leverframe twin 1*",
            "<Twin HW 3.7*",
            "*test_fixtures*",
            "*leverframe twin 1*",
            "To recreate this twin: Twin(hw='3.0', seed=*)",
            "*leverframe twin 2*",
            "To recreate this twin: Twin(hw='3.5', accounts=..., seed=*)",
            "*test_closed_before_it_fails*",
            "*leverframe twin 1*",
            "*GET /outs.cgi[?]out3=1 200",
            "To recreate this twin: Twin(hw='3.6', seed=*)",
            "*leverframe twin 2*",
            "To recreate this twin: Twin(hw='3.0', seed=*)",
            "*test_that_looks_at_it_afterwards*",
            "*leverframe twin 1*",
            "*command test: OUT4 on",
            "To recreate this twin: Twin(hw='3.8', seed=*)",
            "*leverframe twin 10*",
            "*leverframe twins*",
            "3 more twins; twin.report() shows each.",
        ]
    )


def test_seeds_do_not_depend_on_which_tests_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from leverframe.testing import Twin

        @pytest.fixture(scope="module")
        def shared():
            with Twin() as twin: yield twin

        def test_first(shared): pass
        def test_seeds(shared, twin):
            with Twin() as own, Twin() as other:
                print("seeds", shared.mac, twin.mac, own.mac, other.mac)
                assert len({shared.mac, twin.mac, own.mac, other.mac}) == 4
    """)
    lines = []
    for options in ((), ("-k", "test_seeds")):
        result = run(pytester, "-s", *options)
        lines.append(
            [line[line.index("seeds") :] for line in result.outlines if "seeds 02" in line]
        )
    assert lines[0] == lines[1]
    assert len(lines[0]) == 1


def test_module_and_a_run_can_share_a_twin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_one="""
            import pytest
            pytestmark = pytest.mark.leverframe(versions=["3.0", "3.5"])

            @pytest.fixture(scope="module")
            def cellar(module_twin_factory):
                return module_twin_factory(name="cellar")

            def test_first(module_twin, session_twin, cellar):
                assert module_twin.state["OUT0"] == 0
                module_twin.command("outs.cgi?out0=1")
                session_twin.command("outs.cgi?out0=1")
                cellar.command("outs.cgi?out1=1")
                print("seed", module_twin.profile, module_twin.seed)

            def test_second(module_twin, cellar, session_twin_factory):
                assert module_twin.state["OUT0"] == 1
                assert cellar.state["OUT1"] == 1
                module_twin.reset()
        """,
        test_two="""
            def test_third(session_twin, module_twin):
                assert session_twin.state["OUT0"] == 1
                assert module_twin.state["OUT0"] == 0
                assert session_twin.profile.hw == module_twin.profile.hw == "3.9"
        """,
    )
    run(pytester, "-s").assert_outcomes(passed=5, warnings=0)


def test_mark_with_a_misspelt_parameter_names_the_right_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.leverframe(modbsu=True)
        def test_mark(twin): pass
    """)
    result = run(pytester)
    result.assert_outcomes(errors=1)
    said = "*@pytest.mark.leverframe: parameter 'modbsu' is unknown. Did you mean 'modbus'*"
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*")


def test_factory_refuses_what_no_twin_has(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        def test_factory(twin_factory): twin_factory(modbsu=True)
        def test_process(twin_factory): twin_factory(process=True, mqtt="127.0.0.1:1")
        @pytest.mark.leverframe(modbus=5020)
        def test_type(twin): pass
    """)
    result = run(pytester)
    result.assert_outcomes(failed=2, errors=1)
    result.stdout.fnmatch_lines_random(
        [
            "*BadCall: twin_factory: parameter 'modbsu' is unknown. Did you mean 'modbus'*",
            "*BadCall: Twin.process: parameter 'mqtt' is unknown.*",
            "*modbus must be True or False, not 5020; the port is then in twin.modbus.*",
        ]
    )


def test_twin_that_was_left_on_is_closed_and_reported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        from leverframe.testing import Twin

        @pytest.fixture(scope="module")
        def shared():
            with Twin() as twin: yield twin

        kept = []
        def test_leaks(shared):
            kept.append(Twin().start())
        def test_is_closed(shared):
            assert not kept[0].is_on
            assert shared.is_on
    """)
    result = run(pytester)
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*test_leaks left 1 twins running; they were closed. Start them with*"]
    )


def test_mark_takes_keywords_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.leverframe("3.0")
        def test_bad(twin): pass
    """)
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*accepts keyword arguments such as hw='3.0', not ('3.0',)*"])


@pytest.mark.thorough
def test_workers_beside_each_other_do_not_meet(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.parametrize("number", range(8))
        def test_one(twin, number):
            twin.command(f"stm.cgi?sname=unit{number}")
            assert twin.name == f"unit{number}"
    """)
    result = pytester.runpytest_subprocess(*OPTIONS, "-n", "2", "-p", "xdist")
    result.assert_outcomes(passed=8)


@pytest.mark.thorough
def test_without_a_twin_the_plugin_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import sys
        def test_nothing():
            loaded = [name for name in sys.modules if name.startswith("leverframe")]
            assert sorted(loaded) == [
                "leverframe", "leverframe.testing", "leverframe.testing.pytest_plugin",
                "leverframe.testing.seeds",
            ]
    """)
    pytester.runpytest_subprocess(*OPTIONS).assert_outcomes(passed=1)


@pytest.mark.leverframe(hw="3.0", sw="1.58a")
def test_mark_is_known_in_this_project_too(twin: Twin) -> None:
    assert twin.profile.hw == "3.0"
