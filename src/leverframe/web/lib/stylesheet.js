// The style of a page that the first view does not need: fetched with the page, once.

/** @type {Map<string, Promise<void>>} */
const fetched = new Map();

// Resolves when it is there, and also when it cannot be: a page without style is still a page.
/** @param {string} name */
export function useStyle(name) {
  const coming = fetched.get(name) ?? added(name);
  fetched.set(name, coming);
  return coming;
}

/** @param {string} name @returns {Promise<void>} */
function added(name) {
  const link = Object.assign(document.createElement("link"), {
    rel: "stylesheet",
    href: new URL(`../styles/${name}.css`, import.meta.url).href,
  });
  const loaded = new Promise((resolve) => {
    link.onload = link.onerror = () => resolve(undefined);
  });
  document.head.append(link);
  return loaded;
}
