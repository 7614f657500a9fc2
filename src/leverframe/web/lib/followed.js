// What the stream does not tell: read again a moment after the state has moved on, and now and then
// while nothing moves. It stands among the cards that show it, and draws nothing itself.
//
//   const outbox = new Followed(context, api.outbox);
//   await outbox.open();   outbox.value   outbox.close();

import { nothing } from "../vendor/lit-html.js";

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
    this.#context.redraw();
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

  // A lost connection is told by the frame; what was read last stays.
  #look() {
    if (this.#context.live.connection !== "lost") this.look().catch(() => {});
  }
}
