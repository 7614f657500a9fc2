// What every page is given: the live state, the settings, the commands, the role, and `redraw()`.

import * as api from "./api.js";
import { Overview } from "./overview.js";
import { isSame } from "./tree.js";

const ADMIN = "admin";
const CONTROL = "control";
export const SIMULATED = "simulated";

export class Context {
  // The tree of /api/settings; null for accounts that may not read it.
  /** @type {Settings | null} */
  settings = null;
  // None for accounts that may not read them, and until they have come: see `knowCommands`.
  /** @type {Commands} */
  commands = {
    all: [],
    find: () => null,
    get() {
      throw new Error("The commands are not known yet.");
    },
  };
  role = CONTROL;
  // The one that is set for everybody: "EN", "PL".
  language = "";
  // How the board calls itself: "simulated", "linux".
  board = "";
  // The cards of the open page; each form adds itself.
  /** @type {Set<Unsaved>} */
  forms = new Set();
  /** @type {Promise<void> | null} */
  #knowing = null;
  #needsCommands = false;
  /** @type {State["profile"] | null} */
  #profile = null;
  // Answers can overtake each other: the number of the newest question, and of the one whose
  // answer is known.
  #asked = 0;
  #known = 0;

  /** @param {Live} live @param {() => void} redraw */
  constructor(live, redraw) {
    this.live = live;
    this.redraw = redraw;
    this.overview = new Overview(this);
  }

  get isAdmin() {
    return this.role === ADMIN;
  }

  // The step at which the first run goes on; null where it is finished, or where a controller was
  // set up before there was one.
  get firstRunStep() {
    if (!this.settings) return null;
    const { ui, name, rules } = this.settings;
    const isUntouched = name === "" && rules.length === 0;
    return ui.first_run === "done" || !(isUntouched || ui.first_run !== "place")
      ? null
      : ui.first_run;
  }

  get hasUnsaved() {
    return [...this.forms].some((form) => form.isChanged);
  }

  // What is needed to show anything; `knowCommands` brings what is needed to change a setting.
  async load() {
    const asked = ++this.#asked;
    const start = await api.start();
    this.live.know(start.state);
    this.#take(start, asked);
  }

  // As much as all that the first view needs, and no part of it. They come once; if they could not
  // be fetched, they are asked for again the next time.
  knowCommands() {
    this.#needsCommands = true;
    this.#knowing ??= this.#fetchCommands().catch((error) => {
      this.#knowing = null;
      throw error;
    });
    return this.#knowing;
  }

  async #fetchCommands() {
    if (!this.isAdmin) return;
    const [{ Commands }, rows] = await Promise.all([import("./commands.js"), api.commands()]);
    this.commands = new Commands(rows);
    this.redraw();
  }

  // After a change of the settings, by whomever.
  async readSettings() {
    const asked = ++this.#asked;
    const start = await this.#readOrSignIn();
    if (start === null) return;
    if (this.#known > 0 && this.#isForOthers(start)) {
      location.reload();
      return;
    }
    this.#take(start, asked);
    this.redraw();
    if (this.#needsCommands) await this.knowCommands();
  }

  // Another version has other commands, and so other pages and cards; another account, too.
  /** @param {Start} start */
  #isForOthers({ state, account }) {
    return !isSame(state.profile, this.#profile) || account.role !== this.role;
  }

  // A change of the accounts may have ended the session: only signing in again helps.
  async #readOrSignIn() {
    try {
      return await api.start();
    } catch (error) {
      if (!(error instanceof api.Refused && error.problem.status === 401)) throw error;
      api.goToSignIn();
      return null;
    }
  }

  /** @param {Start} start @param {number} asked */
  #take({ state, board, account, status, labels, settings }, asked) {
    if (asked < this.#known) return;
    this.#known = asked;
    this.#profile = state.profile;
    this.board = board;
    this.role = account.role;
    this.overview.take({ account, status, labels });
    this.settings = settings;
    this.language = account.language;
    this.live.refresh = account.refresh;
  }
}
