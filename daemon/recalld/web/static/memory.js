/**
 * The page of one memory: all that is known of it, what it was before, and what hangs on it.
 */
import { get, post } from "./api.js";
import { h, only } from "./dom.js";
import { isHidden } from "./deletion.js";
import { emptiness, loading } from "./feed.js";
import { number, t } from "./i18n.js";
import { address } from "./router.js";
import { memoryRow, press, shortId } from "./row.js";
import { when } from "./time.js";
import { failed, toast } from "./toast.js";

/** Show the page of the memory `id` in `main`. */
export function show(main, { id }) {
  const body = h("div", {}, loading());
  let drawn = "";
  let row = null;
  const refresh = async () => {
    try {
      const [memory, events] = await Promise.all([get(`memories/${id}`), get(`memories/${id}/history`)]);
      const now = JSON.stringify([memory, events, isHidden(memory)]);
      if (now === drawn || row?.busy) return;
      drawn = now;
      const act = row?.contains(document.activeElement) ? document.activeElement.dataset.act : null;
      if (memory.status === "deleted" || isHidden(memory)) return only(body, gone(events));
      row = memoryRow(memory, { changed: refresh });
      only(body, row, judgement(memory), details(memory), links(memory), timeline(events, memory));
      if (act) row.querySelector(`[data-act="${act}"]`)?.focus();
    } catch (error) {
      if (error.status !== 404) return failed(error);
      only(body, emptiness(t("gone"), t("gone.text"), back()));
    }
  };
  main.replaceChildren(h("nav", { class: "crumbs", "aria-label": t("crumbs") }, back()),
    h("div", { class: "page-head" }, h("h1", {}, t("memory")), h("code", {}, shortId(id))), body);
  refresh();
  const onRow = (act) => () => {
    row?.focus();
    return press(act);
  };
  return { refresh, redraw: refresh, keys: { e: onRow("edit"), p: onRow("pin"), a: onRow("archive"), "#": onRow("delete") } };
}

const back = () => h("a", { class: "back", href: address("memories") }, t("back"));

function gone(events) {
  return [emptiness(t("gone"), t("gone.deleted"), back()), events.length > 0 && timeline(events, null)];
}

function judgement(memory) {
  const say = (verdict) => () =>
    post(`memories/${memory.id}/feedback`, { verdict }).then(() => toast(t("toast.feedback")), failed);
  return h("section", { class: "panel", "aria-labelledby": "feedback" },
    h("h2", { id: "feedback" }, t("feedback")),
    h("div", { class: "actions" }, ["useful", "useless", "missed"].map((verdict) =>
      h("button", { class: "button", type: "button", onclick: say(verdict) }, t(`feedback.${verdict}`)))));
}

function details(memory) {
  const rows = [
    ["detail.origin", `${t(`origin.${memory.origin}`)} · ${memory.source}`],
    ["detail.confidence", number(memory.confidence, 2)],
    ["detail.first", when(memory.first_seen, true)],
    ["detail.last", when(memory.last_seen, true)],
    ["detail.used", memory.last_used ? [t("given.times", { n: memory.hit_count }), ", ", when(memory.last_used)] : t("never")],
    ["detail.changed", [when(memory.updated_at, true), ` · ${t("version", { version: memory.version })}`]],
    memory.expires_at && ["detail.expires", when(memory.expires_at, true)],
    memory.source_session && ["detail.session", h("a", { href: address("receipts", { session: memory.source_session }) }, memory.source_session)],
    memory.branch && ["detail.branch", memory.branch],
    memory.local_only && ["detail.local", t("yes")],
    ["detail.id", h("code", {}, memory.id)],
  ];
  return h("section", { class: "panel", "aria-labelledby": "details" }, h("h2", { id: "details" }, t("details")),
    h("dl", {}, rows.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, t(name)), h("dd", { dir: "auto" }, value)))));
}

function links(memory) {
  const groups = ["conflicts", "supersedes", "related"].map((name) => [name, memory[name]]);
  if (memory.superseded_by) groups.unshift(["superseded_by", [memory.superseded_by]]);
  const shown = groups.filter(([, ids]) => ids.length > 0);
  if (shown.length === 0) return null;
  return h("section", { class: "panel", "aria-labelledby": "links" }, h("h2", { id: "links" }, t("links")),
    shown.map(([name, ids]) => [h("h3", {}, t(`link.${name}`)), h("ul", { class: "links" }, ids.slice(0, 20).map(linked))]));
}

/** A link that shows the other memory's text as soon as it is known. */
function linked(id) {
  const link = h("a", { href: address("memory", {}, id), dir: "auto" }, shortId(id));
  get(`memories/${id}`).then((memory) => (link.textContent = memory.content || t("deleted.since")), () => {});
  return h("li", {}, link);
}

/** The steps of a memory's life, the newest first; each tells what the text was before it. */
function timeline(events, memory) {
  const said = memory?.content ?? "";
  return h("section", { class: "panel", "aria-labelledby": "history" }, h("h2", { id: "history" }, t("history")),
    h("ol", { class: "timeline" }, events.toReversed().map((event) => h("li", {},
      h("p", {}, h("strong", {}, t(`action.${event.action}`)), " · ", event.actor, " · ", when(event.at, true)),
      event.content && event.content !== said && h("p", { class: "was", dir: "auto" }, t("was", { text: event.content })),
      event.status !== "active" && h("p", { class: "was" }, t("was.status", { status: t(`status.${event.status}`) }))))));
}
