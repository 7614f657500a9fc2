// The plotting library, fetched when the first chart is drawn, and the page's colours for it.

const SCRIPT = new URL("../vendor/uPlot.js", import.meta.url).href;
const STYLE = new URL("../vendor/uPlot.css", import.meta.url).href;
let fetched = null;

// The constructor `uPlot`. It is no module, so it comes by a script element.
export function plotter() {
  fetched ??= Promise.all([
    added("script", { src: SCRIPT }),
    added("link", { rel: "stylesheet", href: STYLE }),
  ]).then(
    () => globalThis.uPlot,
    (error) => {
      fetched = null;
      throw error;
    },
  );
  return fetched;
}

/** @param {"script" | "link"} tag @param {Record<string, string>} properties */
function added(tag, properties) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.onload = resolve;
    element.onerror = () => {
      element.remove();
      reject(new TypeError(`${tag} of the charts could not be fetched`));
    };
    document.head.append(element);
  });
}

// A token of style.css, such as "operate", as the present theme has it: canvases need it resolved.
/** @param {string} token */
export function colour(token) {
  const probe = document.createElement("span");
  probe.style.setProperty("color", `var(--${token})`);
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
