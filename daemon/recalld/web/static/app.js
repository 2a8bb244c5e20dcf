/**
 * The frame of the page: signing in, the head and its navigation, one page at a time, and what keeps it up to date.
 */
import { get, listen, onSignedOut, post, signedIn, signIn } from "./api.js";
import * as conflicts from "./conflicts.js";
import { onHidden } from "./deletion.js";
import { h, store, stored } from "./dom.js";
import { current, LANGUAGES, speak, t } from "./i18n.js";
import { icon } from "./icons.js";
import * as inbox from "./inbox.js";
import * as insights from "./insights.js";
import { bind, help } from "./keys.js";
import * as list from "./list.js";
import { forget } from "./lookup.js";
import * as memory from "./memory.js";
import * as receipts from "./receipts.js";
import { address, go, onMove, PAGES, place } from "./router.js";
import { iconButton } from "./row.js";
import * as status from "./status.js";
import { failed, toasts, undoNewest } from "./toast.js";

const VIEWS = { memories: list, memory, inbox, conflicts, receipts, insights, system: status };
const GATHER_MS = 150;
const STATUS_MS = 60_000;
const THEMES = { auto: "light", light: "dark", dark: "auto" };
const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

let main = null;
let view = null;
let shown = null;
let timer = 0;

/** Draw the whole page for the present language. */
function draw() {
  view?.leave?.();
  view = null;
  main = h("main", { id: "main", tabindex: "-1" });
  document.body.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: skip }, t("skip")),
    h("header", { class: "head" },
      h("a", { class: "brand", href: address("memories"), "aria-label": t("home") },
        h("img", { src: "static/icon.svg", alt: "", width: 28, height: 28 }), h("span", {}, "recalld")),
      h("nav", { class: "nav", "aria-label": t("pages") }, PAGES.map((name) =>
        h("a", { href: address(name), "data-page": name }, icon(name), h("span", {}, t(`page.${name}`)),
          h("span", { class: "badge-count", hidden: true })))),
      h("div", { class: "tools" }, language(), theme(), iconButton("keyboard", t("keys"), "keys", help, { id: "keys" }))),
    h("div", { class: "banners" }),
    main, toasts());
  if (signedIn()) render(place());
  else welcome(t("login.text"));
}

function skip(event) {
  event.preventDefault();
  main.focus();
}

function language() {
  const other = current() === "en" ? "zh" : "en";
  const change = () => {
    speak(other);
    draw();
    count();
    document.getElementById("language").focus();
  };
  const lang = other === "zh" ? "zh-Hans" : "en";
  return h("button", { class: "icon-button text", type: "button", id: "language", lang, onclick: change }, LANGUAGES[other]);
}

function theme() {
  const now = stored("recalld.theme") ?? "auto";
  const label = t("theme", { theme: t(`theme.${now}`) });
  const change = ({ currentTarget }) => {
    const next = THEMES[now];
    store("recalld.theme", next === "auto" ? null : next);
    document.documentElement.dataset.theme = next;
    const button = theme();
    currentTarget.replaceWith(button);
    button.focus();
  };
  return iconButton(THEME_ICONS[now], label, "theme", change, { id: "theme" });
}

/** Show the page of this place. */
function render(where) {
  if (!signedIn()) return;
  const moved = shown?.page !== where.page || shown?.id !== where.id;
  if (moved) {
    view?.leave?.();
    window.scrollTo(0, 0);
  }
  const old = moved ? null : view;
  const first = shown === null;
  shown = where;
  view = VIEWS[where.page].show(main, where, { old, recount: count });
  const here = where.page === "memory" ? "memories" : where.page;
  document.title = `${t(where.page === "memory" ? "memory" : `page.${here}`)} · recalld`;
  for (const link of document.querySelectorAll(".nav a")) {
    if (link.dataset.page === here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (moved && !first && !document.activeElement?.closest(".head")) main.focus({ preventScroll: true });
  const pages = Object.fromEntries(PAGES.map((name, at) => [String(at + 1), () => go(name)]));
  bind({ ...pages, "/": search, "?": help, z: undoNewest, ...view.keys });
}

function search() {
  const field = document.getElementById("search");
  if (field) return field.select();
  go("memories");
  setTimeout(() => document.getElementById("search")?.focus());
}

/** What stands on the page when there is no session: how to get one. */
function welcome(text, problem = null) {
  view?.leave?.();
  view = null;
  bind({ "?": help });
  document.title = "recalld";
  document.querySelector(".nav").hidden = true;
  main.replaceChildren(h("section", { class: "welcome" },
    h("h1", {}, t("login.title")),
    problem && h("p", { class: "note alert", role: "alert" }, icon("alert"), h("span", {}, problem)),
    h("p", {}, text), h("pre", { tabindex: "0", "aria-label": t("login.command") }, h("code", {}, "recalld ui"))));
}

/** The numbers in the navigation, and the banner while nothing is given or learnt. */
async function count() {
  if (!signedIn() || document.hidden) return;
  try {
    const [facts, open] = await Promise.all([get("status"), get("conflicts")]);
    badge("inbox", facts.pending ?? 0);
    badge("conflicts", open.length);
    banner("paused", facts.paused && [h("span", {}, t("paused.text")),
      h("button", { class: "button small", type: "button", onclick: resume }, t("resume"))]);
  } catch {
    // the banner of the connection tells it
  }
}

const resume = () => post("resume").then(() => Promise.all([count(), view?.refresh()]), failed);

function badge(page, n) {
  const element = document.querySelector(`.nav [data-page="${page}"] .badge-count`);
  element.hidden = n === 0;
  element.textContent = n > 99 ? "99+" : String(n);
}

function banner(name, content) {
  const old = document.getElementById(`banner-${name}`);
  if (!content) old?.remove();
  else if (!old) document.querySelector(".banners").append(h("div", { class: "banner", id: `banner-${name}`, role: "status" }, content));
}

/** Memories changed somewhere: load again, once for several changes at a time. */
function changed() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    forget();
    count();
    Promise.resolve(view?.refresh()).catch(failed);
  }, GATHER_MS);
}

async function start() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (location.hash.startsWith("#code=")) history.replaceState(null, "", address("memories"));
  let problem = null;
  if (code) await signIn(code).catch((error) => (problem = error.message));
  draw();
  if (problem && !signedIn()) welcome(t("login.text"), t("login.refused", { why: problem }));
  onSignedOut(() => welcome(t("login.again")));
  onMove((where) => (location.hash.startsWith("#code=") ? location.reload() : render(where)));
  onHidden(() => view?.redraw?.());
  if (!signedIn()) return;
  count();
  setInterval(count, STATUS_MS);
  listen(changed, (up) => banner("line", !up && t("line.down")));
}

start();
