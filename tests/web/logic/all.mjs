// All tests in one process: to start one for each file takes three times as long.
//
// Each file begins with a browser and a controller as new; the words of pages, once fetched, stay.

import { readdirSync } from "node:fs";
import { before, describe } from "node:test";

import { controller } from "./browser.mjs";
import { chooseLanguage } from "../../../src/leverframe/web/lib/format/words.js";

function startAnew() {
  controller.reset();
  chooseLanguage("en");
  localStorage.clear();
  history.reset();
  process.env.TZ = "UTC";
}

for (const name of readdirSync(import.meta.dirname).sort()) {
  if (!name.endsWith(".test.js")) continue;
  describe(name, async () => {
    before(startAnew);
    await import(`./${name}`);
  });
}
