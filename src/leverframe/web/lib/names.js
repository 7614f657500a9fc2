// The names that people gave to what has a label.

/** @type {[RegExp, (settings: Settings, number: number) => string | undefined][]} */
const NAMES = [
  [/^OUT(\d)$/, (settings, number) => settings.outputs[number]?.name],
  [/^PWM(\d)$/, (settings, number) => settings.pwm[number]?.name],
  [/^EVENT(\d)$/, (settings, number) => settings.event_variables[number - 1]?.name],
  [/^INPA(\d)$/, (settings, number) => settings.analog_inputs[number - 1]?.name],
  [/^INPD(\d)$/, (settings, number) => settings.digital_inputs[number - 1]?.name],
  [/^DS(\d)$/, (settings, number) => settings.onewire[number - 1]?.name],
  [/^DIFF(\d)$/, (settings, number) => settings.differentials[number - 1]?.name],
  [/^(?:POWER|ENERGY)(\d)$/, (settings, number) => settings.power[number - 1]?.name],
  [/^T1$/, (settings) => settings.weather.t1_name],
  [/^H1$/, (settings) => settings.weather.h1_name],
  [/^P1$/, (settings) => settings.weather.p1_name],
];

// Empty where there is none.
/** @param {Settings} settings @param {string} label */
export function nameOf(settings, label) {
  for (const [pattern, read] of NAMES) {
    const found = pattern.exec(label);
    if (found) return read(settings, Number(found[1])) ?? "";
  }
  return "";
}
