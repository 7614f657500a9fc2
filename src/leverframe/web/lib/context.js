// What every page is given: the live state, the settings, the commands, the role, and `redraw()`.

import * as api from "./api.js";
import { Overview } from "./overview.js";
import { isSame } from "./tree.js";

export const ADMIN = "admin";
export const CONTROL = "control";
export const SIMULATED = "simulated";

export class Context {
  // The tree of /api/settings; null for accounts that may not read it.
  settings = null;
  // None for accounts that may not read them, and until they have come: see `knowCommands`.
  commands = { all: [], find: () => null };
  role = CONTROL;
  // How the board calls itself: "simulated", "linux".
  board = "";
  // The cards of the open page; each form adds itself.
  forms = new Set();
  #knowing = null;
  #profile = null;

  constructor(live, redraw) {
    this.live = live;
    this.redraw = redraw;
    this.overview = new Overview(this);
  }

  get isAdmin() {
    return this.role === ADMIN;
  }

  get hasUnsaved() {
    return [...this.forms].some((form) => form.isChanged);
  }

  // What is needed to show anything; `knowCommands` brings what is needed to change a setting.
  async load() {
    const { state, ...start } = await api.start();
    this.#profile = state.profile;
    this.live.know(state);
    this.#take(start);
  }

  // Most of what is fetched, and no part of the first view. It comes once; if it could not be
  // fetched, it is asked for again the next time.
  knowCommands() {
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
    const start = await this.#readOrSignIn();
    if (start === null) return;
    // Another version has other commands, and so other pages and cards.
    if (!isSame(start.state.profile, this.#profile)) location.reload();
    this.#take(start);
    this.redraw();
    await this.knowCommands();
  }

  // A change of the accounts may have ended the session: only signing in again helps.
  async #readOrSignIn() {
    try {
      return await api.start();
    } catch (error) {
      if (!(error instanceof api.Refused && error.problem.status === 401)) throw error;
      location.assign(api.signInPage);
      return null;
    }
  }

  #take({ board, account, status, labels, settings }) {
    this.board = board;
    this.role = account.role;
    this.overview.take({ account, status, labels });
    this.settings = settings;
    if (settings) this.live.refresh = settings.ui.refresh;
  }
}
