/**
 * A long list that is loaded and drawn in blocks: a block far from view gives its rows back and keeps its height, so
 * that 100,000 rows cost no more than 100. It follows the ARIA feed pattern.
 */
import { arrange, h } from "./dom.js";
import { t } from "./i18n.js";
import { failed } from "./toast.js";

export const PAGE = 30;
const MARGIN = "900px 0px";

export class Feed {
  /**
   * load(cursor, signal): {items, next_cursor, total?}. key(item): its id. row(item): its element, with an `item`
   * property; `busy` on it (an open editor) keeps it as it is. counted(total, items): called when these change.
   */
  constructor({ label, load, key, row, counted = () => {}, hides = () => false, empty }) {
    Object.assign(this, { load, key, row, counted, hides, empty });
    this.element = h("div", { class: "feed", "aria-label": label, "aria-busy": "true" });
    this.blocks = [];
    this.total = null;
    this.stop = new AbortController();
    this.watcher = new IntersectionObserver((seen) => seen.forEach((entry) => this.#met(entry)), { rootMargin: MARGIN });
    this.#append(null);
  }

  /** Every row element that is drawn now. */
  get rows() {
    return [...this.element.querySelectorAll("article")];
  }

  /** The items that are loaded. */
  get items() {
    return this.rows.map((row) => row.item);
  }

  /** Load again what is drawn, keeping focus and place; and what could not be loaded before. */
  async refresh() {
    for (const block of this.blocks.filter((one) => one.drawn || one.near)) await this.#fill(block);
  }

  /** Draw again what is loaded, where only the page's own state (what is hidden, selected) changed. */
  redraw() {
    for (const block of this.blocks.filter((one) => one.drawn)) this.#draw(block);
    this.#count();
  }

  close() {
    this.stop.abort();
    this.watcher.disconnect();
  }

  #append(cursor) {
    const element = h("div", { class: "block is-waiting" });
    const block = { cursor, element, items: [], drawn: false, number: this.blocks.length };
    element.block = block;
    this.blocks.push(block);
    this.element.append(element);
    this.watcher.observe(element);
  }

  #met({ target, isIntersecting }) {
    const block = target.block;
    block.near = isIntersecting;
    if (isIntersecting && !block.drawn) this.#fill(block);
    else if (!isIntersecting && block.drawn && block.number > 0) this.#clear(block);
  }

  #clear(block) {
    const { element } = block;
    if (element.contains(document.activeElement) || [...element.children].some((row) => row.busy)) return;
    element.style.height = `${element.offsetHeight}px`;
    element.replaceChildren();
    block.items = [];
    block.drawn = false;
  }

  async #fill(block) {
    let page;
    try {
      page = await this.load(block.cursor, this.stop.signal);
    } catch (error) {
      block.element.classList.remove("is-waiting");
      return failed(error);
    }
    if (this.stop.signal.aborted) return;
    block.items = page.items;
    block.drawn = true;
    if (page.total !== undefined) this.total = page.total;
    this.#draw(block);
    this.#count();
    this.#follow(block, page.next_cursor);
  }

  /** The block behind begins where this one ends. */
  #follow(block, cursor) {
    const next = this.blocks[block.number + 1];
    if (!next) {
      if (cursor) this.#append(cursor);
    } else if (!cursor) {
      for (const gone of this.blocks.splice(block.number + 1)) {
        this.watcher.unobserve(gone.element);
        gone.element.remove();
      }
    } else if (next.cursor !== cursor) {
      next.cursor = cursor;
      if (next.drawn) this.#fill(next);
    }
  }

  #draw(block) {
    const { element } = block;
    const old = new Map([...element.children].map((row) => [this.key(row.item), row]));
    const focused = focusIn(element);
    const items = block.items.filter((item) => !this.hides(item));
    const rows = items.map((item) => {
      const row = old.get(this.key(item));
      return row && (row.busy || same(row.item, item)) ? row : Object.assign(this.row(item), { item });
    });
    arrange(element, rows);
    rows.forEach((row, at) => {
      row.setAttribute("aria-posinset", block.number * PAGE + at + 1);
      row.setAttribute("aria-setsize", this.total ?? -1);
    });
    element.classList.remove("is-waiting");
    element.style.height = "";
    if (focused && !element.contains(document.activeElement)) focusAgain(element, rows, focused, this.key);
  }

  #count() {
    const { items } = this;
    const none = items.length === 0;
    this.element.setAttribute("aria-busy", "false");
    if (none) this.element.removeAttribute("role");
    else this.element.setAttribute("role", "feed");
    this.notice?.remove();
    if (none && this.blocks.length === 1) this.element.append((this.notice = this.empty()));
    this.counted(this.total, items);
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Which row of `element` has the focus, and which of its controls. */
function focusIn(element) {
  const row = document.activeElement?.closest("article");
  if (!row || row.parentElement !== element) return null;
  return { row, at: [...element.children].indexOf(row), act: document.activeElement.dataset.act };
}

/** Focus the same control of the same row, or else the row that came into its place. */
function focusAgain(element, rows, { row, at, act }, key) {
  const twin = rows.find((one) => key(one.item) === key(row.item));
  const target = (act && twin?.querySelector(`[data-act="${act}"]`)) || twin || rows[Math.min(at, rows.length - 1)];
  target?.focus({ preventScroll: true });
}

/** Move the focus `step` rows up or down; whether there was a row. */
export function move(feed, step) {
  const { rows } = feed;
  const at = rows.indexOf(document.activeElement?.closest("article"));
  const target = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
  target?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: "nearest" });
  return Boolean(target);
}

/** A page without rows: what it means, and what to do. */
export function emptiness(title, text, ...actions) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text), actions.length > 0 && h("div", { class: "actions" }, actions));
}

/** The notice of a list that is still empty because it is being loaded. */
export const loading = () => h("p", { class: "quiet-text", role: "status" }, t("loading"));
