// Tables as text: there and back, and what is said of one that cannot be taken.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { UnclosedQuote, parseCsv, writeCsv } from "../../../src/leverframe/web/lib/forms/files.js";
import { usePageWords } from "../../../src/leverframe/web/lib/format/words.js";
import { ReadingsDraft } from "../../../src/leverframe/web/settings/modbus/readings.js";
import { tableOf, take } from "../../../src/leverframe/web/settings/modbus/readings.js";
import { openContext } from "./helpers.js";

let context;
before(async () => {
  context = await openContext();
  await usePageWords("modbus");
});

const cellsOf = (text) => parseCsv(text).map(({ cells }) => cells);

test("what is written is read again as it was", () => {
  const letters = ["a", '"', ",", ";", "\t", "\n", " ", "ż", "0", "'", "=", "+", "-", "@"];
  let seed = 7;
  const random = (most) => (seed = (seed * 48_271) % 2_147_483_647) % most;
  const letter = () => letters[random(letters.length)];
  const cell = () => Array.from({ length: random(6) }, letter).join("");
  for (let round = 0; round < 500; round++) {
    // The first line is a header: it says which separator there is.
    const rows = [["one", "two"], ...Array.from({ length: 3 }, () => [`x${cell()}`, cell()])];
    assert.deepEqual(cellsOf(writeCsv(rows)), rows);
  }
});

test("a text that begins like a formula is written as a text, and a number as a number", () => {
  const formulas = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'=1", "- 5"];
  const numbers = ["-5", "+5", "-5.25", "-5,25", "0"];
  for (const cell of [...formulas, ...numbers]) {
    const [, line] = writeCsv([["name"], [cell]]).split("\r\n");
    assert.equal(/^"?'/.test(line), formulas.includes(cell), cell);
    assert.deepEqual(cellsOf(writeCsv([["name"], [cell]]))[1], [cell.replace("\r", "\n")]);
  }
});

test("an apostrophe that the user typed stays", () => {
  assert.deepEqual(cellsOf("name\n'n flow\n"), [["name"], ["'n flow"]]);
});

test("comma, semicolon and tab separate, whichever the first line has most of", () => {
  assert.deepEqual(cellsOf("a;b;c\n1,5;2;3\n"), [["a", "b", "c"], ["1,5", "2", "3"]]);
  assert.deepEqual(cellsOf("a\tb\r\n1\t2\r"), [["a", "b"], ["1", "2"]]);
});

test("lines are counted as editors do; empty ones are left out", () => {
  const rows = parseCsv('\uFEFFa,b\n\n"1\n2",3\n  ,\nlast,4');
  assert.deepEqual(rows.map(({ line }) => line), [1, 3, 6]);
});

test("a quotation mark that is not closed is reported with its line", () => {
  assert.throws(() => parseCsv('a\nb\n"c'), { constructor: UnclosedQuote, line: 3 });
});

const HEADER = "reading,name,unit,function,register,type,endian,divisor";
const FLOW = '7,"Flow, ""hot""",°C,4,1000,int32,byte and word,10';
const draft = () => new ReadingsDraft(context, 0);

test("a table is taken into the draft, and its request carries it", () => {
  const one = draft();
  assert.deepEqual(take(one, `${HEADER}\n${FLOW}\n`), []);
  assert.equal(one.isChanged, true);
  assert.deepEqual(
    one.columns.map((column) => one.textOf(7, column)),
    ['Flow, "hot"', "°C", "4", "1000", "int32", "byte and word", "10"],
  );
  assert.match(one.request().body, /^&.*Flow%2C%20%22hot%22.*1000.*&&$/);
  const other = draft();
  assert.deepEqual(take(other, tableOf(one)), []);
  assert.deepEqual(other.request(), one.request());
  one.restore();
  assert.equal(one.isChanged, false);
});

test("semicolons of a spreadsheet are taken, too", () => {
  const one = draft();
  assert.deepEqual(take(one, `${HEADER.replaceAll(",", ";")}\n0;Flow;°C;4;1000;int16;none;1`), []);
  assert.equal(one.textOf(0, one.columns[0]), "Flow");
});

// Lines below a right header, and what is said of them.
const BAD_LINES = [
  [["0,Flow,C,4,70000,int16,none,1"], "Line 2, column “register”: invalid value “70000”."],
  [["", "0,A,,3,1,int16,none,7"], "Line 3, column “divisor”: invalid value “7”."],
  [["0,A,,3,1,int16,none,8"], "Allowed: 1, 10, 100, 1000, 10000."],
  [["0,A,,9,1,int16,none,1"], "Line 2, column “function”: invalid value “9”."],
  [["0,A,,3,1,int24,none,1"], "Line 2, column “type”: invalid value “int24”."],
  [["30,A,,3,1,int16,none,1"], "Line 2, column “reading”: invalid value “30”."],
  [["x,A,,3,1,int16,none,1"], "invalid value “x”. Allowed: 0 to 29."],
  [["0,A name that is long,,3,1,int16,none,1"], "“name”: invalid value “A name that is long”"],
  [["0,A,,3,1,int16,none"], "Line 2 has 7 cells, but there are 8 columns."],
  [
    ["0,A,,3,1,int16,none,1", "0,B,,3,1,int16,none,1"],
    "Line 3, column “reading”: reading 0 is already in line 2.",
  ],
  [['0,"two', 'lines",,3,1,int16,none,1'], "Line 2, column “name”: invalid value “two\nlines”"],
  [['0,"A,,3,1,int16,none,7'], "Line 2: a quotation mark is not closed."],
  [[], "The file contains no readings."],
];
const BAD_HEADERS = [
  [HEADER.replace("unit", "units"), "Line 1: unknown column “units”."],
  [HEADER.replace("unit", "name"), "Line 1: the column “name” appears twice."],
  [HEADER.replace(",divisor", ""), "Line 1: the column “divisor” is missing."],
];

test("a bad table is refused with line and column, and changes nothing", () => {
  const cases = [
    ...BAD_LINES.map(([lines, sentence]) => [[HEADER, ...lines], sentence]),
    ...BAD_HEADERS.map(([header, sentence]) => [[header, "0,A,,3,1,int16,none,1"], sentence]),
  ];
  for (const [lines, sentence] of cases) {
    const one = draft();
    const said = take(one, `${lines.join("\n")}\n`).join(" ");
    assert.ok(said.includes(sentence), `${said} instead of ${sentence}`);
    assert.equal(one.isChanged, false);
  }
});

test("a register out of range keeps the table from being sent", () => {
  const one = draft();
  const register = one.columns.find(({ name }) => name === "register");
  one.type(3, register, "65536");
  assert.equal(one.problem(3, register), "Out of range. Allowed: 0 to 65\u00a0535.");
  assert.equal(one.request(), null);
});
