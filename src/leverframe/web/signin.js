// The sign-in page: shows what is typed, and returns to the requested address.

const WANTED = /^#\/(\w+)/;

/** @param {HTMLElement} main */
async function sayWhereTo(main) {
  const [, page] = WANTED.exec(location.hash) ?? [];
  const line = /** @type {HTMLElement | null} */ (main.querySelector(".on-to"));
  if (!page || !line) return;
  const words = await (await fetch(main.dataset.words ?? "")).json();
  const name = words[`page_${page}`]?.[document.documentElement.lang];
  if (!name) return;
  const [before, after] = (line.dataset.sentence ?? "").split("{page}");
  const strong = document.createElement("b");
  strong.append(name);
  line.append(before, strong, after);
  line.hidden = false;
}

// What stands behind `#` stays with the browser through the redirect that follows.
function keepAddress() {
  if (!WANTED.test(location.hash)) return;
  for (const form of document.forms) form.action = form.getAttribute("action") + location.hash;
}

/** @param {HTMLButtonElement} button */
function offerToShow(button) {
  const field = document.getElementById(button.dataset.shows ?? "");
  const input = /** @type {HTMLInputElement} */ (field);
  const show = button.textContent;
  button.hidden = false;
  button.addEventListener("click", () => {
    const isShown = input.type === "text";
    input.type = isShown ? "password" : "text";
    button.textContent = isShown ? show : button.dataset.hide ?? show;
    button.setAttribute("aria-pressed", String(!isShown));
    input.focus();
  });
}

// The account whose password was just chosen: see pages/firstrun/place.js.
function fillName() {
  const name = sessionStorage.getItem("leverframe.account");
  const field = document.querySelector('input[autocomplete="username"]');
  if (!name || !(field instanceof HTMLInputElement) || field.value) return;
  field.value = name;
  const password = document.querySelector('input[autocomplete="current-password"]');
  if (!(password instanceof HTMLInputElement)) return;
  // The browser may yet focus the name by itself.
  if (document.activeElement === field) password.focus();
  else field.addEventListener("focus", () => password.focus(), { once: true });
}

// As chosen on the pages, see lib/frame/look.js; strangers may not have that file.
document.documentElement.dataset.theme = localStorage.getItem("leverframe.theme") ?? "system";
keepAddress();
fillName();
document.querySelectorAll("button[data-shows]").forEach((button) => {
  offerToShow(/** @type {HTMLButtonElement} */ (button));
});
const main = document.querySelector("main");
if (main) sayWhereTo(main).catch(() => {});
