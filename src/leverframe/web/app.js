// The frame around every page, and the start of it all.

import { html, nothing, render } from "./vendor/lit-html.js";
import { signal } from "./vendor/signals-core.js";
import { zoneNoteOf } from "./lib/format/moments.js";
import {
  completeWords,
  fetchWords,
  followSetting,
  followWords,
  nameThings,
  speaking,
  startWords,
  t,
  usePageWords,
} from "./lib/format/words.js";
import {
  findPage,
  header,
  leaveQuestion,
  lossBanner,
  mayOpen,
  pageLinks,
  phoneBar,
} from "./lib/frame/frame.js";
import { applyTheme, useStyle } from "./lib/frame/look.js";
import { closeMenusOutside } from "./lib/frame/menu.js";
import { address, here, Router } from "./lib/frame/router.js";
import { SearchDoor } from "./lib/frame/search_door.js";
import * as api from "./lib/live/api.js";
import { Context } from "./lib/live/context.js";
import { keepDrawn, keepFocus } from "./lib/live/drawing.js";
import { Live } from "./lib/live/live.js";
import { findingsHere, showFavicon } from "./lib/things/findings.js";
import { causePatterns } from "./lib/things/signs.js";
import { withNames } from "./lib/things/things.js";
import { FIRST_RUN, HOMEPAGES, load, findMoved } from "./pages/index.js";

/** @import { Drawer } from "./pages/things/drawer.js" */

const PATIENCE_MS = 1000;
const RETRY_MS = 2000;

class App {
  #live = new Live();
  #context = new Context(this.#live);
  #router = new Router(
    (route) => this.#open(route),
    {
      mayLeave: (isPage) => !this.#drawer.value?.isChanged && !(isPage && this.#context.hasUnsaved),
      held: (proceed) => (this.#proceed.value = proceed),
    },
    (thing) => this.#turn(thing),
  );
  // Fetched when the first thing is opened.
  /** @type {Signal<Drawer | null>} */
  #drawer = signal(null);
  #search = new SearchDoor(this.#context);
  /** @type {Signal<Page | null>} */
  #page = signal(null);
  /** @type {Signal<PageEntry | null>} */
  #entry = signal(null);
  // Instead of a page: why there is none.
  /** @type {Signal<"unknown" | "forbidden" | "missing" | "broken" | null>} */
  #trouble = signal(null);
  // The page is there, but not all that it wanted to read.
  #isIncomplete = false;
  #isRecovering = false;
  /** @type {Signal<(() => void) | null>} */
  #proceed = signal(null);
  // Number of pages opened: the user may open another page while one is loading.
  #openings = 0;
  #opening = signal(true);
  // A page that is being opened is drawn when it is there, or with what else has changed.
  #mayDraw = false;
  #drawSoon = () => {};

  // Requests everything for the first page in parallel and draws when it is complete: a frame
  // without a page would cost a slow phone as much as the page itself. Shows the frame alone only
  // when the controller is slow.
  async start() {
    applyTheme();
    closeMenusOutside();
    nameThings((text) => withNames(this.#context, text));
    this.#live.listen(() => this.#onChange());
    this.#live.listenToSettings(() => this.#settingsChanged());
    const loaded = this.#load();
    const first = findPage(here().name || "status");
    if (first) fetchAhead(first);
    await insist(() => startWords());
    const isThere = await Promise.race([loaded.then(() => true), wait(PATIENCE_MS)]);
    // Nothing is drawn before there are words.
    this.#drawSoon = keepDrawn(
      () => this.#draw(),
      () => this.#mayDraw,
    );
    if (!isThere) this.#live.start();
    await loaded;
    api.keepInput(() => this.#hasUnsaved);
    addEventListener("beforeunload", (event) => {
      if (this.#hasUnsaved) event.preventDefault();
    });
    this.#router.start();
    // Each page preloads the words of Status, which usually comes next.
    fetchWords("status").catch(() => {});
    // The stream repeats what the first answer said; it starts after that is drawn.
    if (isThere) setTimeout(() => this.#live.start());
  }

  get #hasUnsaved() {
    return this.#context.hasUnsaved || this.#drawer.value?.isChanged === true;
  }

  // What every page but the first view waits for.
  #complete() {
    return Promise.all([this.#context.knowCommands(), completeWords()]);
  }

  // Until the controller answers, the banner says what is missing.
  async #load() {
    await insist(() => this.#context.load());
    followSetting(this.#context.language);
  }

  #onChange() {
    if (this.#live.isHeard) this.#recover();
    this.#letDraw();
  }

  // Reloads to fetch what could not be fetched, but only when the controller answers: a browser
  // that reloads without it has no page left that could recover.
  async #recover() {
    const isWhole = this.#trouble.value !== "broken" && !this.#isIncomplete;
    if (isWhole || this.#isRecovering || this.#isInUse) return;
    this.#isRecovering = true;
    const isAnswered = await api.health().then(
      () => true,
      () => false,
    );
    // The user may have started something since then.
    if (isAnswered && !this.#isInUse) location.reload();
    else this.#isRecovering = false;
  }

  // Would a new start take something away: what is typed, or a question that is being answered?
  get #isInUse() {
    return this.#hasUnsaved || document.querySelector(".question") !== null;
  }

  async #settingsChanged() {
    try {
      await this.#context.readSettings();
    } catch {
      // The frame says that the connection is lost; settings are read again when it is back.
      return;
    }
    followSetting(this.#context.language);
  }

  /** @param {Route} route */
  async #open({ name, params, thing }) {
    this.#mayDraw = false;
    this.#close();
    this.#turn(thing);
    this.#opening.value = true;
    const opening = ++this.#openings;
    const isLeft = () => opening !== this.#openings;
    const wanted = name || this.#homepage();
    const moved = findMoved(wanted);
    if (moved) {
      const gone = Object.fromEntries(params);
      this.#router.redirect(address(moved.page, { ...moved.params, ...gone }));
      return;
    }
    const entry = findPage(wanted);
    this.#entry.value = entry;
    this.#trouble.value = null;
    if (entry) fetchAhead(entry);
    const trouble = entry ? await this.#hindrance(entry) : "unknown";
    if (isLeft()) return;
    this.#trouble.value = trouble;
    if (entry && trouble === null) await this.#show(entry, params, isLeft);
    if (isLeft()) return;
    this.#opening.value = false;
    this.#letDraw();
    // Unless a menu of the frame has been opened, which would close.
    if (!document.activeElement?.closest("details[open], dialog[open]")) {
      document.querySelector("main")?.focus({ preventScroll: true });
    }
    // A phone shows a part of the bar only: the part with this page.
    document.querySelector("nav.pages [aria-current]")?.scrollIntoView({ inline: "center" });
    scrollTo(0, 0);
    if (params.has("find")) this.#reveal(params.get("find") ?? "");
    completeWords().catch(() => {});
  }

  // What a search led to.
  /** @param {string} text */
  async #reveal(text) {
    const { reveal } = await import("./pages/search/dialog.js");
    reveal(text);
  }

  // Opens the drawer of a thing over the page, or closes it.
  /** @param {string | null} thing */
  async #turn(thing) {
    if (thing === null) {
      this.#drawer.value?.close();
      return;
    }
    try {
      const [{ Drawer }] = await Promise.all([
        import("./pages/things/drawer.js"),
        fetchWords("things"),
        useStyle("drawer"),
        this.#complete(),
      ]);
      this.#drawer.value ??= new Drawer(this.#context, () => this.#router.closeDrawer());
    } catch (error) {
      // The banner says why nothing opens; it does as soon as the controller answers.
      if (!api.mayPass(error)) throw error;
      this.#isIncomplete = true;
      return;
    }
    if (here().thing === thing) this.#drawer.value.open(thing);
  }

  // Why a page cannot be opened; null if it can.
  /** @param {PageEntry} entry */
  async #hindrance(entry) {
    try {
      if (!entry.early) await this.#complete();
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      return "broken";
    }
    if (mayOpen(this.#context, entry)) return null;
    return entry.role === "admin" && !this.#context.isAdmin ? "forbidden" : "missing";
  }

  /** @param {PageEntry} entry @param {URLSearchParams} params @param {() => boolean} isLeft */
  async #show(entry, params, isLeft) {
    const module = await this.#fetch(entry);
    if (isLeft()) return;
    if (module === null) {
      this.#trouble.value = "broken";
      return;
    }
    const page = new module.Page(this.#context);
    this.#page.value = page;
    this.#letDraw();
    try {
      await page.open?.(params);
    } catch (error) {
      if (!api.isLoss(error)) throw error;
      if (!isLeft()) this.#isIncomplete = true;
    }
  }

  // Null where it could not be fetched.
  /** @param {PageEntry} entry */
  async #fetch(entry) {
    try {
      const words = usePageWords(entry.wordless ? null : entry.name);
      const styles = (entry.styles ?? []).map(useStyle);
      const [module] = await Promise.all([load(entry.name), words, ...styles]);
      return module;
    } catch (error) {
      if (!api.mayPass(error)) throw error;
      return null;
    }
  }

  #close() {
    this.#page.value?.close?.();
    this.#page.value = null;
    this.#isIncomplete = false;
    this.#proceed.value = null;
    this.#context.forms.clear();
  }

  #homepage() {
    if (this.#isFirst) return FIRST_RUN.name;
    const wanted = HOMEPAGES[this.#context.settings?.ui.homepage ?? ""];
    return wanted ?? "status";
  }

  // Signing in at a fresh controller opens its first run. Without sign-in, as for twins in tests,
  // Status offers it and no page is blocked.
  get #isFirst() {
    const { settings, firstRunStep } = this.#context;
    return firstRunStep !== null && settings?.access.required === true;
  }

  /** @param {"save" | "leave" | "stay"} choice */
  async #answer(choice) {
    const proceed = this.#proceed.value;
    if (choice === "save") {
      for (const form of [...this.#context.forms, ...(this.#drawer.value?.forms ?? [])]) {
        if (form.isChanged && !(await form.save())) choice = "stay";
      }
    }
    if (choice === "leave") this.#drawer.value?.forget();
    this.#proceed.value = null;
    if (choice !== "stay") proceed?.();
  }

  #letDraw() {
    this.#mayDraw = true;
    this.#drawSoon();
  }

  #draw() {
    followWords();
    const title = this.#entry.value ? t(`page_${this.#entry.value.name}`) : "";
    const device = this.#context.overview.deviceName;
    document.title = [title, device || "Leverframe"].filter(Boolean).join(" · ");
    const giveFocusBack = keepFocus();
    const alone = this.#entry.value?.alone === true && this.#trouble.value === null;
    render(
      html`
        ${causePatterns()}
        ${alone ? nothing : header(this.#context, this.#entry.value, skip(), this.#search.button())}
        ${lossBanner(this.#live)} ${alone ? nothing : pageLinks(this.#context, this.#entry.value)}
        <main
          tabindex="-1"
          aria-busy=${this.#opening.value ? "true" : "false"}
          data-page=${this.#entry.value?.name ?? ""}
        >
          ${title ? this.#head(title) : nothing}
          ${this.#entry.value?.timed ? zoneNoteOf(this.#context) : nothing}
          ${this.#trouble.value ? nothing : findingsHere(this.#context, this.#entry.value)}
          ${this.#content()}
        </main>
        ${alone ? nothing : phoneBar(this.#context, this.#entry.value)}
        ${this.#drawer.value ? speaking("things", () => this.#drawer.value?.view()) : nothing}
        ${this.#search.view()}
        ${leaveQuestion(this.#proceed.value, (choice) => this.#answer(choice))}
      `,
      document.body,
    );
    giveFocusBack();
    showFavicon(this.#context);
    this.#page.value?.onDrawn?.();
    this.#drawer.value?.onDrawn();
    this.#search.onDrawn();
    const question = /** @type {HTMLDialogElement?} */ (document.querySelector("dialog.leave"));
    if (question && !question.open) question.showModal();
  }

  // What a page offers as a whole stands beside its title.
  /** @param {string} title */
  #head(title) {
    if (this.#entry.value?.bare) return html`<h1 class="unseen">${title}</h1>`;
    const tools = this.#trouble.value ? nothing : this.#page.value?.tools?.();
    return html`<div class="head">
      <h1>${title}</h1>
      ${tools}
    </div>`;
  }

  #content() {
    if (this.#trouble.value) {
      return html`<section class="card trouble">
        <h2>${t(`trouble_${this.#trouble.value}`, { name: here().name })}</h2>
        ${here().name === "status"
          ? nothing
          : html`<p><a href=${address("status")}>${t("to_status")}</a></p>`}
      </section>`;
    }
    return this.#page.value ? this.#page.value.view() : html`<p class="note">${t("opening")}</p>`;
  }
}

// A page that cannot be fetched now is asked for again when it is opened.
/** @param {PageEntry} entry */
function fetchAhead(entry) {
  load(entry.name).catch(() => {});
  entry.styles?.forEach(useStyle);
  if (!entry.wordless) fetchWords(entry.name).catch(() => {});
}

// Without these there is no page at all, so they are asked for until they come.
/** @param {() => Promise<void>} act */
async function insist(act) {
  for (;;) {
    try {
      return await act();
    } catch {
      await wait(RETRY_MS);
    }
  }
}

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The first that the keyboard reaches.
const skip = () =>
  html`<a class="skip" href=${address(here().name)} @click=${toContent}>${t("skip")}</a>`;

/** @param {Event} event */
function toContent(event) {
  event.preventDefault();
  document.querySelector("main")?.focus();
}

new App().start();
