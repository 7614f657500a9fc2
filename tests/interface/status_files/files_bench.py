"""A bench whose controller is spoken to by commands and read by its files."""

import json
from typing import Any
from xml.etree import ElementTree

from leverframe.core.profile import Profile
from leverframe.interface.status_files import View, build
from leverframe.interface.table.lookup import Call, find
from leverframe.interface.table.stage import Stage
from tests.core.engine.bench import Bench

NAME = "lever-7"
MAC = "02:5A:17:00:00:07"
NEWEST = Profile()
#: Each shows module readings, differentials or digital inputs in a way of its own.
PROFILES = (NEWEST, Profile("3.5", "1.49"), Profile("3.5", "1.36"), Profile("3.0", "1.58a"))


class FilesBench(Bench):
    @property
    def view(self) -> View:
        return View(self.engine, NAME, MAC, self.at)

    def send(self, request: str, body: bytes | None = None) -> None:
        """A request such as `/outs.cgi?out0=1&out1=0`; a refusal is raised."""
        path, _, query = request.partition("?")
        method = "GET" if body is None else "POST"
        stage = Stage(self.profile, self.settings)
        for call in find(method, path, query.split("&"), self.profile):
            if not isinstance(call, Call):
                raise call
            read = call.row.body.read(body or b"", "", self.profile) if call.row.body else None
            call.row.perform(stage, call.values, read)
        self.apply(stage.settings, *stage.actions)

    def content(self, path: str) -> bytes:
        content = build(path, self.view)
        assert content is not None, f"{self.profile} has no {path}"
        return content

    def json(self, path: str) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(self.content(path))
        return shown

    def xml(self, path: str) -> dict[str, str]:
        root = ElementTree.fromstring(self.content(path))
        return {element.tag: element.text or "" for element in root}

    def show(self, path: str) -> dict[str, Any]:
        return self.json(path) if path.endswith(".json") else self.xml(path)
