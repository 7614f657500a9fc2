// The live state: a stream of changes, reading it again and again where no stream can be had.
//
// `connection` is "live", "polling" or "lost"; listeners are called after every change of either.

import * as api from "./api.js";

const POLL_MS = 2000;
const RETRY_MS = 3000;

export class Live {
  state = {};
  connection = "connecting";
  lostSince = null;
  #listeners = new Set();
  #timer = null;

  listen(listener) {
    this.#listeners.add(listener);
  }

  start() {
    const stream = api.stream();
    stream.addEventListener("state", (message) => this.#take("live", JSON.parse(message.data)));
    stream.addEventListener("change", (message) =>
      this.#take("live", { ...this.state, ...JSON.parse(message.data) }),
    );
    stream.onerror = () => {
      stream.close();
      this.#poll();
    };
  }

  async #poll() {
    clearTimeout(this.#timer);
    try {
      this.#take("polling", await api.state());
      this.#timer = setTimeout(() => this.start(), POLL_MS);
    } catch {
      this.#lose();
      this.#timer = setTimeout(() => this.#poll(), RETRY_MS);
    }
  }

  #take(connection, state) {
    this.state = state;
    this.connection = connection;
    this.lostSince = null;
    this.#tell();
  }

  #lose() {
    this.connection = "lost";
    this.lostSince ??= new Date();
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}
