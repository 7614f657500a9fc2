"""Hosts Home Assistant's core with its MQTT integration; runs where Home Assistant is installed.

Its pages, voice and cloud are left out, and with them packages that need a compiler. Each line of
standard input is answered with a line of JSON: `states` with the state of every entity by its ID,
`turn_off ENTITY` after the service was called. Called by `home_assistant_live.py`; nothing of ours
is imported here.
"""

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


async def host(folder: Path, broker: int, port: int) -> None:
    """Start the core, with a port of its own on loopback, and set up its MQTT integration."""
    (folder / "configuration.yaml").touch()
    hass = import_module("homeassistant.core").HomeAssistant(str(folder))
    hass.config.skip_pip = True
    import_module("homeassistant.loader").async_setup(hass)
    hass.config_entries = import_module("homeassistant.config_entries").ConfigEntries(hass, {})
    await import_module("homeassistant.bootstrap").async_load_base_functionality(hass)
    auth = import_module("homeassistant.auth")
    hass.auth = await auth.auth_manager_from_config(hass, [{"type": "homeassistant"}], [])
    http = {"http": {"server_host": ["127.0.0.1"], "server_port": port}}
    assert await import_module("homeassistant.setup").async_setup_component(hass, "http", http)
    await hass.async_start()
    flow = await hass.config_entries.flow.async_init("mqtt", context={"source": "user"})
    form = {"broker": "127.0.0.1", "port": broker}
    made = await hass.config_entries.flow.async_configure(flow["flow_id"], form)
    assert made["type"] == "create_entry", made
    version = import_module("homeassistant.const").__version__
    print(json.dumps({"version": version}), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(hass, line.split())), flush=True)
    await hass.async_stop(force=True)


async def answer(hass: Any, words: list[str]) -> dict[str, str]:
    if words[0] == "turn_off":
        called = {"entity_id": words[1]}
        await hass.services.async_call("switch", "turn_off", called, blocking=True)
    found = hass.states.async_all()
    return {x.entity_id: f"{x.state} {x.attributes.get('friendly_name', '')}" for x in found}


if __name__ == "__main__":
    asyncio.run(host(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
