// What the tests of the pages' logic share.

import { controller, facts } from "./browser.mjs";
import { effect } from "../../../src/leverframe/web/vendor/signals-core.js";
import { Commands } from "../../../src/leverframe/web/lib/live/commands.js";
import { Context } from "../../../src/leverframe/web/lib/live/context.js";
import { Live } from "../../../src/leverframe/web/lib/live/live.js";
import * as words from "../../../src/leverframe/web/lib/format/words.js";

export const VERSIONS = Object.keys(facts("commands"));
export const commandsOf = (version) => new Commands(facts("commands")[version]);

// A context as the administrator's pages have it, in English.
export async function openContext() {
  const context = new Context(new Live());
  await context.load();
  await Promise.all([context.knowCommands(), words.startWords(), words.completeWords()]);
  return context;
}

// The markup of a template, with its texts; listeners leave nothing.
export function markup(template) {
  if (Array.isArray(template)) return template.map(markup).join("");
  if (template?.strings) {
    const pieces = template.strings.map((text, at) => text + markup(template.values[at]));
    return pieces.join("");
  }
  const isText = ["string", "number", "boolean"].includes(typeof template);
  return isText ? String(template) : "";
}

// The words of a template, as people read them.
export const textOf = (template) =>
  markup(template)
    .replace(/<[^>]*>/g, "")
    .replace(/\s+/g, " ")
    .trim();

// Draws again with each change of what is drawn, until its markup is as wanted, and no longer.
export async function whenDrawn(view, wanted) {
  let stop;
  await new Promise((resolve) => {
    stop = effect(() => {
      if (wanted.test(markup(view()))) resolve();
    });
  });
  stop();
}

export const targets = () => controller.sent.map(({ target }) => target);
