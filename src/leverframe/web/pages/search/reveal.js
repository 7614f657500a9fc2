// Shows what a search led to: the field, card or button of a page that bears a text.

const BEARERS = "label, legend, h2, h3, summary, button, th, dt";

/** @param {string} text */
export function reveal(text) {
  const found = [...document.querySelectorAll(`main :is(${BEARERS})`)].find((one) =>
    ownText(one).includes(text),
  );
  if (!(found instanceof HTMLElement)) return;
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
