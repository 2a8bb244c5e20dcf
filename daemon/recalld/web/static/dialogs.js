/**
 * Questions in a <dialog>: the browser keeps the focus inside, Escape leaves it, and the focus returns to where it was.
 */
import { h } from "./dom.js";
import { blank, editor, labelled } from "./editor.js";
import { t } from "./i18n.js";
import { places, select, tags } from "./lookup.js";

/** Show a dialog until it is closed. build(close): its contents. Resolves with what `close` was called with, or null. */
export function open(title, build, className = "") {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h("dialog", { class: className, "aria-labelledby": "dialog-title" });
    const close = (value = null) => {
      answer = value;
      dialog.close();
    };
    dialog.append(h("h2", { id: "dialog-title" }, title), ...[build(close)].flat(Infinity).filter(Boolean));
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A yes-or-no question; true for yes. */
export async function confirm(title, text, yes, danger = false) {
  return (await open(title, (close) => [
    h("p", {}, text),
    h("div", { class: "actions" },
      h("button", { class: `button ${danger ? "danger" : "primary"}`, type: "button", onclick: () => close(true) }, yes),
      h("button", { class: "button", type: "button", onclick: () => close() }, t("cancel"))),
  ])) === true;
}

/** Where memories are to belong: {project} or {scope}, or null. */
export async function askPlace(count) {
  const known = await places();
  return answered(t("move.title", { n: count }), t("move"), () => {
    const field = select(t("edit.place"), known, known[0][0]);
    return [field, () => {
      const { value } = field.querySelector("select");
      return value.startsWith("project:") ? { project: value.slice(8) } : { scope: value };
    }];
  });
}

/** Tags for `count` memories, as {action: tag | untag, tags}, or null. */
export async function askTags(count) {
  const used = await tags();
  return answered(t("tag.title", { n: count }), t("apply"), () => {
    const action = select(t("tag.what"), [["tag", t("tag.add")], ["untag", t("tag.remove")]], "tag");
    const input = h("input", { required: true, list: "dialog-tags", autocomplete: "off", spellcheck: "false" });
    const list = h("datalist", { id: "dialog-tags" }, used.slice(0, 200).map(({ tag }) => h("option", { value: tag })));
    return [[action, labelled(t("edit.tags"), input), list], () => ({
      action: action.querySelector("select").value,
      tags: input.value.split(/[,，、]/).map((name) => name.trim()).filter(Boolean),
    })];
  });
}

function answered(title, yes, build) {
  return open(title, (close) => {
    const [fields, value] = build();
    const form = h("form", {}, h("div", { class: "fields" }, fields), h("div", { class: "actions" },
      h("button", { class: "button primary", type: "submit" }, yes),
      h("button", { class: "button", type: "button", onclick: () => close() }, t("cancel"))));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      close(value());
    });
    return form;
  });
}

/** Write a new memory, into `project` unless the person chooses otherwise; what was stored, or null. */
export function compose(project) {
  const build = (close) => editor(blank(project), (saved, { again = false } = {}) => (again ? compose(project) : close(saved)));
  return open(t("add.title"), build, "wide");
}
