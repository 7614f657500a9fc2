// The only file that knows the controller's addresses.

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

async function answer(target, options) {
  const reply = await fetch(target, { credentials: "same-origin", ...options });
  if (reply.ok) return reply;
  let problem = { status: reply.status, detail: `The controller answered ${reply.status}.` };
  if ((reply.headers.get("content-type") || "").includes("json")) problem = await reply.json();
  throw new Refused(problem);
}

const read = async (path) => (await answer(path)).json();
// A change is sent with POST: a page never changes anything by GET.
const send = (target) => answer(target, { method: "POST" });

export const state = () => read("/api/state");
export const names = () => read("/json/status.json");
export const log = () => read("/api/log");
export const health = () => read("/health");
export const switchOutput = (index, on) => send(`/outs.cgi?out${index}=${on ? 1 : 0}`);
export const switchPwm = (index, on) => send(`/outs.cgi?pwm${index}=${on ? 1 : 0}`);
export const setDuty = (index, percent) => send(`/stm.cgi?pwmd=${index}${percent}`);
export const switchVariable = (index, on) => send(`/outs.cgi?vout${index}=${on ? 1 : 0}`);
export const stream = () => new EventSource("/api/stream");
