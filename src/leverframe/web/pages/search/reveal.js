// Shows what a search led to: the field, card or button that bears a text, on the page or in a
// drawer over it. A drawer draws its settings when they have come.

const BEARERS = "label, legend, h2, h3, summary, button, th, dt";
const PATIENCE_MS = 3000;

/** @param {string} text */
export async function reveal(text) {
  const until = performance.now() + PATIENCE_MS;
  let found = bearerOf(text);
  while (!found && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    found = bearerOf(text);
  }
  if (found) show(found);
}

/** @param {string} text */
function bearerOf(text) {
  const places = document.querySelectorAll(`:is(main, dialog.drawer) :is(${BEARERS})`);
  const found = [...places].find((one) => ownText(one).includes(text));
  return found instanceof HTMLElement ? found : null;
}

/** @param {HTMLElement} found */
function show(found) {
  for (let above = found.parentElement; above; above = above.parentElement) {
    if (above instanceof HTMLDetailsElement) above.open = true;
  }
  found.scrollIntoView({ block: "center" });
  const control = found instanceof HTMLLabelElement ? found.control : null;
  const place = control ?? found;
  if (place === found && !found.matches("button, summary")) found.tabIndex = -1;
  place.focus({ preventScroll: true });
}

/** @param {Element} element */
const ownText = (element) => (element.textContent ?? "").trim().replace(/\s+/g, " ");
