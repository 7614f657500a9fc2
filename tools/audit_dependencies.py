"""Check that all locked packages are pinned by hash, not withdrawn, and without known weaknesses.

The files contain the hashes. The rest comes from the package index that pip uses: the page of a
release lists its published weaknesses, and says whether the release was withdrawn. Some mirrors
have only the page of a project, which lists the weaknesses of its newest release; anything that
cannot be determined is listed but is not a failure. Without access to an index, only the files are
checked.

    python -m tools.audit_dependencies
"""

import http.client
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

LOCKED = ("run.txt", "test.txt")
AT_A_TIME = 8
PATIENCE_S = 20.0
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")


class Pin(NamedTuple):
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class OutOfReach(Exception):
    """The index does not answer; the message is one sentence."""


def pins_in(text: str) -> tuple[set[Pin], list[str]]:
    """Return the pins of a locked list, and the problems of the list itself."""
    pins: set[Pin] = set()
    mistakes: list[str] = []
    for entry in re.split(r"\n(?=\S)", text.replace("\\\n", " ")):
        if not entry.strip() or entry.startswith("#"):
            continue
        found = _PIN.match(entry)
        if found is None:
            mistakes.append(f"{entry.split()[0]} is not pinned to one version.")
        elif "--hash=sha256:" not in entry:
            mistakes.append(f"{found['name']} {found['version']} has no hash.")
        else:
            pins.add(Pin(found["name"], found["version"]))
    return pins, mistakes


def faults(pin: Pin, page: dict[str, Any]) -> Iterator[str]:
    """Yield the index's objections to a release, from the page of the release or of its project."""
    files = page.get("releases", {}).get(pin.version, page.get("urls", []))
    if files and all(file.get("yanked") for file in files):
        why = next((file["yanked_reason"] for file in files if file.get("yanked_reason")), "")
        yield f"{pin} was withdrawn by its makers. {why}".rstrip()
    if is_page_of(pin, page):
        for weakness in page.get("vulnerabilities") or ():
            if not weakness.get("withdrawn"):
                yield _in_words(pin, weakness)


def is_page_of(pin: Pin, page: dict[str, Any]) -> bool:
    """Return whether the weaknesses on the page are those of this release."""
    return bool(page["info"]["version"] == pin.version)


def _in_words(pin: Pin, weakness: dict[str, Any]) -> str:
    names = ", ".join(dict.fromkeys((weakness["id"], *weakness.get("aliases", ()))))
    fixed = ", ".join(weakness.get("fixed_in", ())) or "no version yet"
    return f"{pin} has a published weakness: {names}; fixed in {fixed}."


def index_address() -> str:
    """Return the address where pip's index describes releases: pip's setting or its default."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True,
        text=True,
        check=False,
    )
    address = asked.stdout.strip() or import_module("pip._internal.models.index").PyPI.simple_url
    return str(address).rstrip("/").removesuffix("/simple") + "/pypi"


def page_of(address: str, pin: Pin) -> dict[str, Any] | None:
    """Return the page of the release, else that of its project; None if there is neither."""
    for place in (f"{pin.name}/{pin.version}/json", f"{pin.name}/json"):
        try:
            page = _fetch(f"{address}/{place}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise OutOfReach(f"The package index answers {error.code}.") from error
        except (OSError, http.client.HTTPException) as error:
            raise OutOfReach("The package index cannot be reached from here.") from error
        except msgspec.DecodeError as error:
            raise OutOfReach("The package index answers with something else.") from error
        else:
            return page
    return None


def _fetch(url: str) -> dict[str, Any]:
    if not url.startswith(("https://", "http://")):
        raise OutOfReach("The package index is a folder and knows nothing of weaknesses.")
    with urllib.request.urlopen(url, timeout=PATIENCE_S, context=_trust()) as answer:
        page: dict[str, Any] = msgspec.json.decode(answer.read())
        return page


@lru_cache
def _trust() -> ssl.SSLContext:
    """Load the certificates once, because that takes longer than a page."""
    return ssl.create_default_context()


def pages_of(pins: list[Pin]) -> dict[Pin, dict[str, Any] | None]:
    address = index_address()
    # Query the first page alone, so that an unreachable index costs only one timeout.
    first = {pin: page_of(address, pin) for pin in pins[:1]}
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        others = pool.map(lambda pin: page_of(address, pin), pins[1:])
        return first | dict(zip(pins[1:], others, strict=True))


def main() -> int:
    folder = Path(__file__).parent.parent / "requirements"
    pins: set[Pin] = set()
    wrong: list[str] = []
    for name in LOCKED:
        found, mistakes = pins_in((folder / name).read_text())
        pins |= found
        wrong += [f"requirements/{name}: {mistake}" for mistake in mistakes]
    try:
        pages = pages_of(sorted(pins))
    except OutOfReach as reason:
        print(f"{len(pins)} releases are pinned; published weaknesses were not looked up: {reason}")
    else:
        listed = {pin: page for pin, page in pages.items() if page is not None}
        wrong += [fault for pin, page in listed.items() for fault in faults(pin, page)]
        silent = [pin for pin in pages if pin not in listed or not is_page_of(pin, listed[pin])]
        print(f"{len(pages) - len(silent)} of {len(pages)} releases looked up in the index.")
        if silent:
            print(f"It lists no weaknesses of: {', '.join(map(str, silent))}.")
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
