// The mark: three levers on a rail, one of them pulled.

import { svg } from "../vendor/lit-html.js";

/** @param {number} x @param {number} lean */
const lever = (x, lean) => svg`<g transform=${`rotate(${lean} ${x} 26)`}>
  <path d=${`M${x} 26V10`} stroke-width="2.2" />
  <rect x=${x - 1.9} y="2.5" width="3.8" height="10.5" rx="1.5" fill="currentColor" stroke="none" />
</g>`;

export const mark = () => svg`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
  <g fill="none" stroke="currentColor" stroke-linecap="round">
    <path d="M2 27h28" stroke-width="2.6" />
    ${lever(9.5, -14)} ${lever(16.5, -14)} ${lever(22, 16)}
  </g>
</svg>`;
