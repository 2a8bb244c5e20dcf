/**
 * Short notices at the edge of the page, read out by screen readers, each with at most one way back.
 */
import { h, add } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";

const CALM_MS = 6000;
const shown = [];
let region = null;

/** The place of the notices, put into the page once. */
export function toasts() {
  region = h("div", { class: "toasts", role: "status", "aria-live": "polite", "aria-label": t("toast.region") });
  return region;
}

/**
 * Show a notice. action: {label, run}. hold_ms: how long it stays; errors stay until they are closed.
 * Returns a function that closes it.
 */
export function toast(text, { action = null, hold_ms = CALM_MS, error = false, timed = false } = {}) {
  const close = () => {
    clearTimeout(timer);
    const had = element.contains(document.activeElement);
    element.remove();
    shown.splice(shown.indexOf(entry), shown.includes(entry) ? 1 : 0);
    if (had) document.querySelector("main")?.focus({ preventScroll: true });
  };
  const act = () => {
    close();
    action.run();
  };
  const entry = { act: action && act };
  const element = h("div", { class: `toast${error ? " is-error" : ""}`, role: error ? "alert" : null },
    h("p", {}, text),
    action && h("button", { class: "button quiet", type: "button", onclick: act }, action.label),
    h("button", { class: "icon-button", type: "button", "aria-label": t("toast.close"), onclick: close }, icon("close")),
    timed && h("span", { class: "toast-time", "aria-hidden": "true" }));
  const timer = error ? 0 : setTimeout(close, hold_ms);
  shown.push(entry);
  add(region, element);
  while (region.children.length > 4) region.firstElementChild.querySelector(".icon-button").click();
  return close;
}

/** Tell what went wrong, in a line. An aborted request is nothing to tell. */
export function failed(error) {
  if (error.name === "AbortError" || error.status === 401) return;
  if ([...region.querySelectorAll(".is-error p")].some((line) => line.textContent === error.message)) return;
  toast(error.message, { error: true });
}

/** Take the way back of the newest notice that has one; whether there was any. */
export function undoNewest() {
  const newest = shown.findLast((entry) => entry.act);
  newest?.act();
  return Boolean(newest);
}
