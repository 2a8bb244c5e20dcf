/**
 * The page of what waits for a yes or no.
 */
import { bulk, get } from "./api.js";
import { h } from "./dom.js";
import { confirm } from "./dialogs.js";
import { holdDelete, isHidden } from "./deletion.js";
import { emptiness, Feed } from "./feed.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { rowKeys } from "./list.js";
import { iconButton, memoryRow, press } from "./row.js";
import { failed, toast } from "./toast.js";

/** Show the page in `main`. */
export function show(main) {
  const admit = async (ids) => {
    try {
      await bulk("confirm", ids);
      toast(t("toast.confirmed", { n: ids.length }));
    } catch (error) {
      failed(error);
    }
    await feed.refresh();
  };
  const feed = new Feed({
    label: t("page.inbox"),
    load: async (_cursor, signal) => {
      const items = await get("inbox", {}, signal);
      return { items, next_cursor: null, total: items.length };
    },
    key: (memory) => memory.id,
    row: (memory) => memoryRow(memory, { changed: () => feed.refresh(), buttons: (one, edit) => answers(one, edit, admit) }),
    hides: isHidden,
    counted: (_total, items) => {
      count.textContent = t("inbox.count", { n: items.length });
      all.hidden = items.length < 2;
    },
    empty: () => emptiness(t("empty.inbox"), t("empty.inbox.text")),
  });
  const count = h("p", { class: "count", role: "status" });
  const everything = async () => {
    const ids = feed.items.map((memory) => memory.id);
    if (await confirm(t("inbox.all.title", { n: ids.length }), t("inbox.all.text"), t("inbox.all"))) await admit(ids);
  };
  const all = h("button", { class: "button", type: "button", hidden: true, onclick: everything }, t("inbox.all"));
  main.replaceChildren(
    h("div", { class: "page-head" }, h("h1", {}, t("page.inbox")), count, all),
    h("p", { class: "lead" }, t("inbox.lead")), feed.element);
  return {
    refresh: () => feed.refresh(), redraw: () => feed.redraw(), leave: () => feed.close(),
    keys: { ...rowKeys(feed), c: () => press("confirm"), "#": () => press("delete") },
  };
}

function answers(memory, edit, admit) {
  return [
    h("button", { class: "button primary small", type: "button", "data-act": "confirm", onclick: () => admit([memory.id]) },
      icon("confirm"), t("confirm")),
    iconButton("edit", t("edit"), "edit", edit),
    iconButton("close", t("reject"), "delete", () => holdDelete([memory.id], "reject")),
  ];
}
