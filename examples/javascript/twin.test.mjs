// Tests with a twin: node --test

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Twin } from "./twin.mjs";

let twin;
before(async () => (twin = await Twin.start()));
beforeEach(() => twin.reset());
after(() => twin.stop());

test("the pump switches off after its return time", async () => {
  await twin.get("/outs.cgi?ortime=0600");
  await twin.get("/outs.cgi?out0=1");
  await twin.advance(599);
  assert.equal((await twin.state()).OUT0, 1);
  await twin.advance(1);
  assert.equal((await twin.state()).OUT0, 0);
});

test("the fan runs while it is warm", async () => {
  await twin.get("/inpa.cgi?event=0*10*0*2150*50*0*2*0*0*0*0*0&eventon=0*1");
  await twin.sense({ DS1: 22 });
  assert.equal((await twin.state()).OUT2, 1);
  await twin.sense({ DS1: 20.9 });
  assert.equal((await twin.state()).OUT2, 0);
});

test("a client with a time-out gives up on a slow unit, and continues afterwards", async () => {
  await twin.fault("slow*delay:2s*path:/json/all.json*times:1");
  const request = () => fetch(`${twin.url}/json/all.json`, { signal: AbortSignal.timeout(200) });
  await assert.rejects(request, { name: "TimeoutError" });
  assert.equal((await request()).status, 200);
  assert.equal((await twin.requests("/json/all.json")).length, 2);
});

test("a warm cellar sends a mail", async () => {
  const mail = "em1=mail.example.org&em2=25&em5=bert@example.org&em6=cellar@example.org";
  await twin.get(`/stm.cgi?${mail}&em7=Cellar&em8=Too+warm*******`);
  await twin.get("/inpa.cgi?event=0*10*0*2150*50*0*28*0*0*0*0*0&eventon=0*1");
  await twin.sense({ DS1: 22 });
  const [message] = await twin.messages();
  assert.equal(message.target, "bert@example.org");
  assert.match(JSON.stringify(message.content), /Too warm/);
});

test("a busy unit returns status 503", async () => {
  await twin.fault("status*code:503*times:1");
  await assert.rejects(twin.get("/json/all.json"), /^Error: 503/);
  await twin.get("/json/all.json");
});

test("a mistake changes nothing", async () => {
  await assert.rejects(twin.get("/stm.cgi?oname=0Pump&oname=7Fan"), /^Error: 400/);
  assert.doesNotMatch(await twin.get("/api/settings"), /Pump/);
});

test("an older unit does not know newer commands", async () => {
  const old = await Twin.start("--hw", "3.0", "--sw", "1.58a");
  try {
    await assert.rejects(old.get("/stm.cgi?modbuson=1"), /^Error: 404/);
  } finally {
    await old.stop();
  }
});
