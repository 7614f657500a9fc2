// Run inside a page by test_setting_pages.py: try every field of every card, as a user would.
//
// `walk({ texts, skipped, hidden })` types something impossible and then another valid value into
// each field, saves each card, and answers { values, problems }: what was typed by the id of the
// field, and what did not go as it should. `shownValues(ids)` returns what fields show.

const CARDS = "form.card:has(> .fields)";
const INPUTS = "input, select, textarea";
const PATIENCE_MS = 30_000;
const NEVER = "never";
let durations;

// A page draws itself in a microtask after what was done to it.
const drawn = () => Promise.resolve();
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 5));

const settings = async () => leaves(await (await fetch("/api/settings")).json());

// Every value of a tree by its path.
function leaves(tree, path = "") {
  if (tree === null || typeof tree !== "object") return { [path]: tree };
  return Object.assign(
    {},
    ...Object.entries(tree).map(([name, value]) => leaves(value, `${path}.${name}`)),
  );
}

const headingOf = (card) => card.querySelector("h2").textContent.trim();
const hintOf = (input) => input.closest(".field")?.querySelector(".hint")?.textContent ?? "";
const complaintOf = (input) => input.closest(".field")?.querySelector(".wrong")?.textContent ?? "";
const isNumber = (input) => input.inputMode === "decimal";
// A length of time, written as people do; 0 may be a word.
const secondsIn = (text) => (text === NEVER ? 0 : durations.secondsOf(text));
const isDuration = (input) => input.closest(".field[data-short]") !== null && !isNumber(input);
const isTyped = (input) => input.type !== "checkbox" && input.tagName !== "SELECT";

// The limits shown beside a field, as text: [least, most], or none.
// A dot within a number is a part of it, behind a sentence it is not.
const LIMITS = /(-?[\d.]+|\d(?:[\d a-z]|\.(?=\d))*) to (-?[\d.]+|\d[\d. a-z]*)$/;
const limitsOf = (input) => LIMITS.exec(hintOf(input))?.slice(1) ?? [];

function put(input, value) {
  if (input.type === "checkbox") input.checked = value;
  else input.value = value;
  const type = isTyped(input) ? "input" : "change";
  input.dispatchEvent(new Event(type, { bubbles: true }));
}

// One after the other, as people type: { id: value }.
async function putAll(values) {
  for (const [id, value] of Object.entries(values)) {
    put(inputOf(id), value);
    await drawn();
  }
}

// More than any text may have.
const TOO_MANY_LETTERS = 5000;

// A limit is written in two units at most: "3 d 19 h" may stand for an hour less a second more.
const justAbove = (limit) =>
  secondsIn(limit.replace(/\d+(?=\D*$)/, (number) => String(Number(number) + 1)));

// What can never be right there, or null where everything is.
function impossible(input) {
  if (!isTyped(input)) return null;
  const [, highest] = limitsOf(input);
  if (isDuration(input)) return highest ? durations.durationText(justAbove(highest)) : "soon";
  if (isNumber(input)) return highest ? String(Number(highest) + 1) : "many";
  return "x".repeat(TOO_MANY_LETTERS);
}

// Another value than the present one.
function another(input, texts) {
  if (input.type === "checkbox") return !input.checked;
  if (input.tagName === "SELECT") {
    return input.options[(input.selectedIndex + 1) % input.options.length].value;
  }
  const [, highest = Infinity] = limitsOf(input);
  const next = (value, most) => (value + 1 > most ? value - 1 : value + 1);
  if (isNumber(input)) return String(next(Number(input.value), Number(highest)));
  if (!isDuration(input)) return anotherText(input, texts);
  const most = highest === Infinity ? highest : secondsIn(highest);
  return durations.durationText(next(secondsIn(input.value), most));
}

function anotherText(input, texts) {
  const hint = hintOf(input);
  const fitting = texts.find(([form]) => hint.toLowerCase().includes(form));
  return fitting[1];
}

const read = (input) => (input.type === "checkbox" ? input.checked : input.value);
// Cards are drawn again, so inputs are looked up again each time.
const inputOf = (id) => document.getElementById(id);

const byId = (ids, make) => Object.fromEntries(ids.map((id) => [id, make(inputOf(id))]));

async function tryImpossible(ids, problems, place) {
  const wrong = Object.entries(byId(ids, impossible)).filter(([, value]) => value !== null);
  await putAll(Object.fromEntries(wrong));
  for (const [id, value] of wrong) {
    const input = inputOf(id);
    const complaint = complaintOf(input);
    if (complaint === "" || limitsOf(input).some((limit) => !complaint.includes(limit))) {
      problems.push(`${place} ${id}: "${value.slice(0, 20)}" is not refused with the limits`);
    }
  }
}

// Some numbers are allowed in larger steps only.
async function keepToSteps(typed) {
  for (const id of Object.keys(typed)) {
    const input = inputOf(id);
    const [, step] = /in steps of (\d[\d. a-z]*?)\.?$/.exec(complaintOf(input)) ?? [];
    if (!step) continue;
    typed[id] = isDuration(input)
      ? durations.durationText(secondsIn(typed[id]) - 1 + secondsIn(step))
      : String(Number(typed[id]) - 1 + Number(step));
    await putAll({ [id]: typed[id] });
  }
}

async function saved(card) {
  card.querySelector(":scope > footer button.primary").click();
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    await aMoment();
    if (card.querySelector(".wrong, .refusal")) return false;
    if (card.querySelector(":scope > footer .saved").textContent.trim() !== "") return true;
  }
  return false;
}

const sameText = (value) =>
  typeof value === "boolean" ? String(Number(value)) : String(value).trim();
// What a typed value may be in the settings: itself, seconds, or hundredths.
const meanings = (value) =>
  [value, secondsIn(String(value)), Number((Number(value) * 100).toFixed(6))].map(sameText);

// Which of the typed values did not get into the settings?
function missing(typed, before, after) {
  const changed = Object.keys(after).filter((path) => after[path] !== before[path]);
  const arrived = new Set(changed.map((path) => sameText(after[path])));
  return typed.filter(([, value]) => !meanings(value).some((one) => arrived.has(one)));
}

// Answers the settings as they are afterwards; `known` are those before, if they were read already.
async function walkCard(card, { texts, skipped, hidden }, known, values, problems) {
  const place = headingOf(card);
  const isLeftAlone = (id) => !id || skipped.some((begin) => id.startsWith(begin));
  const inputs = [...card.querySelectorAll(`.fields :is(${INPUTS})`)];
  const ids = inputs.map(({ id }) => id).filter((id) => !isLeftAlone(id));
  if (ids.length === 0) return known;
  const before = known ?? (await settings());
  const typed = byId(ids, (input) => another(input, texts));
  await tryImpossible(ids, problems, place);
  await putAll(typed);
  await keepToSteps(typed);
  if (!(await saved(card))) {
    const said = [...card.querySelectorAll(".wrong, .refusal")].map((one) => one.textContent);
    problems.push(`${place} could not be saved: ${said.join(" ").trim()}`);
    return settings();
  }
  const readable = Object.entries(typed).filter(([id]) => inputOf(id)?.type !== "password");
  const compared = readable.filter(([id]) => !hidden.some((begin) => id.startsWith(begin)));
  const after = await settings();
  for (const [id, value] of missing(compared, before, after)) {
    problems.push(`${place} ${id}: ${value} is not in /api/settings`);
  }
  Object.assign(values, Object.fromEntries(readable));
  return after;
}

globalThis.walk = async (options) => {
  // The page is hidden: what is not seen is neither laid out nor painted.
  document.body.style.contentVisibility = "hidden";
  // Of the page itself, which has its words; by another path it would be a second one without.
  const base = document.querySelector("script[type=module]").src.replace(/[^/]+$/, "");
  durations = await import(`${base}lib/format/numbers.js`);
  const values = {};
  const problems = [];
  let known = null;
  for (const card of [...document.querySelectorAll(CARDS)]) {
    known = await walkCard(card, options, known, values, problems);
  }
  return { values, problems };
};

globalThis.shownValues = (ids) =>
  Object.fromEntries(ids.map((id) => [id, inputOf(id) ? read(inputOf(id)) : "no such field"]));
