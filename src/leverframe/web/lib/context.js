// What every page is given: the live state, the settings, the commands, the role, and `redraw()`.

import * as api from "./api.js";
import { Commands } from "./commands.js";
import { Overview } from "./overview.js";
import { isSame } from "./tree.js";

export const ADMIN = "admin";
export const CONTROL = "control";
export const SIMULATED = "simulated";

export class Context {
  // The tree of /api/settings; null for accounts that may not read it.
  settings = null;
  commands = new Commands([]);
  role = CONTROL;
  // How the board calls itself: "simulated", "linux".
  board = "";
  // The cards of the open page; each form adds itself.
  forms = new Set();

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

  // Who may read the settings is the administrator; everybody else may look and switch.
  async load() {
    try {
      const [health] = await Promise.all([api.health(), this.overview.read()]);
      this.role = this.overview.role;
      this.board = health.board;
      if (!this.isAdmin) return;
      const [settings, rows] = await Promise.all([api.settings(), api.commands()]);
      this.commands = new Commands(rows);
      this.#take(settings);
    } catch (error) {
      if (!(error instanceof api.Refused)) throw error;
      this.role = CONTROL;
    }
  }

  async readSettings() {
    if (!this.isAdmin) return;
    const settings = await this.#readOrSignIn();
    if (settings === null) return;
    // Another version has other commands, and so other pages and cards.
    if (!isSame(settings.profile, this.settings.profile)) location.reload();
    this.#take(settings);
    this.redraw();
  }

  // A change of the accounts may have ended the session: only signing in again helps.
  async #readOrSignIn() {
    try {
      return await api.settings();
    } catch (error) {
      if (!(error instanceof api.Refused && error.problem.status === 401)) throw error;
      location.assign(api.signInPage);
      return null;
    }
  }

  #take(settings) {
    this.settings = settings;
    this.live.refresh = settings.ui.refresh;
  }
}
