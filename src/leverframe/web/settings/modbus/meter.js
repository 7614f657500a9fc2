// A Modbus meter in one form: which one it is, where it answers, what it answers now, and which of
// its readings are kept under which names. Nothing is stored before it is saved: what is typed is
// tried on the bus.

import { html, nothing } from "../../vendor/lit-html.js";
import { signal } from "../../vendor/signals-core.js";
import { code, serverText, t } from "../../lib/format/words.js";
import { requestsOf, rowsOf } from "../../lib/forms/bound_field.js";
import { choice } from "../../lib/forms/fields.js";
import { Form } from "../../lib/forms/form.js";
import { choices } from "../../lib/forms/schema.js";
import { Task } from "../../lib/forms/task.js";
import { useStyle } from "../../lib/frame/look.js";
import * as api from "../../lib/live/api.js";
import { focusWrong } from "../../lib/live/drawing.js";
import { deviceOf, isDescribed, moduleName, readModules } from "../../lib/things/buses.js";
import { Description } from "./description.js";
import { KeptReadings } from "./kept.js";

const HOST = "modbushost<A>";
const LINE = "modbusline<A>";
const DEVICE = "mod_custom_set<A>";
const OFF = "OFF";
// How often the bus is asked again, and how long after the last key.
const PERIOD_MS = 2000;
const PAUSE_MS = 300;

export class MeterForm extends Form {
  #context;
  #slot;
  #module;
  #kept;
  /** @type {Map<number, Description>} */
  #descriptions = new Map();
  #describing = new Task({ lost: "not_sent" });
  // What the meter answered last, to which commands.
  /** @type {Signal<{ asked: string, trial: Api.ModuleTrial } | null>} */
  #answer = signal(null);
  #problem = signal("");
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isOpen = false;
  #isAsking = false;

  /** @param {AdminContext} context @param {number} slot @param {MoreOfForm} more */
  constructor(context, slot, more) {
    const index = slot - 1;
    /** @type {{ form: MeterForm | null }} */
    const own = { form: null };
    super(context, {
      title: "settings",
      fields: [
        ...placeFields(context, index, own),
        ...deviceFields(context, () => own.form?.device ?? null),
        ...KeptReadings.fields(context),
      ],
      opened: ["device", "slave_id", "host", "device_name"],
      tail: () => own.form?.tail() ?? nothing,
      ...more,
    });
    own.form = this;
    this.#context = context;
    this.#slot = slot;
    this.#module = this.fields[0];
    this.#kept = new KeptReadings(this, slot);
  }

  // The number of the described device that is chosen, from 0; null for a known meter.
  get device() {
    return deviceOf(this.module);
  }

  get module() {
    return String(this.#module.typed);
  }

  get #description() {
    const { device } = this;
    if (device === null) return null;
    let found = this.#descriptions.get(device);
    if (!found) {
      found = new Description(this.#context, device, () => this.#onEdit());
      this.#descriptions.set(device, found);
    }
    return found;
  }

  get isChanged() {
    return super.isChanged || [...this.#descriptions.values()].some((one) => one.isChanged);
  }

  restore() {
    this.#descriptions.forEach((one) => one.restore());
    this.#describing.forget();
    super.restore();
    this.#askSoon();
  }

  /** @param {BoundField} field @param {Typed} typed */
  type(field, typed) {
    super.type(field, typed);
    if (field === this.#module) this.#kept.clear();
    this.#onEdit();
  }

  #onEdit() {
    this.#describing.forget();
    this.#askSoon();
  }

  async open() {
    this.#isOpen = true;
    await Promise.all([readModules(), useStyle("modbus")]);
    await this.#ask();
  }

  close() {
    this.#isOpen = false;
    clearTimeout(this.#timer);
  }

  // A description has a request of its own, which goes first: the slot would have no readings.
  async save() {
    const described = this.#description;
    if (described?.isChanged) {
      if (this.#describing.isBusy || described.hasProblem) {
        focusWrong(document.querySelector("dialog.drawer") ?? document);
        return false;
      }
      if (!(await this.#describing.run(() => described.send()))) return false;
    }
    this.#kept.avoidForeign();
    return super.save();
  }

  // --- the bus ----------------------------------------------------------------------------------

  #askSoon(ms = PAUSE_MS) {
    clearTimeout(this.#timer);
    if (this.#isOpen) this.#timer = setTimeout(() => this.#ask(), ms);
  }

  // The commands that would set up what is typed; null while something in it is wrong, and without
  // a device.
  #commands() {
    if (this.module === OFF) return null;
    const names = ["modbus_sensor", "modbusid", HOST, LINE, DEVICE];
    const fields = this.fields.filter(({ command, at }) =>
      names.some((name) => command.line.includes(`?${name}`)) &&
      (!command.line.includes(`?${DEVICE}`) || at.A === this.device),
    );
    const rows = rowsOf(fields, this.#context, undefined);
    if (rows.some((row) => row.hasProblem)) return null;
    const described = this.#description?.request;
    if (described === null) return null;
    const lines = requestsOf(rows).map(({ target }) => target);
    return [...(described ? [`${described.target} ${described.body}`] : []), ...lines].join("\n");
  }

  async #ask() {
    clearTimeout(this.#timer);
    if (this.#isAsking) return;
    const asked = this.#commands();
    if (asked === null) return;
    this.#isAsking = true;
    try {
      this.#answer.value = { asked, trial: await api.tryModule(this.#slot, asked) };
      this.#problem.value = "";
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      // The banner says that the connection is lost.
      this.#problem.value = error instanceof api.Refused ? error.message : "";
    } finally {
      this.#isAsking = false;
    }
    this.#askSoon(this.#commands() === asked ? PERIOD_MS : PAUSE_MS);
  }

  // --- what is drawn ----------------------------------------------------------------------------

  // Known devices, those described here, and one more to be described.
  moduleViews() {
    const { settings } = this.#context;
    const words = choices(this.#module.schema()).map(([word]) => word);
    const isFree = (/** @type {string} */ word) =>
      deviceOf(word) !== null && !isDescribed(settings, word);
    const free = isFree(this.module) ? this.module : words.find(isFree);
    const offered = words.filter((word) => word !== OFF && !isFree(word));
    const saved = String(this.#module.saved);
    const isSet = saved !== OFF;
    const list = html`<div
      class="known"
      id=${this.#module.id}
      role="radiogroup"
      tabindex="-1"
      aria-label=${t("device")}
    >
      ${isSet ? this.#choiceView(OFF, t("inactive")) : nothing}
      ${offered.map((word) => this.#choiceView(word, moduleName(settings, word)))}
      ${free ? this.#choiceView(free, t("describe")) : nothing}
    </div>`;
    if (!isSet) return list;
    return html`<details ?open=${this.#module.isChanged}>
      <summary>${this.module === OFF ? t("inactive") : moduleName(settings, this.module)}</summary>
      ${list}
    </details>`;
  }

  /** @param {string} word @param {string} name */
  #choiceView(word, name) {
    return html`<label class="check">
      <input
        type="radio"
        name=${this.#module.id}
        .checked=${word === this.module}
        @change=${() => this.type(this.#module, word)}
      />
      <span>${name}</span>
    </label>`;
  }

  tail() {
    if (this.module === OFF) {
      return this.#module.isChanged ? html`<p class="note">${t("removed_note")}</p>` : nothing;
    }
    const described = this.#description;
    return html`${described?.view() ?? nothing} ${this.#describing.view()}
      <h3>${t("on_the_bus")}</h3>
      <p class="note" role="status">${this.#busNote()}</p>
      ${this.#busProblem()} ${this.#kept.view(this.module, this.#trial, described)}`;
  }

  // Of what is typed now; an older answer may be another meter's.
  get #trial() {
    const answer = this.#answer.value;
    return answer && answer.asked === this.#commands() ? answer.trial : null;
  }

  #busNote() {
    const trial = this.#trial;
    if (this.#commands() === null) return t("trial_waits");
    if (trial === null) return this.#problem.value ? "" : t("trial_asks");
    if (trial.simulated) return t("trial_simulated");
    return trial.readings.some(({ value }) => value !== null) ? t("trial_answers") : "";
  }

  #busProblem() {
    const problem = this.#problem.value || this.#trial?.problem;
    return problem ? html`<p class="attention" role="status">${sentence(problem)}</p>` : nothing;
  }
}

// As a sentence of its own: those of the bus begin in the middle of one.
/** @param {string} text */
function sentence(text) {
  const words = serverText(text);
  return words.charAt(0).toLocaleUpperCase() + words.slice(1);
}

// Versions with one slot have commands without a place.
/** @param {AdminContext} context @param {number} index @param {{ form: MeterForm | null }} own */
function placeFields(context, index, own) {
  const hasSlots = context.commands.find("modbus_sensor=<A><B>") !== null;
  const at = hasSlots ? { A: index } : {};
  const [module, id] = hasSlots
    ? ["modbus_sensor=<A><B>", "modbusid=<A><B>"]
    : ["modbus_sensor=<A>", "modbusid=<A>"];
  /** @param {string} letter @param {string} label */
  const line = (letter, label) => ({
    command: LINE,
    at: { A: index },
    letter,
    label,
    draw: drawLine,
    // A described device has a line of its own.
    get hidden() {
      return own.form?.device !== null;
    },
  });
  return [
    { command: module, at, label: "device", draw: () => own.form?.moduleViews() ?? nothing },
    { command: id, at, label: "slave_id" },
    { command: HOST, at: { A: index }, label: "host", hint: "host_hint" },
    line("B", "bitrate"),
    line("C", "parity"),
    line("D", "stop_bits"),
  ];
}

/** @type {Draw} */
const drawLine = (field, drawn) =>
  choice(field, drawn, (word) => (["0", "module"].includes(word) ? t("as_module") : code(word)));

// Name and line of each device that can be described; those of the chosen one are shown.
/** @param {AdminContext} context @param {() => number | null} chosen */
function deviceFields(context, chosen) {
  /** @type {FieldSpec[]} */
  const all = [];
  for (const device of context.settings.modbus_devices.keys()) {
    /** @param {string} letter @param {string} label @param {Partial<FieldSpec>} [more] */
    const field = (letter, label, more) => ({
      command: DEVICE,
      at: { A: device },
      letter,
      label,
      ...more,
      get hidden() {
        return chosen() !== device;
      },
    });
    all.push(
      field("B", "device_name"),
      field("C", "bitrate"),
      field("D", "parity"),
      field("E", "stop_bits"),
      field("F", "delay", { unit: "s", hint: "delay_hint" }),
    );
  }
  return all;
}
