"""The add-on for Home Assistant: its configuration, its options, and how it starts."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from leverframe import __version__
from leverframe.host.configuration.fields import Config
from leverframe.host.configuration.keys import keys
from leverframe.host.configuration.reader import read_config
from tools.addon import SOURCE, assemble_addon
from tools.deb import LOCKED

#: Keys without which the supervisor ignores a folder.
REQUIRED = {"name", "version", "slug", "description", "arch"}
KNOWN = REQUIRED | {
    *("init", "startup", "boot", "stage", "webui", "watchdog", "services", "backup"),
    *("ports", "ports_description", "options", "schema"),
}
#: Types of options that the supervisor knows, as far as this add-on uses them.
OPTION_TYPE = re.compile(r"(str|bool|int|port|list\(\w+(\|\w+)*\))\??")
OPTIONS = {"timezone": "Europe/Prague", "tls": True, "hosts": ["ha.local", "unit"], "hw": "3.9"}


@pytest.fixture(scope="module")
def settings() -> dict[str, Any]:
    text = (SOURCE / "config.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def test_configuration_has_what_the_supervisor_requires(settings: dict[str, Any]) -> None:
    assert REQUIRED <= settings.keys() <= KNOWN
    assert settings["version"] == __version__
    assert re.fullmatch(r"[-_.A-Za-z0-9]+", settings["slug"])
    assert set(settings["arch"]) <= {"aarch64", "amd64"}
    assert settings["startup"] in {"initialize", "system", "services", "application", "once"}
    assert settings["boot"] in {"auto", "manual", "manual_only"}
    assert settings["stage"] in {"stable", "experimental", "deprecated"}
    assert settings["backup"] in {"hot", "cold"}
    assert all(re.fullmatch(r"\w+:(provide|want|need)", one) for one in settings["services"])


def test_ports_are_those_of_a_controller(settings: dict[str, Any]) -> None:
    config = Config()
    assert settings["ports"].keys() == settings["ports_description"].keys()
    assert {
        f"{config.port}/tcp",
        f"{config.modbus_port}/tcp",
        f"{config.snmp_port}/udp",
        f"{config.tftp_port}/udp",
        "30403/udp",
    } == settings["ports"].keys()
    for address in (settings["webui"], settings["watchdog"]):
        assert re.match(rf"\[PROTO:tls\]://\[HOST\]:\[PORT:{config.port}\]/", address)


def test_every_option_is_a_key_of_the_configuration(settings: dict[str, Any]) -> None:
    schema = settings["schema"]
    assert settings["options"].keys() <= schema.keys() <= {key.name for key in keys()}
    for name, kind in schema.items():
        (text,) = kind if isinstance(kind, list) else [kind]
        assert OPTION_TYPE.fullmatch(text), name
        assert text.endswith("?") or name in settings["options"], name


def test_options_are_described(settings: dict[str, Any]) -> None:
    text = (SOURCE / "DOCS.md").read_text(encoding="utf-8")
    described = [
        name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in row.split(", ")
    ]
    assert sorted(name.strip("`") for name in described) == sorted(settings["schema"])


@pytest.mark.parametrize("options", [None, OPTIONS])
def test_options_reach_the_controller(
    options: dict[str, Any] | None, settings: dict[str, Any], tmp_path: Path
) -> None:
    chosen = settings["options"] if options is None else options
    config = read_config(None, {}, start_with(chosen, tmp_path))
    assert (config.host, config.data) == ("0.0.0.0", "/data/leverframe")
    for name, value in chosen.items():
        assert getattr(config, name) == (tuple(value) if isinstance(value, list) else value)


def start_with(options: dict[str, Any], folder: Path) -> dict[str, str]:
    """Run the start script with a program that prints its environment."""
    program, given = folder / "leverframe", folder / "options.json"
    program.write_text("#!/bin/sh\nexec env\n")
    program.chmod(0o755)
    given.write_text(json.dumps(options))
    script = folder / "run.py"
    script.write_text(
        (SOURCE / "run")
        .read_text(encoding="utf-8")
        .replace("/data/options.json", str(given))
        .replace("/opt/leverframe/bin/leverframe", str(program))
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in pairs if name.startswith("LEVERFRAME_")}


def test_assembled_folder_has_all_that_its_instructions_copy(tmp_path: Path) -> None:
    wheel = tmp_path / f"leverframe-{__version__}-py3-none-any.whl"
    wheel.write_bytes(b"")
    addon = assemble_addon(wheel, tmp_path)
    (addon / "left-behind").write_text("by an earlier version\n")
    addon = assemble_addon(wheel, tmp_path)
    assert not (addon / "left-behind").exists()
    assert (addon / LOCKED.name).read_bytes() == LOCKED.read_bytes()
    text = (addon / "Dockerfile").read_text(encoding="utf-8")
    for sources in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert len(list(addon.glob(source))) == 1, source
