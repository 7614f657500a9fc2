// How the pages behave, and the clock.

import { Form } from "../lib/form.js";
import { isFlag } from "../lib/schema.js";
import { ClockCard } from "./interface/clock.js";

/** @type {PartOf} */
export const partOf = (context) => [
  pagesCard(context),
  new ClockCard(context),
  zoneCard(context),
];

/** @param {AdminContext} context */
const zoneCard = (context) =>
  new Form(context, {
    title: "timezone",
    fields: [{ command: "timezone", label: "timezone", hint: "timezone_hint" }],
  });

// `bit2` chose the homepage before it came to mean that only names are shown.
/** @param {Commands} commands */
function meaningOfBit2(commands) {
  const schema = commands.find("bit2")?.schema("A");
  if (!schema || isFlag(schema)) {
    return { command: "bit2", label: "names_only", hint: "names_only_hint", path: "ui.names_only" };
  }
  const older = { command: "bit2", label: "homepage", hint: "homepage_hint", path: "ui.homepage" };
  return commands.find("byte0") ? null : older;
}

/** @param {AdminContext} context */
function pagesCard(context) {
  return new Form(context, {
    title: "pages",
    fields: [
      { command: "sname", label: "device_name", hint: "device_name_hint" },
      { command: "lang", label: "pages_language", hint: "language_hint" },
      { command: "word0", label: "refresh", unit: "s", hint: "refresh_hint", path: "ui.refresh" },
      { command: "byte0", label: "homepage", hint: "homepage_hint", path: "ui.homepage" },
      meaningOfBit2(context.commands),
    ].filter((field) => field !== null),
  });
}
