// The modem at a glance: state, SIM card, network and signal.

import { html, nothing } from "../../vendor/lit-html.js";
import { reading } from "../../lib/reading.js";
import { thingAddress } from "../../lib/things.js";
import { t } from "../../lib/words.js";

const MODULE = "GSM modem SIM800L";
// In dBm, from which on the signal is called so.
const GOOD = -75;
const FAIR = -95;

// What the controller says by its own words, by key of ours.
const STATES = {
  "not connected": "state_not_connected",
  starting: "state_starting",
  silent: "state_silent",
  "waiting for the SIM card": "state_waiting",
  ready: "state_ready",
};
const REGISTRATIONS = {
  "not registered": "network_none",
  home: "network_home",
  searching: "network_searching",
  denied: "network_denied",
  unknown: "network_unknown",
  roaming: "network_roaming",
};

/** @param {Record<string, string>} words @param {string} said */
const word = (words, said) => (words[said] ? t(words[said]) : said);

/** @param {State} live @param {Settings} settings */
export function modemStatus({ modem }, { serial }) {
  const { sim, registration, operator, signal_dbm: signal } = modem ?? {};
  const state = modem?.state ?? "not connected";
  return html`<section class="card modem" data-state=${state}>
    <h2>${t("modem")}</h2>
    ${serial.module === MODULE
      ? nothing
      : html`<p class="note">
          ${t("not_chosen")} <a href=${thingAddress("all-sensors")}>${t("to_serial")}</a>
        </p>`}
    ${reading({ name: t("state"), value: word(STATES, state), absent: state === "silent" })}
    ${reading({ name: t("signal"), ...strength(signal) })}
    ${reading({
      name: t("network"),
      value: operator ?? "–",
      detail: registration ? word(REGISTRATIONS, registration) : "",
    })}
    ${reading({ name: t("sim_card"), value: sim ?? "–" })}
  </section>`;
}

/** @param {number | null | undefined} signal */
function strength(signal) {
  if (signal === null || signal === undefined) return { value: "–" };
  const judged = signal >= GOOD ? "signal_good" : signal >= FAIR ? "signal_fair" : "signal_weak";
  return { value: String(signal), unit: "dBm", absent: signal < FAIR, detail: t(judged) };
}
