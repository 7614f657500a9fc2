// What was done, in one line at the bottom, for some seconds, with the way back where there is one.
//
//   toast(t("rule_deleted", { name }), { label: t("undo"), act: () => restore() })

const SHOWN_MS = 6000;

/** @type {HTMLElement | null} */
let shown = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} text @param {{ label: string, act: () => unknown }} [way] */
export function toast(text, way) {
  hideToast();
  const line = document.createElement("div");
  line.className = "toast";
  line.setAttribute("role", "status");
  line.append(Object.assign(document.createElement("span"), { textContent: text }));
  if (way) line.append(button(way));
  line.addEventListener("pointerenter", () => clearTimeout(timer));
  line.addEventListener("pointerleave", () => wait());
  document.body.append(line);
  shown = line;
  wait();
}

export function hideToast() {
  clearTimeout(timer);
  shown?.remove();
  shown = null;
}

function wait() {
  clearTimeout(timer);
  timer = setTimeout(hideToast, SHOWN_MS);
}

/** @param {{ label: string, act: () => unknown }} way */
function button({ label, act }) {
  const made = Object.assign(document.createElement("button"), {
    type: "button",
    textContent: label,
  });
  made.addEventListener("click", () => {
    hideToast();
    act();
  });
  return made;
}
