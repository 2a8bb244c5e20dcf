/**
 * The page of receipts: what was put into which session, what was weighed and left out, and why.
 */
import { get } from "./api.js";
import { h, only } from "./dom.js";
import { emptiness, Feed, loading, move, PAGE } from "./feed.js";
import { icon } from "./icons.js";
import { number, t } from "./i18n.js";
import { projects, select } from "./lookup.js";
import { address, go } from "./router.js";
import { fit, press, shortId } from "./row.js";
import { when } from "./time.js";
import { failed } from "./toast.js";

const opened = new Set();

/** Show the page in `main` for a project and a session. */
export function show(main, { filters: { project, session } }) {
  const feed = new Feed({
    label: t("page.receipts"),
    load: (cursor, signal) => get("receipts", { project, session, cursor, limit: PAGE }, signal),
    key: (receipt) => receipt.injection_id,
    row: receiptRow,
    empty: () => (project || session
      ? emptiness(t("empty.filter"), t("empty.filter.text"), h("a", { class: "button", href: address("receipts") }, t("filters.clear")))
      : emptiness(t("empty.receipts"), t("empty.receipts.text"))),
  });
  const bar = h("div", { class: "filters" });
  const draw = (known) => only(bar,
    select(t("filter.project"), [["", t("all.project")], ...known.map((name) => [name, name])], project ?? "",
      (value) => go("receipts", { session, project: value }), { id: "filter-project" }),
    session && h("a", { class: "button", href: address("receipts", { project }) },
      t("session.only", { session: session.slice(0, 8) }), icon("close")));
  draw([]);
  projects().then((known) => draw([...new Set(known.map((one) => one.name))]), failed);
  main.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, t("page.receipts"))),
    h("p", { class: "lead" }, t("receipts.lead")), bar, feed.element);
  return {
    refresh: () => feed.refresh(), leave: () => feed.close(),
    keys: { j: () => move(feed, 1), k: () => move(feed, -1), Enter: () => document.activeElement?.matches("article") && press("open") },
  };
}

function receiptRow(receipt) {
  const id = receipt.injection_id;
  const body = h("div", { class: "receipt-body", id: `receipt-${id}`, hidden: true });
  const button = h("button", { class: "receipt-head", type: "button", "aria-expanded": "false", "aria-controls": body.id, "data-act": "open" },
    icon("more"),
    h("span", { class: "receipt-query", dir: "auto" }, receipt.query || t(`event.${receipt.event}`)),
    h("span", { class: `given ${receipt.given ? "some" : ""}` }, t("receipt.given", { given: receipt.given, considered: receipt.considered })));
  const toggle = () => {
    const now = body.hidden;
    body.hidden = !now;
    button.setAttribute("aria-expanded", String(now));
    if (now) opened.add(id);
    else opened.delete(id);
    if (now && !body.hasChildNodes()) fill(body, id);
  };
  button.addEventListener("click", toggle);
  if (opened.has(id)) toggle();
  return h("article", { class: "row receipt", tabindex: "-1", "aria-label": receipt.query.slice(0, 80) || t(`event.${receipt.event}`) },
    h("div", { class: "row-body" }, button, summary(receipt), body));
}

function summary(receipt) {
  return h("p", { class: "row-facts" },
    h("span", { class: "type" }, t(`event.${receipt.event}.short`)),
    receipt.project && h("span", { class: "where", dir: "auto" }, receipt.project),
    h("span", {}, when(receipt.at)),
    h("span", {}, t("tokens", { n: receipt.tokens })),
    h("span", {}, t("ms", { ms: number(receipt.ms, 1) })),
    receipt.used !== null && h("span", {}, t("use.count", { used: receipt.used, given: receipt.given })),
    h("a", { href: address("receipts", { session: receipt.session_id }), title: receipt.session_id },
      t("session", { session: receipt.session_id.slice(0, 8) })));
}

async function fill(body, id) {
  only(body, loading());
  try {
    const receipt = await get(`receipts/${id}`);
    const given = receipt.items.filter((item) => item.given);
    const left = receipt.items.filter((item) => !item.given);
    only(body,
      receipt.items.length === 0 && h("p", { class: "quiet-text" }, t("receipt.nothing")),
      given.length > 0 && items(t("receipt.in"), given, receipt.memories),
      left.length > 0 && items(t("receipt.out"), left, receipt.memories));
  } catch (error) {
    only(body, h("p", {}, error.message));
  }
}

function items(title, found, memories) {
  return h("section", {}, h("h2", { class: "small-head" }, title), h("ul", { class: "receipt-items" }, found.map((item) => {
    const memory = memories[item.memory];
    return h("li", { class: item.given ? "is-given" : "" },
      h("a", { dir: "auto", href: address("memory", {}, item.memory) }, memory?.content || t("deleted.since")),
      h("p", { class: "row-facts" },
        fit(item),
        h("span", { class: "reason" }, reason(item.reason)),
        item.given && h("span", {}, t(item.used === null ? "use.unknown" : item.used ? "use.yes" : "use.no")),
        h("code", {}, shortId(item.memory))));
  })));
}

/** The reason in the page's language where it is one of the usual ones, else as it was written. */
function reason(text) {
  const named = t(`reason.${text}`);
  return named.startsWith("reason.") ? text : named;
}
