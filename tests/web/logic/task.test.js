// What is asked of the controller: under way, done or refused, and where that is said.

import assert from "node:assert/strict";
import { before, test } from "node:test";

import { Refused } from "../../../src/leverframe/web/lib/live/api.js";
import { CONNECTION, Task, refusalView } from "../../../src/leverframe/web/lib/forms/task.js";
import { openContext, textOf } from "./helpers.js";

before(openContext);

const refuses = (detail, more = {}) => async () => {
  throw new Refused({ status: 409, detail, ...more });
};
const isLost = async () => {
  throw new TypeError("Failed to fetch");
};

test("it is under way until it is done, and forgets what was refused before", async () => {
  const task = new Task();
  assert.equal(await task.run(refuses("It is locked.")), false);
  assert.equal(task.refusal(), "It is locked.");
  let finish;
  const running = task.run(() => new Promise((resolve) => (finish = resolve)));
  assert.deepEqual([task.isBusy, task.refusal()], [true, null]);
  finish();
  assert.deepEqual([await running, task.isBusy], [true, false]);
});

test("what is refused stands where it belongs, and nowhere else", async () => {
  const task = new Task({ fieldOf: ({ problem }) => problem.field ?? "" });
  await task.run(refuses("Too long.", { field: "name" }));
  assert.deepEqual([task.refusal("name"), task.refusal()], ["Too long.", null]);
  await task.run(refuses("No room."), "tenant");
  assert.deepEqual([task.refusal("tenant"), task.refusal("name")], ["No room.", null]);
  assert.equal(textOf(task.view("tenant")), "No room.");
  task.forget();
  assert.equal(textOf(task.view("tenant")), "");
  assert.equal(textOf(refusalView(null)), "");
});

test("where nothing answers it says so, and a mistake of the page is none of that", async () => {
  const task = new Task({ lost: "not_sent" });
  await task.run(isLost);
  assert.match(task.refusal(), /not|connection/i);
  const strict = new Task({ lost: CONNECTION });
  await strict.run(isLost);
  assert.match(strict.refusal(), /connection/i);
  await assert.rejects(
    strict.run(() => {
      throw new RangeError("a mistake");
    }),
    RangeError,
  );
  assert.equal(strict.isBusy, false);
});

test("what the page refuses stands in several places, and goes where it is typed again", () => {
  const task = new Task();
  assert.equal(task.sayAll({ name: "Too long.", zone: "" }), false);
  assert.deepEqual([task.refusal("name"), task.refusal("zone")], ["Too long.", null]);
  task.sayAll({ name: "Too long.", zone: "Not known." });
  task.forget("name");
  assert.deepEqual([task.refusal("name"), task.refusal("zone")], [null, "Not known."]);
  assert.equal(task.sayAll({ name: "" }), true);
});
