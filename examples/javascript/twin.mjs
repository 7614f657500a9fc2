// A controller for each test: runs on virtual time and a data folder of its own.
//
// Copy this file. It needs node 20 and the program `leverframe` on the path, and nothing else.

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
    // It tells where it answers, and all its ports, as soon as it does.
    for await (const line of createInterface({ input: twin.#process.stdout })) {
      const said = JSON.parse(line);
      if (said.event === "ready") {
        twin.url = said.url.replace(/\/$/, "");
        twin.ports = said.ports;
        // What every test begins with.
        await twin.snapshot("take=start");
        return twin;
      }
    }
    throw new Error("The twin did not start.");
  }

  /** Send a request; a refusal is an error with the controller's own words. */
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

  /** Let the simulated board sense something: `await twin.sense({ DS1: 21.5 })`. */
  sense(readings) {
    return this.get(`/sim.cgi?${new URLSearchParams(readings)}`);
  }

  /** Let time pass; what is due in between happens before this is done. */
  advance(seconds) {
    return this.get(`/sim.cgi?advance=${seconds}`);
  }

  /** Let something go wrong: `await twin.fault("status*code:503*times:1")`. */
  fault(words) {
    return this.get(`/sim.cgi?fault=${words}`);
  }

  /** Messages that would have left a real unit. */
  async messages() {
    return JSON.parse(await this.get("/api/outbox")).captured;
  }

  /** What clients have asked for. */
  async requests(path) {
    const all = JSON.parse(await this.get("/api/sim/requests"));
    return all.filter((request) => request.path === path);
  }

  snapshot(words) {
    return this.get(`/api/sim/snapshots?${words}`, { method: "POST" });
  }

  /** Go back to the state of the start, in a few milliseconds. */
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
