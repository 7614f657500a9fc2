"""The modules of the first view in one file: what they import, export and fetch stays right."""

import re

from leverframe.server.http.messages import Request
from leverframe.server.routes.pages import (
    beside_joined,
    join_modules,
    pages,
    without_comments,
)

MODULES = {
    "app.js": 'import { open } from "./pages/first.js";\n\nopen();\n',
    "pages/first.js": (
        'import * as api from "../lib/api.js";\nimport {\n  html,\n  nothing as none,\n'
        '} from "../vendor/lit.js";\n\nexport const open = () => import(`./${name}.js`);\n'
        "export async function* all() {}\n"
    ),
    "lib/api.js": 'export const OWN = new URL("..", import.meta.url);\nexport class Refused {}\n',
    "vendor/lit.js": "const a=1,b=2;export{a as html,b as nothing};\n",
    "pages/later.js": (
        'import { OWN } from "../lib/api.js";\nimport { near } from "./near.js";\n'
        "export class Page {}\n"
    ),
    "pages/near.js": "export const near = 1;\n",
}
FIRST = {"pages/first.js", "lib/api.js", "vendor/lit.js"}


def join_by_path() -> dict[str, str]:
    return {path: beside_joined(path, text, "app.js", FIRST) for path, text in MODULES.items()} | {
        "app.js": join_modules(MODULES.__getitem__, "app.js", FIRST)
    }


def test_modules_are_joined_in_the_order_in_which_they_need_each_other() -> None:
    whole = join_by_path()["app.js"]
    places = [whole.index(f'firstView["{path}"] = ') for path in ("lib/api.js", "pages/first.js")]
    assert places == sorted(places)
    assert whole.index('firstView["vendor/lit.js"] = ') < places[1] < whole.index("open();")
    assert whole.count("export ") == 1


def test_each_takes_from_the_others_what_it_imports() -> None:
    whole = join_by_path()["app.js"]
    assert 'const api = firstView["lib/api.js"];' in whole
    assert 'nothing: none,\n} = firstView["vendor/lit.js"];' in whole
    assert "return { html: a, nothing: b };" in whole
    assert "return { open, all };" in whole


def test_addresses_are_those_of_the_module_and_not_of_the_file() -> None:
    whole = join_by_path()["app.js"]
    assert "fetched(`./pages/${name}.js`)" in whole
    assert 'new URL("..", new URL("lib/api.js", import.meta.url))' in whole


def test_later_loaded_module_shares_the_joined_modules() -> None:
    served = join_by_path()
    assert served["pages/later.js"] == (
        'import { firstView } from "../app.js"; const { OWN } = firstView["lib/api.js"];\n'
        'import { near } from "./near.js";\nexport class Page {}\n'
    )
    assert served["pages/near.js"] == MODULES["pages/near.js"]
    assert served["vendor/lit.js"] == (
        'import { firstView } from "../app.js";\n'
        'export const { html, nothing } = firstView["vendor/lit.js"];\n'
    )


def test_only_lines_of_comment_are_left_out() -> None:
    kept = '/**\n * @license\n * MIT\n */\nconst a = "x"; // y\nconst b = `\n  http://x/**/`;\n'
    comments = "// Why.\n\n  /** @type {string} */\n/**\n * @param {T} a * b\n */\n  // c */\n"
    assert without_comments(comments + kept + comments) == "\n" + kept + "\n"
    assert "@license" in without_comments(_text("/web/vendor/lit-html.js"))


def test_front_page_has_one_style_sheet_and_the_others_all() -> None:
    [address] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', _text("/"))
    parts = re.findall(r'<link rel="stylesheet" href="([^"]+)"', _text("/web/units.html"))
    assert len(parts) > 1
    assert _text(address) == "".join(map(_text, parts[:2]))


def test_front_page_names_one_script_and_the_others_keep_their_modules() -> None:
    front = _text("/")
    assert front.count("<script") == 1
    assert "modulepreload" not in front
    [start] = re.findall(r'<script type="module" src="([^"]+)"', front)
    assert _text(start).endswith("})();\n")
    assert "firstView" not in _text("/web/app.js")
    of_front = start.removesuffix("/app.js")
    assert "firstView" in _text(f"{of_front}/lib/format/words.js")
    [units] = re.findall(r'src="([^"]+)/units/app.js"', _text("/web/units.html"))
    assert _text(f"{units}/lib/format/words.js") == _text("/web/lib/format/words.js")


def _text(path: str) -> str:
    return pages()[path].reply_to(Request("GET", path)).body.decode()


def test_every_page_says_what_to_do_when_its_script_does_not_come() -> None:
    found = {
        path: reply.reply_to(Request("GET", path, None, {}, b"", "127.0.0.1")).body.decode()
        for path, reply in pages().items()
        if path == "/" or path.endswith(".html")
    }
    assert len(found) == 3
    for path, text in found.items():
        assert text.count('<a href="">') == 5, path
        assert "<!--" not in text, path
