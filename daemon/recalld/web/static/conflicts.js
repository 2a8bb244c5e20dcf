/**
 * The page of memories that contradict each other, side by side.
 */
import { get, post } from "./api.js";
import { h, only } from "./dom.js";
import { emptiness, loading } from "./feed.js";
import { t } from "./i18n.js";
import { facts } from "./row.js";
import { when } from "./time.js";
import { failed, toast } from "./toast.js";

/** Show the page in `main`. */
export function show(main) {
  const list = h("div", { class: "conflicts" }, loading());
  const count = h("p", { class: "count", role: "status" });
  let drawn = "";
  const refresh = async () => {
    const found = await get("conflicts");
    if (JSON.stringify(found) === drawn) return;
    drawn = JSON.stringify(found);
    count.textContent = t("conflicts.count", { n: found.length });
    const inside = list.contains(document.activeElement);
    only(list, found.length ? found.map((conflict) => pair(conflict, refresh)) : emptiness(t("empty.conflicts"), t("empty.conflicts.text")));
    if (inside) (list.querySelector("button") ?? main).focus();
  };
  main.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, t("page.conflicts")), count),
    h("p", { class: "lead" }, t("conflicts.lead")), list);
  refresh().catch(failed);
  return { refresh, keys: {} };
}

function pair({ conflict_id: number, older, newer, opened_at: opened }, refresh) {
  const settle = (keep) => async () => {
    try {
      await post(`conflicts/${number}/resolve`, { keep });
      toast(t(`conflict.kept.${keep}`));
    } catch (error) {
      failed(error);
    }
    await refresh().catch(failed);
  };
  const title = `conflict-${number}`;
  return h("section", { class: "conflict", "aria-labelledby": title },
    h("h2", { id: title }, t("conflict", { number }), " ", h("span", { class: "quiet-text" }, when(opened))),
    h("div", { class: "sides" },
      side("A", t("older"), older, newer, settle("A")), side("B", t("newer"), newer, older, settle("B"))),
    h("div", { class: "actions" }, h("button", { class: "button", type: "button", onclick: settle("both") }, t("keep.both"))));
}

function side(letter, age, memory, other, keep) {
  return h("div", { class: "side" },
    h("h3", {}, `${letter} · ${age}`),
    h("p", { class: "side-text", dir: "auto" }, marked(memory.content, other.content)),
    facts(memory),
    h("button", { class: "button primary", type: "button", onclick: keep }, t("keep.one", { letter })));
}

/** `text` with the words that the other text does not have set off, by Latin words and single Chinese characters. */
export function marked(text, other) {
  const words = (sentence) => sentence.match(/[\p{Script=Han}]|[\p{L}\p{N}_./:-]+|[^\p{L}\p{N}]+?/gu) ?? [];
  const known = new Set(words(other).map((word) => word.toLowerCase()));
  return words(text).map((word) => (/[\p{L}\p{N}]/u.test(word) && !known.has(word.toLowerCase()) ? h("mark", {}, word) : word));
}
