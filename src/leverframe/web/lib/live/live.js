// The live state: a stream of changes, reading it again and again where no stream can be had.
//
// `connection` is "connecting", "live", "late", "polling" or "lost"; listeners are called after
// every change of it or of the state. It is late when a heartbeat is missing, and lost when then
// the controller does not answer either.

import { nothing } from "../../vendor/lit-html.js";
import { useZone } from "../format/zone.js";
import * as api from "./api.js";
import { observe } from "./drawing.js";

const RETRY_MS = 2000;
// How long a stream may take to begin.
const OPENING_MS = 10_000;
// Heartbeats come every two seconds: after this time one is missing. A pulled cable makes no sound.
const LATE_MS = 3000;
const PATIENCE_MS = 2000;
const DEFAULT_REFRESH_S = 30;
const SECOND_MS = 1000;
// A clock that moves by more between two messages was moved.
const LEAP_S = 10;

export class Live {
  // Empty until the controller has sent it.
  state = /** @type {State} */ ({});
  /** @type {Connection} */
  connection = "connecting";
  /** @type {number | null} */
  lostSince = null;
  // Number of messages; listeners are also called as time passes.
  heard = 0;
  #refresh = DEFAULT_REFRESH_S;
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {Set<() => void>} */
  #settingsListeners = new Set();
  /** @type {EventSource | null} */
  #stream = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #hasBegun = false;
  // Number of gaps: only the history knows what happened then.
  #gaps = 0;
  #isFallingBack = false;
  // The controller's time of the last message, and the browser's.
  #heardTime = 0;
  #heardAt = 0;
  // The browser's wall time of the last contact.
  #contactAt = Date.now();

  constructor() {
    observe(this, "state", "connection", "lostSince");
  }

  // Does the controller answer, be it by a stream or by readings?
  get isHeard() {
    return this.connection === "live" || this.connection === "polling";
  }

  // Seconds between two readings where there is no stream; a setting of the controller.
  /** @param {number} seconds */
  set refresh(seconds) {
    if (seconds === this.#refresh) return;
    this.#refresh = seconds;
    if (this.connection === "polling") this.#after(seconds * 1000, () => this.#listen());
  }

  /** @param {() => void} listener */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // Called after any change of the settings.
  /** @param {() => void} listener */
  listenToSettings(listener) {
    this.#settingsListeners.add(listener);
    return () => this.#settingsListeners.delete(listener);
  }

  // Returns a function that says whether there was a gap since its last call: a time without a
  // stream, or one over which the clock was moved.
  watchGaps() {
    let known = this.#gaps;
    return () => {
      const before = known;
      known = this.#gaps;
      return known !== before;
    };
  }

  // What is known before the stream starts.
  /** @param {State} state */
  know(state) {
    if (this.connection === "connecting") this.#take("connecting", state);
  }

  // Whole seconds remaining of a duration in the last message; the page counts down in between.
  /** @param {number} seconds */
  remaining(seconds) {
    return Math.max(0, Math.ceil(seconds - this.#elapsed()));
  }

  start() {
    addEventListener("offline", () => this.#fallBack());
    document.addEventListener("visibilitychange", () => this.#onVisibilityChange());
    setInterval(() => this.#letTimePass(), SECOND_MS);
    this.#onVisibilityChange();
  }

  // Browsers open but a few connections to one controller, and every stream keeps one: tabs in the
  // background would leave none to the one that is looked at.
  #onVisibilityChange() {
    clearTimeout(this.#timer);
    this.#stream?.close();
    if (document.hidden) return;
    if (this.connection !== "lost") this.connection = "connecting";
    this.#notify();
    this.#listen();
  }

  #listen() {
    this.#stream?.close();
    if (document.hidden) return;
    this.#after(OPENING_MS, () => this.#askAfter());
    const stream = api.stream();
    this.#stream = stream;
    stream.addEventListener("state", (message) => this.#begin(JSON.parse(message.data)));
    stream.addEventListener("change", (message) =>
      this.#hear({ ...this.state, ...JSON.parse(message.data) }),
    );
    stream.addEventListener("heartbeat", ({ data }) => this.#hearHeartbeat(JSON.parse(data)));
    stream.addEventListener("settings", () => this.#notifySettings());
    stream.onerror = () => this.#fallBack();
  }

  // Between two streams anything may have happened. Before the first, the number decides.
  /** @param {State} state */
  #begin(state) {
    const known = this.state.settings_revision ?? state.settings_revision;
    if (this.#hasBegun) this.#resume();
    else if (known !== state.settings_revision) this.#notifySettings();
    this.#hasBegun = true;
    this.#hear(state);
  }

  #resume() {
    this.#gaps++;
    this.#notifySettings();
  }

  /** @param {State} state */
  #hear(state) {
    this.#take("live", state);
    this.#expectHeartbeat();
  }

  /** @param {{ clock: number }} heartbeat */
  #hearHeartbeat({ clock }) {
    api.setClock(clock);
    this.#contactAt = Date.now();
    if (this.connection === "late") {
      this.connection = "live";
      this.#notify();
    }
    this.#expectHeartbeat();
  }

  #expectHeartbeat() {
    this.#after(LATE_MS, () => {
      this.connection = "late";
      this.#notify();
      this.#askAfter();
    });
  }

  // A stream that stays silent while the controller answers is given up, too.
  async #askAfter() {
    try {
      await api.health({ signal: AbortSignal.timeout(PATIENCE_MS) });
      this.#after(LATE_MS, () => this.#fallBack());
    } catch (error) {
      if (error instanceof api.Refused) return this.#fallBack();
      this.#stream?.close();
      this.#lose();
      this.#after(RETRY_MS, () => this.#fallBack());
    }
  }

  async #fallBack() {
    if (this.#isFallingBack || document.hidden) return;
    this.#isFallingBack = true;
    this.#stream?.close();
    const wasLost = this.connection === "lost";
    try {
      // A controller that is silent may be silent to this, too.
      const state = await api.state({ signal: AbortSignal.timeout(PATIENCE_MS) });
      this.#hasBegun = true;
      this.#resume();
      this.#take("polling", state);
      // After a loss the stream is probably back, too; otherwise it is tried with every reading.
      this.#after(wasLost ? 0 : this.#refresh * 1000, () => this.#listen());
    } catch (error) {
      // The session has ended: only signing in again helps.
      if (error instanceof api.Refused && error.problem.status === 401) api.goToSignIn();
      this.#lose();
      this.#after(RETRY_MS, () => this.#fallBack());
    } finally {
      this.#isFallingBack = false;
    }
  }

  /** @param {number} ms @param {() => void} act */
  #after(ms, act) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, ms);
  }

  // The stream does not report passing time; a virtual clock stands still until it is moved.
  #letTimePass() {
    if (this.connection === "lost" || this.state.virtual_time !== false) return;
    this.state = Object.assign({ ...this.state }, { time: this.#heardTime + this.#elapsed() });
    this.#notify();
  }

  // Seconds of the controller's time since it was last heard.
  #elapsed() {
    return this.state.virtual_time === false ? (performance.now() - this.#heardAt) / 1000 : 0;
  }

  /** @param {Connection} connection @param {State} state */
  #take(connection, state) {
    if (this.#hasLeapt(state)) this.#gaps++;
    this.#heardTime = state.time;
    this.#heardAt = performance.now();
    this.#contactAt = Date.now();
    this.heard++;
    this.state = state;
    useZone(state.timezone);
    this.connection = connection;
    this.lostSince = null;
    this.#notify();
  }

  // Whether the clock was moved, by hand or as virtual time is: messages skip what was between.
  /** @param {State} state */
  #hasLeapt({ time }) {
    const isFirst = this.heard === 0;
    return !isFirst && Math.abs(time - this.#heardTime - this.#elapsed()) > LEAP_S;
  }

  #lose() {
    this.connection = "lost";
    this.lostSince ??= this.#contactAt / 1000;
    this.#notify();
  }

  #notifySettings() {
    for (const listener of this.#settingsListeners) listener();
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }
}

// What the stream does not send: read again a moment after the state has moved on, and now and then
// while nothing moves. It stands among the cards that show it, and draws nothing itself.
//
//   const outbox = new Followed(context, api.outbox);
//   await outbox.open();   outbox.value   outbox.close();

const READ_AGAIN_MS = 400;
const LOOK_AGAIN_MS = 3000;

/** @template T */
export class Followed {
  /** @type {T | null} */
  value = null;
  #context;
  #read;
  #heard = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #soon;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #regular;
  #stop = () => {};

  /** @param {Context} context @param {() => Promise<T>} read */
  constructor(context, read) {
    observe(this, "value");
    this.#context = context;
    this.#read = read;
  }

  async open() {
    this.#stop = this.#context.live.listen(() => this.#follow());
    this.#regular = setInterval(() => this.#look(), LOOK_AGAIN_MS);
    await this.look();
  }

  async look() {
    this.value = await this.#read();
  }

  close() {
    this.#stop();
    clearInterval(this.#regular);
    clearTimeout(this.#soon);
  }

  /** @returns {Template} */
  view() {
    return nothing;
  }

  #follow() {
    const { heard } = this.#context.live;
    if (heard === this.#heard) return;
    this.#heard = heard;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#look();
    }, READ_AGAIN_MS);
  }

  // The frame shows a lost connection; the last answer stays.
  #look() {
    if (this.#context.live.connection !== "lost") this.look().catch(() => {});
  }
}
