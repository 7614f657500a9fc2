// The button that lets the controller find out itself which I2C sensor is connected.

import { Action } from "./action.js";

/** @param {Context} context */
export const sensorDetection = (context) =>
  new Action(context, { label: "detect", command: "bme280detect", done: "detected" });
