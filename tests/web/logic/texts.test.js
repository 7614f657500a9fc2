// Every text that the pages ask for exists, and every text that exists is asked for.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { parse } from "../../../tools/pages/node_modules/espree/dist/espree.cjs";

const WEB = new URL("../../../src/leverframe/web/", import.meta.url);
const readText = (path) => readFileSync(new URL(path, WEB), "utf8");
const FILES = readdirSync(WEB, { recursive: true }).filter(
  (path) => path.endsWith(".js") && !path.startsWith("vendor"),
);
// Found by their texts, not by keys.
const OTHERS = ["codes", "commands", "findings", "parts", "readings", "server", "synonyms"];
// What every page but the first view has besides its own words: those of the frame, and of forms.
const COMMON = ["frame", "forms"];
const PAGES = readdirSync(new URL("words", WEB))
  .map((name) => name.replace(".json", ""))
  .filter((name) => ![...OTHERS, "forms"].includes(name));
// Properties of cards, fields and actions that name a text.
const NAMING = ["label", "title", "note", "hint", "done", "danger"];

// Whose words a module uses: those of its page, or of the frame.
function pageOf(path) {
  const [, page] = /^(?:(?:pages|lib\/\w+|settings)\/)?(\w+)/.exec(path) ?? [];
  return PAGES.includes(page) ? page : "frame";
}

function* nodesOf(node) {
  if (Array.isArray(node)) for (const one of node) yield* nodesOf(one);
  else if (typeof node?.type === "string") {
    yield node;
    for (const child of Object.values(node)) if (typeof child === "object") yield* nodesOf(child);
  }
}

const textsIn = (node) => {
  if (node?.type === "Literal" && typeof node.value === "string") return [node.value];
  if (node?.type === "ArrayExpression") return textsIn(node.elements[0]);
  if (node?.type !== "ConditionalExpression") return [];
  return [...textsIn(node.consequent), ...textsIn(node.alternate)];
};

// By page: the keys that its code asks for, all its texts, the beginnings of composed keys.
function listTexts() {
  const found = Object.fromEntries(
    PAGES.map((page) => [page, { asked: new Set(), quoted: new Set(), begun: new Set() }]),
  );
  for (const path of FILES) {
    const { asked, quoted, begun } = found[pageOf(path)];
    const tree = parse(readText(path), { ecmaVersion: 2024, sourceType: "module" });
    for (const node of nodesOf(tree)) {
      const isT = node.type === "CallExpression" && node.callee.name === "t";
      const isNaming = node.type === "Property" && NAMING.includes(node.key.name);
      const named = isT ? textsIn(node.arguments[0]) : isNaming ? textsIn(node.value) : [];
      named.forEach((key) => asked.add(key));
      if (node.type === "Literal") quoted.add(node.value);
      const [first] = isT && node.arguments[0]?.type === "TemplateLiteral" ? node.arguments : [];
      if (first?.quasis[0].value.raw) begun.add(first.quasis[0].value.raw);
    }
  }
  return found;
}

const SPOKEN = listTexts();
const wordsIn = (name) => Object.keys(JSON.parse(readText(`words/${name}.json`)));
const wordsOf = (page) => (page === "frame" ? COMMON.flatMap(wordsIn) : wordsIn(page));

for (const page of PAGES) {
  test(`every text that ${page} asks for exists`, () => {
    const known = new Set([...wordsOf(page), ...wordsOf("frame")]);
    assert.deepEqual([...SPOKEN[page].asked].filter((key) => !known.has(key)), []);
  });

  test(`every text of ${page} is used`, () => {
    const users = page === "frame" ? Object.values(SPOKEN) : [SPOKEN[page]];
    const isUsed = (key) =>
      users.some(
        ({ quoted, begun }) => quoted.has(key) || [...begun].some((one) => key.startsWith(one)),
      );
    assert.deepEqual(wordsOf(page).filter((key) => !isUsed(key)), []);
  });
}

test("the pages ask for many texts", () => {
  const count = Object.values(SPOKEN).reduce((sum, { asked }) => sum + asked.size, 0);
  assert.ok(count > 500, String(count));
});
