/**
 * The bar for several selected memories at once.
 */
import { bulk } from "./api.js";
import { h, only } from "./dom.js";
import { askPlace, askTags, confirm } from "./dialogs.js";
import { holdDelete } from "./deletion.js";
import { t } from "./i18n.js";
import { failed, toast } from "./toast.js";

/** An empty selection: a Map of id to memory, with `changed()` that its owner sets. */
export function newSelection() {
  return Object.assign(new Map(), { changed: () => {} });
}

/** The bar. selectable(): the loaded memories. changed(): something was stored. */
export function bulkBar(selection, selectable, changed) {
  const bar = h("section", { class: "bulk-bar", "aria-label": t("bulk"), hidden: true });
  const act = (label, run, danger = false) =>
    h("button", { class: `button${danger ? " danger" : ""}`, type: "button", onclick: () => run([...selection.keys()]).catch(failed) }, label);
  const send = (action, more) => async (ids) => {
    await bulk(action, ids, more);
    toast(t("toast.bulk", { n: ids.length }));
    clear();
    changed();
  };
  const clear = () => {
    selection.clear();
    selection.changed();
  };
  const everyone = () => {
    selectable().forEach((memory) => selection.set(memory.id, memory));
    selection.changed();
  };
  const move = async (ids) => {
    const target = await askPlace(ids.length);
    if (target) await send("move", target)(ids);
  };
  const tag = async (ids) => {
    const wanted = await askTags(ids.length);
    if (wanted) await send(wanted.action, { tags: wanted.tags })(ids);
  };
  const remove = async (ids) => {
    if (!(await confirm(t("delete.title", { n: ids.length }), t("delete.text"), t("delete.yes", { n: ids.length }), true))) return;
    clear();
    holdDelete(ids);
  };
  const count = h("strong", { "aria-live": "polite" });
  only(bar, count, h("div", { class: "actions" },
    act(t("pin"), send("pin")), act(t("unpin"), send("unpin")), act(t("archive"), send("archive")), act(t("restore"), send("restore")),
    act(t("move.short"), move), act(t("tag.short"), tag), act(t("delete"), remove, true),
    h("button", { class: "button quiet", type: "button", onclick: everyone }, t("select.all")),
    h("button", { class: "button quiet", type: "button", onclick: clear }, t("select.none"))));
  bar.show = () => {
    bar.hidden = selection.size === 0;
    count.textContent = t("selected", { n: selection.size });
  };
  return bar;
}
