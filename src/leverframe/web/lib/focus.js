// Where the focused element was drawn away, the focus goes to what stands in its place: who uses
// the keyboard or a screen reader goes on from there instead of from the top of the page.

const CONTROLS = "a, button, input, select, textarea, summary";

const WRONG = "[aria-invalid=true], [data-wrong] :is(input, select, textarea)";

// Remembers where the focus is; call the answer after drawing.
export function keepFocus() {
  const focused = document.activeElement ?? document.body;
  const way = wayTo(focused);
  return () => {
    if (focused === document.body || focused.isConnected) return;
    const [parent, index] = way.find(([above]) => above.isConnected) ?? [document.body, 0];
    focusOn(parent, parent.children[Math.min(index, parent.children.length - 1)]);
  };
}

// [parent, place among its children], from the inside out.
/** @param {Element} element */
function wayTo(element) {
  /** @type {[HTMLElement, number][]} */
  const way = [];
  for (let one = element; one.parentElement; one = one.parentElement) {
    way.push([one.parentElement, [...one.parentElement.children].indexOf(one)]);
  }
  return way;
}

// Never on a control: a key that is still held down would press it, and it may be the one that
// confirms a danger.
/** @param {HTMLElement} parent @param {Element | undefined} standIn */
function focusOn(parent, standIn) {
  const isPlace = standIn instanceof HTMLElement && !standIn.matches(CONTROLS);
  const place = isPlace ? standIn : parent;
  if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

// A form that cannot be saved shows where it is wrong, wherever that is in a long table.
/** @param {ParentNode} form */
export function focusWrong(form) {
  const wrong = form.querySelector(WRONG);
  if (wrong instanceof HTMLElement) wrong.focus();
}
