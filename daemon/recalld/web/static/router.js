/**
 * Where the page is, kept in the address's fragment: `#/memories?q=deploy&project=shop`, `#/memory/m-1a2b3c`.
 */

export const PAGES = ["memories", "inbox", "conflicts", "receipts", "insights", "system"];
const FILTERS = ["q", "project", "scope", "type", "status", "tag", "pinned", "sort", "session", "days"];
const listeners = [];

/** The present place: {page, id, filters}; what is unknown leads to the memories. */
export function place() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [page, id] = path.split("/");
  const given = new URLSearchParams(search ?? "");
  const filters = Object.fromEntries(FILTERS.filter((name) => given.get(name)).map((name) => [name, given.get(name)]));
  if (page === "memory" && /^m-[0-9a-f]+$/.test(id ?? "")) return { page, id, filters };
  return { page: PAGES.includes(page) ? page : "memories", id: null, filters };
}

/** The address of a place. */
export function address(page, filters = {}, id = null) {
  const given = Object.entries(filters).filter(([name, value]) => FILTERS.includes(name) && value);
  return `#/${page}${id ? `/${id}` : ""}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

/** Go somewhere. replace: typing in a field must not fill the history. */
export function go(page, filters = {}, { id = null, replace = false } = {}) {
  const target = address(page, filters, id);
  if (target === location.hash) return;
  if (replace) {
    history.replaceState(null, "", target);
    announce();
  } else location.hash = target;
}

/** Call `action(place)` at each move. */
export function onMove(action) {
  listeners.push(action);
}

function announce() {
  for (const action of listeners) action(place());
}

window.addEventListener("hashchange", announce);
