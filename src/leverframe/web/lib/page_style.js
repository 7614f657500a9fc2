// The style sheet of a page that the first view does without: fetched once, when the page opens.

/** @type {Map<string, Promise<void>>} */
const fetched = new Map();

// A page without its style can still be read, so a sheet that does not come is no reason to wait.
/** @param {string} name */
export function pageStyle(name) {
  const coming =
    fetched.get(name) ??
    new Promise((resolve) => {
      const href = new URL(`../styles/${name}.css`, import.meta.url).href;
      const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
      link.onload = () => resolve(undefined);
      link.onerror = () => {
        fetched.delete(name);
        link.remove();
        resolve(undefined);
      };
      document.head.append(link);
    });
  fetched.set(name, coming);
  return coming;
}
