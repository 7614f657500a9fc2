"""The journal names a setting by the label of its form: every setting has one."""

import functools
import json
import re
from importlib import resources

from leverframe.core.settings import Rule, ScheduleEntry, Settings
from leverframe.core.tree import leaves

WEB = resources.files("leverframe") / "web"
TABLES = (WEB / "lib" / "format" / "setting_words.js").read_text("utf-8")


@functools.cache
def words(page: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(
        (WEB / "words" / f"{page}.json").read_text("utf-8")
    )
    return found


def test_every_setting_has_the_label_of_a_form() -> None:
    pages = dict(re.findall(r'\b(\w+): "(\w+)"', TABLES))
    keys = dict(re.findall(r'"([\w.]+)": "(\w+)"', TABLES))
    in_accounts = re.findall(r"IN_ACCOUNTS = (.+);", TABLES)[0]
    settings = Settings(rules=(Rule(),), schedule=(ScheduleEntry(),))
    without = set()
    for path, _ in leaves(settings):
        names = [part for part in path.split(".") if not part.isdigit()]
        section, leaf = names[0], names[-1]
        if section == "profile":  # A change of the version has a sentence of its own.
            continue
        page = "accounts" if f'"{path}"' in in_accounts else pages[section]
        known = words(page) | words("frame") | words("forms")
        label = known.get(keys.get(f"{section}.{leaf}", leaf))
        # One with a place to fill, other than its number, belongs to a sentence.
        if label is None or "{" in label["en"].replace("{number}", ""):
            without.add(path)
    assert without == set()
