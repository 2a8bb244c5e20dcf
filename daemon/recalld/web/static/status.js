/**
 * The page of the system: how the daemon is, what can be switched, taken along and put right, and the projects.
 */
import { download, get, post } from "./api.js";
import { confirm } from "./dialogs.js";
import { h, only } from "./dom.js";
import { loading } from "./feed.js";
import { icon } from "./icons.js";
import { tile } from "./insights.js";
import { dollars, number, t } from "./i18n.js";
import { forget, projects, select } from "./lookup.js";
import { address } from "./router.js";
import { day, when } from "./time.js";
import { failed, toast } from "./toast.js";

const FORMATS = ["json", "jsonl", "markdown"];
const ENDINGS = { json: "json", jsonl: "jsonl", markdown: "md" };

/** Show the page in `main`. recount(): the frame shows what was switched, too. */
export function show(main, _where, { recount }) {
  const facts = h("div", {}, loading());
  const places = h("div", {}, loading());
  const refresh = async () => {
    forget();
    const [status, found] = await Promise.all([get("status"), projects()]);
    drawIn(facts, [tiles(status), notices(status), switches(status, () => Promise.all([refresh(), recount()]))]);
    drawIn(places, projectTable(found));
  };
  main.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, t("page.system"))), facts,
    panel("export", t("export"), exporter()), panel("projects", t("projects"), places), panel("doctor", t("doctor"), doctor()),
    h("p", { class: "foot" }, h("a", { href: "docs" }, t("docs"))));
  refresh().catch(failed);
  return { refresh, keys: {} };
}

/** Draw anew without taking the focus from a control of the same name. */
function drawIn(element, content) {
  const focused = element.contains(document.activeElement) ? document.activeElement.id : "";
  only(element, content);
  if (focused) document.getElementById(focused)?.focus();
}

const panel = (id, title, ...content) =>
  h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), content);

function tiles(status) {
  const { jobs, spend, model } = status;
  return h("dl", { class: "tiles" },
    tile(t("tile.daemon"), t(status.paused ? "paused" : "running"), t("tile.version", { version: status.version })),
    tile(t("tile.memories"), number(status.memories), t("tile.pending", { n: status.pending ?? 0 })),
    tile(t("tile.queue"), number(jobs.ready + jobs.running), t("tile.dead", { n: jobs.dead })),
    tile(t("tile.backend"), status.backend ?? "–", model?.state && `${model.id}: ${model.state}`),
    tile(t("tile.today"), dollars(spend.usd), t("tile.calls", { n: spend.calls })));
}

function notices(status) {
  return ["last_error", "rescued", "runaway"].filter((name) => status[name]).map((name) =>
    h("p", { class: "note alert" }, icon("alert"), h("span", {}, `${t(`notice.${name}`)}: ${status[name]}`)));
}

function switches(status, changed) {
  const flip = () => post(status.paused ? "resume" : "pause").then(changed, failed);
  return h("div", { class: "actions" },
    h("button", { class: `button${status.paused ? " primary" : ""}`, type: "button", id: "pause", onclick: flip },
      icon(status.paused ? "play" : "pause"), t(status.paused ? "resume" : "pause")),
    h("button", { class: "button", type: "button", id: "undo", onclick: () => undoLearnt().then(changed, failed) },
      icon("undo"), t("undo.learnt")));
}

/** Take back what was learnt last, after a question. */
async function undoLearnt() {
  if (!(await confirm(t("undo.title"), t("undo.text"), t("undo.learnt")))) return;
  const { removed, restored, kept } = await post("undo");
  toast(t("toast.undone", { removed: removed.length, restored: restored.length, kept: kept.length }));
}

function exporter() {
  const format = select(t("export.format"), FORMATS.map((name) => [name, t(`export.${name}`)]), "json");
  const save = async () => {
    const chosen = format.querySelector("select").value;
    const href = URL.createObjectURL(await download("export", { format: chosen }));
    const link = h("a", { href, download: `recalld-${day(Date.now())}.${ENDINGS[chosen]}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  };
  return [h("p", { class: "quiet-text" }, t("export.text")), h("div", { class: "actions" }, format,
    h("button", { class: "button", type: "button", id: "export-save", onclick: () => save().catch(failed) }, t("export.save")))];
}

function projectTable(found) {
  if (found.length === 0) return h("p", { class: "quiet-text" }, t("projects.none"));
  return h("ul", { class: "projects" }, found.map((project) => h("li", {},
    h("a", { href: address("memories", { project: project.name }), dir: "auto" }, project.name),
    h("span", {}, t("count", { n: project.memories })), h("span", { class: "quiet-text" }, when(project.last_seen_at)),
    h("span", { class: "quiet-text path", dir: "ltr" }, project.places.join(" · ")))));
}

function doctor() {
  const result = h("div", { role: "status" });
  const look = async () => {
    only(result, loading());
    try {
      only(result, checks(await get("doctor")));
    } catch (error) {
      only(result);
      failed(error);
    }
  };
  return [h("p", { class: "quiet-text" }, t("doctor.text")),
    h("div", { class: "actions" }, h("button", { class: "button", type: "button", id: "doctor-run", onclick: look }, t("doctor.run"))), result];
}

const checks = (found) => h("ul", { class: "checks" }, found.map(({ check, ok, detail, fix }) =>
  h("li", { class: ok ? "is-ok" : "is-bad" }, icon(ok ? "confirm" : "alert"),
    h("div", {}, h("strong", {}, check), h("span", { class: "sr-only" }, ` ${t(ok ? "doctor.ok" : "doctor.bad")} `),
      h("p", {}, detail), fix && h("p", { class: "fix" }, fix)))));
