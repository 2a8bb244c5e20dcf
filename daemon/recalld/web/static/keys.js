/**
 * Keys of one letter, for whoever works without a mouse; they can be switched off, and never act while text is typed.
 */
import { h, store, stored } from "./dom.js";
import { open } from "./dialogs.js";
import { t } from "./i18n.js";

const SWITCH = "recalld.keys";
const SHOWN = ["/", "j k", "Enter", "e", "p", "a", "x", "#", "z", "n", "c", "1–6", "?"];
let bound = {};

/** The keys that act from now on: {key: action}; an action that returns false did nothing. */
export function bind(keys) {
  bound = keys;
}

const enabled = () => stored(SWITCH) !== "off";

/** Show all keys, with the switch. */
export function help() {
  return open(t("keys"), (close) => [
    h("dl", { class: "keys" }, SHOWN.map((name) =>
      h("div", {}, h("dt", {}, name.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, t(`key.${name}`))))),
    h("label", { class: "toggle" },
      h("input", { type: "checkbox", checked: enabled(), onchange: (event) => store(SWITCH, event.target.checked ? null : "off") }),
      h("span", {}, t("keys.on"))),
    h("div", { class: "actions" }, h("button", { class: "button", type: "button", onclick: () => close() }, t("close"))),
  ]);
}

const typing = (target) => target.closest("textarea, select, dialog, [contenteditable]") ||
  (target.matches("input") && !["checkbox", "radio", "button"].includes(target.type));

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.id === "search") return event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target) || !enabled()) return;
  const action = bound[event.key];
  if (!action || (event.key === "Enter" && !event.target.matches("article"))) return;
  event.preventDefault();
  action();
});
