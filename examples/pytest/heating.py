"""The code under test: a client that heats a room with OUT0 by the thermometer DS1.

It does not know about twins. It requests a unit by HTTP, retries when the network fails, and
ignores impossible readings of the thermometer.
"""

import json
import time
from http.client import HTTPException
from urllib.request import urlopen

#: A DS18B20 shows 85 degrees before it has measured; units show -60 for a missing one, and
#: -127 for one that does not answer.
NOT_MEASURED = (85.0, -60.0, -127.0)


class UnitUnreachable(Exception):
    """The unit gave no valid answer in all tries."""


class Heating:
    def __init__(self, url, *, target=21.0, tries=3, timeout=0.5):
        self.url = url
        self.target = target
        self.tries = tries
        self.timeout = timeout

    def temperature(self):
        """Return degrees, or None if the thermometer is missing or its reading impossible."""
        text = self._status()["ds1"]
        try:
            celsius = int(text) / 10
        except ValueError:
            return None
        return None if celsius in NOT_MEASURED else celsius

    def is_heating(self):
        return self._status()["out0"] == "1"

    def regulate(self):
        """Heat below the target; never without a thermometer."""
        celsius = self.temperature()
        self._switch(celsius is not None and celsius < self.target)

    def hour(self):
        """Return the hour of this machine's clock, which decides on night heating."""
        return time.localtime().tm_hour

    def _status(self):
        return json.loads(self._get("/json/all.json"))

    def _switch(self, on):
        self._get(f"/outs.cgi?out0={int(on)}")

    def _get(self, target):
        problem = None
        for _ in range(self.tries):
            try:
                with urlopen(self.url + target, timeout=self.timeout) as answer:
                    text = answer.read().decode()
                if target.startswith("/json/"):
                    json.loads(text)
                return text
            except (OSError, HTTPException, ValueError) as error:
                problem = error
        raise UnitUnreachable(f"{self.url} did not answer {self.tries} times: {problem}")
