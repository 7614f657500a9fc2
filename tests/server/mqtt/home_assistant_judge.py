"""Judges announcements by Home Assistant's own schemas; runs where Home Assistant is installed.

Reads a JSON list of topic and payload from standard input and prints what is wrong, a line each.
Called by `home_assistant_schema.py`; nothing of ours is imported here.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

#: Newer than some versions that are still in use; those pass over it.
NEWER_KEYS = {"default_entity_id"}


def complaints(topic: str, payload: dict[str, Any]) -> Iterator[str]:
    component = topic.split("/")[1]
    schema = import_module(f"homeassistant.components.mqtt.{component}").DISCOVERY_SCHEMA
    try:
        taken = schema(dict(payload))
    except Exception as error:
        yield f"refused: {error}"
        return
    for key in set(payload) - set(taken) - NEWER_KEYS:
        yield f"{key} is not known"
    if component == "sensor" and "device_class" in payload:
        yield from complaints_of_class(payload["device_class"], payload["state_class"], taken)


def complaints_of_class(
    device_class: str, state_class: str, taken: dict[str, Any]
) -> Iterator[str]:
    known = import_module("homeassistant.components.sensor.const")
    unit = taken.get("unit_of_measurement")
    if unit not in known.DEVICE_CLASS_UNITS[device_class]:
        yield f"{unit} is no unit of {device_class}"
    if state_class not in known.DEVICE_CLASS_STATE_CLASSES[device_class]:
        yield f"{device_class} is never {state_class}"


async def main() -> int:
    announced = json.load(sys.stdin)
    # Newer schemas compile templates, and want to know whose they are.
    import_module("homeassistant.core").HomeAssistant(tempfile.gettempdir())
    wrong = [f"{topic}: {one}" for topic, said in announced for one in complaints(topic, said)]
    version = import_module("homeassistant.const").__version__
    print(*wrong, f"Home Assistant {version}: {len(announced)} payloads", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
