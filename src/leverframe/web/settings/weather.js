// Temperature, humidity and pressure of the weather sensor: their names, and the altitude.

import { Form } from "../lib/forms/form.js";

// The command that names them counts on after the eight 1-Wire thermometers.
const T1 = 8;
const H1 = 9;

/** @param {string} command @param {ByLetter} at @param {string} path */
const nameField = (command, at, path) => ({ command, at, label: "name", path });

// By label.
/** @type {Record<string, FieldSpec[]>} */
const FIELDS = {
  T1: [nameField("tname", { A: T1 }, "weather.t1_name")],
  H1: [nameField("tname", { A: H1 }, "weather.h1_name")],
  P1: [
    nameField("p1name", {}, "weather.p1_name"),
    { command: "pmeter", label: "altitude", unit: "m", hint: "altitude_hint" },
  ],
};

/** @type {CardsOf} */
export const cardsOf = (context, { label, more }) => [
  new Form(context, { title: "settings", fields: FIELDS[label], ...more }),
];
