/**
 * One memory in a list: its sentence, what is known of it in a line, and what can be done with it.
 */
import { bulk } from "./api.js";
import { h } from "./dom.js";
import { holdDelete } from "./deletion.js";
import { editor, hasDraft } from "./editor.js";
import { icon } from "./icons.js";
import { number, t } from "./i18n.js";
import { address } from "./router.js";
import { when } from "./time.js";
import { failed } from "./toast.js";

/** A button of one icon. */
export function iconButton(name, label, act, onclick, props = {}) {
  return h("button", { class: "icon-button", type: "button", "aria-label": label, title: label, "data-act": act, onclick, ...props }, icon(name));
}

/** The short id, as the command line takes it. */
export const shortId = (id) => id.slice(0, 8);

/**
 * A row. selection: a Map of id to memory, with `changed()`; none where nothing can be selected. changed(): something
 * was stored, load again. buttons(memory): other actions in the place of the usual ones.
 */
export function memoryRow(memory, { selection = null, changed, buttons = null }) {
  const row = h("article", { class: "row", tabindex: "-1", "aria-labelledby": `text-${memory.id}` });
  const draw = () => row.replaceChildren(...parts());
  const edit = () => {
    row.busy = true;
    row.replaceChildren(editor(memory, (saved, { again = false } = {}) => {
      row.busy = false;
      memory = saved ?? memory;
      if (again) return row.isConnected && edit();
      draw();
      row.focus({ preventScroll: true });
      if (saved) changed();
    }));
    row.querySelector("textarea").focus();
  };
  const parts = () => [
    selection && selectBox(memory, row, selection),
    h("div", { class: "row-body" }, text(memory), facts(memory)),
    h("div", { class: "row-actions" }, buttons ? buttons(memory, edit) : actions(memory, edit, changed)),
  ].filter(Boolean);
  draw();
  row.classList.toggle("is-pinned", memory.pinned);
  row.classList.toggle("is-selected", Boolean(selection?.has(memory.id)));
  if (hasDraft(memory)) queueMicrotask(edit);
  return row;
}

function text(memory) {
  const link = { id: `text-${memory.id}`, dir: "auto", href: address("memory", {}, memory.id), "data-act": "open" };
  return h("a", { class: "row-text", ...link }, memory.content || t("deleted.since"));
}

function selectBox(memory, row, selection) {
  const toggle = (event) => {
    if (event.target.checked) selection.set(memory.id, memory);
    else selection.delete(memory.id);
    row.classList.toggle("is-selected", event.target.checked);
    selection.changed();
  };
  return h("input", { type: "checkbox", class: "row-check", checked: selection.has(memory.id), "data-act": "select",
    "aria-label": t("select.one", { text: memory.content.slice(0, 60) }), onchange: toggle });
}

/** What is known of a memory, in a line. */
export function facts(memory) {
  const parts = [
    memory.score !== undefined && fit(memory),
    h("span", { class: `type type-${memory.type}` }, t(`type.${memory.type}`)),
    memory.pinned && h("span", { class: "badge badge-pin" }, icon("pin"), t("pinned")),
    memory.status !== "active" && h("span", { class: "badge" }, t(`status.${memory.status}`)),
    memory.conflicts.length > 0 && h("a", { class: "badge badge-alert", href: address("conflicts") }, t("in.conflict")),
    h("span", { class: "where", dir: "auto" }, memory.scope === "project" ? memory.project : t(`scope.${memory.scope}`)),
    memory.tags.map((tag) => h("a", { class: "tag", dir: "auto", href: address("memories", { tag }) }, tag)),
    h("span", {}, when(memory.last_seen)),
    memory.hit_count > 0 && h("span", {}, t("given.used", { given: memory.hit_count, used: Math.max(0, memory.useful_count) })),
    memory.expires_at && h("span", {}, t("ends"), " ", when(memory.expires_at)),
    h("code", {}, shortId(memory.id)),
  ];
  return h("p", { class: "row-facts" }, parts);
}

/** How well something fits: the score as a number, the similarity as a bar. */
export function fit({ score, similarity }) {
  const words = t("fits", { score: number(score, 2), similarity: number(similarity, 2) });
  return h("span", { class: "fit", title: words },
    h("meter", { min: 0, max: 1, value: similarity, "aria-label": words }), number(score, 2));
}

function actions(memory, edit, changed) {
  const run = (action) => () => bulk(action, [memory.id]).then(changed, failed);
  const flip = memory.pinned ? "unpin" : "pin";
  const living = memory.status === "active" || memory.status === "pending";
  return [
    iconButton("pin", t(flip), "pin", run(flip), { "data-on": memory.pinned }),
    iconButton("edit", t("edit"), "edit", edit),
    living
      ? iconButton("archive", t("archive"), "archive", run("archive"))
      : iconButton("restore", t("restore"), "archive", run("restore")),
    iconButton("delete", t("delete"), "delete", () => holdDelete([memory.id])),
  ];
}

/** Press the control `act` of the row that has the focus; whether there is one. */
export function press(act) {
  const control = document.activeElement?.closest("article")?.querySelector(`[data-act="${act}"]`);
  control?.click();
  return Boolean(control);
}
