/**
 * The search field and the filters of the list; what they say stands in the address.
 */
import { h, only } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";
import { projects, SCOPES, select, STATUSES, tags, TYPES } from "./lookup.js";
import { go, place } from "./router.js";
import { iconButton } from "./row.js";
import { failed } from "./toast.js";

const TYPING_MS = 180;
const SORTS = ["newest", "used", "oldest"];
let unfolded = false;

const set = (name, value, replace = false) => go("memories", { ...place().filters, [name]: value }, { replace });

/** The bar. bar.update(filters, add): show these; add(): what the button for a new memory does. */
export function filterBar() {
  const field = searchField();
  const filters = h("div", { class: "filters" });
  const bar = h("search", { class: "filter-bar" });
  let add = () => {};
  const fold = foldButton();
  bar.append(
    h("div", { class: "search-line" },
      h("div", { class: "search-field" }, icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/")), fold,
      h("button", { class: "button primary", type: "button", id: "add", onclick: () => add() }, icon("plus"), h("span", {}, t("add")))),
    filters);
  bar.update = (wanted, compose) => {
    add = compose;
    const { q, ...narrow } = wanted;
    if (document.activeElement !== field) field.value = q ?? "";
    fold.setAttribute("aria-expanded", String(unfolded || Object.keys(narrow).length > 0));
    const focused = filters.contains(document.activeElement) ? document.activeElement.id : null;
    only(filters, choices(wanted));
    if (focused) (document.getElementById(focused) ?? field).focus();
    offer(filters, wanted).catch(failed);
  };
  return bar;
}

function searchField() {
  let timer = 0;
  const typed = (event) => {
    clearTimeout(timer);
    if (event.isComposing) return; // half a Chinese word is no question
    timer = setTimeout(() => set("q", event.target.value.trim(), true), TYPING_MS);
  };
  return h("input", { type: "search", id: "search", placeholder: t("search.hint"), "aria-label": t("search"), autocomplete: "off",
    spellcheck: "false", enterkeyhint: "search", dir: "auto", oninput: typed, oncompositionend: typed });
}

/** On a phone the filters are folded away, unless one of them is at work. */
function foldButton() {
  const flip = ({ currentTarget }) => {
    unfolded = currentTarget.getAttribute("aria-expanded") === "false";
    currentTarget.setAttribute("aria-expanded", String(unfolded));
  };
  return iconButton("system", t("filters"), "filters", flip, { id: "filters-toggle", "aria-expanded": "false" });
}

function choices(filters) {
  const all = (name, values) => [["", t(`all.${name}`)], ...values.map((value) => [value, capital(t(`${name}.${value}`))])];
  const field = (name, options) =>
    select(t(`filter.${name}`), options, filters[name] ?? "", (value) => set(name, value), { id: `filter-${name}` });
  return [
    field("project", [["", t("all.project")]]),
    field("scope", all("scope", SCOPES)),
    field("type", all("type", TYPES)),
    field("status", STATUSES.map((name) => [name === "active" ? "" : name, capital(t(`status.${name}`))])),
    field("tag", [["", t("all.tag")]]),
    !filters.q && field("sort", SORTS.map((name) => [name === "newest" ? "" : name, t(`sort.${name}`)])),
    h("label", { class: "toggle" },
      h("input", { type: "checkbox", id: "filter-pinned", checked: filters.pinned === "true",
        onchange: (event) => set("pinned", event.target.checked ? "true" : "") }),
      h("span", {}, t("pinned.only"))),
    Object.keys(filters).length > 0 && iconButton("close", t("filters.clear"), "clear", () => go("memories"), { id: "filters-clear" }),
  ];
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Fill in the projects and tags once they are known. */
async function offer(bar, filters) {
  const [known, used] = await Promise.all([projects(), tags(filters.project)]);
  const names = [...new Set(known.map((project) => project.name))];
  if (!bar.isConnected) return;
  fill(bar.querySelector("#filter-project"), [["", t("all.project")], ...names.map((name) => [name, name])], filters.project);
  fill(bar.querySelector("#filter-tag"), [["", t("all.tag")], ...used.slice(0, 200).map(({ tag }) => [tag, tag])], filters.tag);
}

function fill(list, options, value = "") {
  const known = options.some(([name]) => name === value);
  list.replaceChildren(...(known ? options : [...options, [value, value]]).map(([name, text]) =>
    h("option", { value: name, selected: name === value }, text)));
}
