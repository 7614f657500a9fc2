// From the fields of a card to requests: which commands are sent, with which values, joined how.

import { settingReader } from "./bound_field.js";

// The controller takes at most so many commands in one request, and so long a query.
const MAX_COMMANDS = 100;
const MAX_LETTERS = 8192;

// The fields of one command for one place, with the values of all its letters. `card` are all the
// fields that are saved together with them.
export class Row {
  /** @param {BoundField[]} fields @param {Read} read @param {BoundField[]} card */
  constructor(fields, read, card) {
    this.fields = fields;
    this.card = card;
    this.command = fields[0].command;
    this.values = this.#values(read);
  }

  get isChanged() {
    return this.fields.some((field) => field.isChanged || field.isForgottenBy(this.card));
  }

  get wrongField() {
    return this.fields.find((field) => field.problem(this.values, this.isChanged) !== null);
  }

  get hasProblem() {
    return this.wrongField !== undefined;
  }

  // Letters without a field on the card keep what the settings say.
  /** @param {Read} read */
  #values(read) {
    const { command, fields } = this;
    const { at } = fields[0];
    const values = { ...at };
    for (const letter of command.letters) {
      const own = fields.filter((field) => field.letter === letter);
      if (own.length === 0) values[letter] ??= read({ command, at, letter, spec: {} });
      else if (own[0].part === undefined) values[letter] = own[0].value(values);
      else values[letter] = withParts(own, values);
    }
    return values;
  }
}

/** @param {BoundField[]} fields @param {ByLetter} values */
function withParts(fields, values) {
  const whole = fields[0].read(fields[0]);
  const copy = /** @type {Record<string, Value>} */ (
    Array.isArray(whole) ? [...whole] : { .../** @type {object} */ (whole) }
  );
  for (const field of fields) copy[field.part ?? ""] = field.value(values);
  return copy;
}

/**
 * @param {BoundField[]} fields
 * @param {AdminContext} context
 * @param {Paths | undefined} paths
 */
export function rowsOf(fields, context, paths) {
  const groups = Map.groupBy(fields, (field) => field.row);
  return [...groups.values()].map(
    (group) => new Row(group, settingReader(context, paths?.[group[0].spec.command]), fields),
  );
}

/** @param {Row} row */
export const joined = (row) => row.command.query(row.values);

// Commands of one path go out together, so that they are applied all or not at all, as far as one
// request takes them; a command with a body goes alone. Each request: { target, body, rows }.
/** @param {Row[]} rows */
export function requestsOf(rows) {
  const alone = rows.filter((row) => row.command.body);
  const byPath = Map.groupBy(
    rows.filter((row) => !row.command.body),
    (row) => row.command.path,
  );
  return [
    ...[...byPath].flatMap(([path, group]) => inPortions(path, group)),
    ...alone.map((row) => ({ ...row.command.request(row.values), rows: [row] })),
  ];
}

/** @param {string} path @param {Row[]} rows */
function inPortions(path, rows) {
  /** @type {JoinedRequest[]} */
  const portions = [];
  for (const row of rows) {
    const command = joined(row);
    const last = portions.at(-1);
    if (last && hasRoom(last, command)) {
      last.target += `&${command}`;
      last.rows.push(row);
    } else portions.push({ target: `${path}?${command}`, rows: [row] });
  }
  return portions;
}

/** @param {JoinedRequest} request @param {string} command */
const hasRoom = ({ target, rows }, command) =>
  rows.length < MAX_COMMANDS && target.length + command.length < MAX_LETTERS;
