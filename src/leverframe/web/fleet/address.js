// What is looked for stands in the address, so that it can be kept and sent to somebody.

/** @returns {{ wanted: FleetWanted, looked: FleetLooked, page: number, view: string }} */
export function readAddress() {
  const params = new URLSearchParams(location.hash.replace(/^#\/?\??/, ""));
  /** @param {string} name */
  const text = (name) => params.get(name) ?? "";
  return {
    wanted: {
      search: text("search"),
      health: text("health"),
      tag: text("tag"),
      owner: text("owner"),
      version: text("version"),
      order: text("order"),
    },
    looked: { by: text("by"), text: text("text") },
    page: Math.max(1, Number(text("page")) || 1),
    // The controllers, or what stands beside them.
    view: text("view"),
  };
}

/** @param {Partial<FleetWanted & FleetLooked> & { page?: number, view?: string }} change */
export function addressWith(change) {
  const { wanted, looked, page, view } = readAddress();
  const params = Object.entries({ ...wanted, ...looked, page, view, ...change })
    .filter(([name, value]) => value && !(name === "page" && value === 1))
    .map(([name, value]) => [name, String(value)]);
  return `#/?${new URLSearchParams(params)}`;
}
