// Commands are found by name or form, and make requests.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import * as api from "../../../src/leverframe/web/lib/live/api.js";
import { usePageWords } from "../../../src/leverframe/web/lib/format/words.js";
import { CommandCard } from "../../../src/leverframe/web/pages/console/cards.js";
import { facts } from "./browser.mjs";
import { VERSIONS, commandsOf, markup, openContext } from "./helpers.js";

let context;
before(async () => {
  context = await openContext();
  await usePageWords("console");
});

test("a command is found by its name, with and without holes, or by its form", () => {
  const { commands } = context;
  assert.equal(commands.find("oname").line, "GET /stm.cgi?oname=<A><B>");
  assert.equal(commands.find("gsmsms"), commands.find("gsmsms<A>"));
  assert.equal(commands.find("modbusid=<A><B>").line, "GET /stm.cgi?modbusid=<A><B>");
  assert.equal(commands.find("nonsense"), null);
  assert.throws(() => commands.get("nonsense"), /no command nonsense/);
});

test("one that is deprecated is found only where there is no other", () => {
  for (const version of VERSIONS) {
    const commands = commandsOf(version);
    for (const command of commands.all.filter(({ deprecated }) => deprecated)) {
      const [item] = command.items;
      const others = commands.all.filter((one) => one.items[0]?.name === item?.name);
      const hasBetter = others.some(({ deprecated }) => !deprecated);
      if (item && hasBetter) assert.equal(commands.find(item.name).deprecated, false, item.name);
    }
  }
});

test("a request carries its values, and ends before the first that is left out", () => {
  const { commands } = context;
  const request = commands.get("oname").request({ A: 1, B: "Pump & more" });
  assert.deepEqual(request, { target: "/stm.cgi?oname=1Pump%20%26%20more" });
  const optional = commands.all.find(({ fields }) => fields.at(-1)?.optional);
  const letters = optional.letters.slice(0, -1);
  const given = Object.fromEntries(letters.map((letter) => [letter, 0]));
  assert.ok(!optional.request(given).target.includes(`<${optional.letters.at(-1)}>`));
});

test("a field knows its setting, and an unknown one says so", () => {
  const oname = context.commands.get("oname");
  assert.equal(oname.settingPath("B", { A: 3 }), "outputs.3.name");
  assert.equal(oname.lastLetter, "B");
  assert.ok(oname.has("B") && !oname.has("Z"));
  assert.throws(() => oname.schema("Z"), /no field Z/);
});

// The command line for the example of a row; nothing before a file is chosen.
function expectedCommand({ method, example, example_body: body }) {
  const [verb, data] = [method === "GET" ? "" : ` -X ${method}`, body?.replaceAll("+", " ")];
  const target = decodeURIComponent(example.split(" ")[1]);
  const sent = data ? ` --data-raw '${decodeURIComponent(data)}'` : "";
  return `curl${verb}${sent} '${location.origin}${target}'`;
}

for (const version of VERSIONS) {
  test(`every command of ${version} is drawn whole in the console`, () => {
    for (const command of commandsOf(version).all) {
      const drawn = markup(new CommandCard(context, command, "id").view());
      assert.doesNotMatch(drawn, /undefined|NaN|\[object/, command.line);
    }
  });

  test(`every command of ${version} begins with its example in the console`, () => {
    const rows = facts("commands")[version];
    for (const [at, command] of commandsOf(version).all.entries()) {
      if (command.body?.kind === "upload") continue;
      const { request } = new CommandCard(context, command, "id");
      assert.equal(decodeURIComponent(api.curl(request)), expectedCommand(rows[at]), command.line);
    }
  });
}
