// Texts whose places hold more than text: inputs, marks, links.
//
//   rich(t("after", PLACES), { delay: html`<input />` })
//
// Each language has its own order of words, and so of what stands between them.

const MARKED = /\uE000(\w+)\uE001/;

// Instead of values: leaves every place of a text open.
export const PLACES = new Proxy({}, { get: (_, name) => `\uE000${String(name)}\uE001` });

/** @param {string} text @param {Record<string, Template>} parts */
export function rich(text, parts) {
  return text.split(MARKED).map((piece, index) => (index % 2 ? parts[piece] : piece));
}
