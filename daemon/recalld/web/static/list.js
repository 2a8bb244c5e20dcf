/**
 * The page of memories: a list in the order of time, or what a question finds with its scores.
 */
import { get } from "./api.js";
import { h } from "./dom.js";
import { bulkBar, newSelection } from "./bulk.js";
import { confirm, compose } from "./dialogs.js";
import { holdDelete, isHidden } from "./deletion.js";
import { emptiness, Feed, move, PAGE } from "./feed.js";
import { filterBar } from "./filters.js";
import { t } from "./i18n.js";
import { go } from "./router.js";
import { memoryRow, press } from "./row.js";

const SEARCH_LIMIT = 100;
const selection = newSelection();

/** Show the page in `main` for these filters; a bar that is there already stays, so that nobody is kept from typing. */
export function show(main, { filters }, { old = null } = {}) {
  const compose_ = async () => (await compose(filters.project)) && feed.refresh();
  const feed = new Feed({
    label: t("page.memories"),
    load: (cursor, signal) => load(filters, cursor, signal),
    key: (memory) => memory.id,
    row: (memory) => memoryRow(memory, { selection, changed: () => feed.refresh() }),
    hides: isHidden,
    counted: (total, items) => (count.textContent = counted(filters, total, items.length)),
    empty: () => nothing(filters, compose_),
  });
  const count = h("p", { class: "count", role: "status" });
  const selected = bulkBar(selection, () => feed.items, () => feed.refresh());
  selection.changed = () => mark(feed, selected);
  selected.show();
  old?.feed.close();
  const bar = old?.bar ?? filterBar();
  bar.update(filters, compose_);
  for (const part of [...main.children]) if (part !== bar) part.remove();
  if (!old) main.append(bar);
  main.append(h("div", { class: "page-head" }, h("h1", {}, t("page.memories")), count), feed.element, selected);
  const remove = () => removeChosen() || press("delete");
  return {
    bar, feed, refresh: () => feed.refresh(), redraw: () => feed.redraw(), leave: () => feed.close(),
    keys: { ...rowKeys(feed), n: compose_, x: () => press("select"), "#": remove, Delete: remove },
  };
}

/** Show what is selected, in the rows and in the bar. */
function mark(feed, selected) {
  selected.show();
  for (const row of feed.rows) {
    const chosen = selection.has(row.item.id);
    row.classList.toggle("is-selected", chosen);
    const box = row.querySelector(".row-check");
    if (box) box.checked = chosen;
  }
}

/** The keys of any page with rows of memories. */
export function rowKeys(feed) {
  return {
    j: () => move(feed, 1), k: () => move(feed, -1), e: () => press("edit"), p: () => press("pin"), a: () => press("archive"),
    Enter: () => document.activeElement?.matches("article") && press("open"),
  };
}

function removeChosen() {
  if (selection.size === 0) return false;
  const ids = [...selection.keys()];
  confirm(t("delete.title", { n: ids.length }), t("delete.text"), t("delete.yes", { n: ids.length }), true).then((sure) => {
    if (!sure) return;
    selection.clear();
    selection.changed();
    holdDelete(ids);
  });
  return true;
}

async function load({ q, pinned, sort, project, scope, type, status, tag }, cursor, signal) {
  const wanted = { project, scope, type, status, tag };
  if (!q) return get("memories", { ...wanted, pinned, sort, cursor, limit: PAGE }, signal);
  const found = await get("search", { ...wanted, q, limit: SEARCH_LIMIT }, signal);
  const items = pinned ? found.filter((memory) => memory.pinned) : found;
  return { items, next_cursor: null, total: items.length };
}

function counted({ q }, total, here) {
  const n = Math.max(total ?? here, here);
  return q ? t(n >= SEARCH_LIMIT ? "found.best" : "found", { n }) : t("count", { n });
}

function nothing(filters, add) {
  const { q, sort, ...narrow } = filters;
  const button = (label, action, primary = false) =>
    h("button", { class: `button${primary ? " primary" : ""}`, type: "button", onclick: action }, label);
  if (q) return emptiness(t("empty.search"), t("empty.search.text"), button(t("filters.clear"), () => go("memories")));
  if (Object.keys(narrow).length) return emptiness(t("empty.filter"), t("empty.filter.text"), button(t("filters.clear"), () => go("memories")));
  return emptiness(t("empty.memories"), t("empty.memories.text"), button(t("add"), add, true));
}
