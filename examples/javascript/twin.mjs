// A controller for tests, in virtual time and with its own data folder.
//
// Copy this file. It needs only node 20 and the program `leverframe` on the path.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class Twin {
  #process;
  #folder;

  /** Start a twin; `options` are those of `leverframe run`, such as `["--hw", "3.0"]`. */
  static async start(...options) {
    const twin = new Twin();
    twin.#folder = await mkdtemp(join(tmpdir(), "twin-"));
    const fixed = ["--json", "--port", "0", "--virtual-time", "--data", twin.#folder];
    twin.#process = spawn("leverframe", ["run", ...fixed, ...options], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    // The program prints its address and all ports when it is ready.
    for await (const line of createInterface({ input: twin.#process.stdout })) {
      const event = JSON.parse(line);
      if (event.event === "ready") {
        twin.url = event.url.replace(/\/$/, "");
        twin.ports = event.ports;
        // The initial state of every test.
        await twin.snapshot("take=start");
        return twin;
      }
    }
    throw new Error("The twin failed to start.");
  }

  /** Send a request; a refusal is an error with the controller's message. */
  async get(target, { method = "GET" } = {}) {
    const answer = await fetch(this.url + target, { method });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
    return text;
  }

  /** Every value by its label, in real units. */
  async state() {
    return JSON.parse(await this.get("/api/state"));
  }

  /** Set inputs of the simulated board: `await twin.sense({ DS1: 21.5 })`. */
  sense(readings) {
    return this.get(`/sim.cgi?${new URLSearchParams(readings)}`);
  }

  /** Advance time; everything that is due in between happens first. */
  advance(seconds) {
    return this.get(`/sim.cgi?advance=${seconds}`);
  }

  /** Set a fault: `await twin.fault("status*code:503*times:1")`. */
  fault(words) {
    return this.get(`/sim.cgi?fault=${words}`);
  }

  /** Messages that a real unit would have sent. */
  async messages() {
    return JSON.parse(await this.get("/api/outbox")).captured;
  }

  /** Requests of clients. */
  async requests(path) {
    const all = JSON.parse(await this.get("/api/sim/requests"));
    return all.filter((request) => request.path === path);
  }

  snapshot(words) {
    return this.get(`/api/sim/snapshots?${words}`, { method: "POST" });
  }

  /** Restore the initial state, in a few milliseconds. */
  async reset() {
    await this.snapshot("restore=start");
    await this.get("/sim.cgi?fault=none&outbox=clear&requests=clear");
  }

  async stop() {
    this.#process.kill();
    await once(this.#process, "exit");
    await rm(this.#folder, { recursive: true });
  }
}
