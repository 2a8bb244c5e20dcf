/**
 * Projects and tags to choose from, asked for once and again after a change.
 */
import { get } from "./api.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";

export const TYPES = ["fact", "preference", "decision", "lesson", "progress", "summary"];
export const SCOPES = ["user", "project", "org"];
export const STATUSES = ["active", "pending", "archived", "superseded", "all"];

let projectsAsked = null;
const tagsAsked = new Map();

/** All projects, by name. */
export function projects() {
  projectsAsked ??= get("projects").then((found) => found.sort((a, b) => a.name.localeCompare(b.name)));
  projectsAsked.catch(forget);
  return projectsAsked;
}

/** The tags in use in a project, or everywhere, the most used first. */
export function tags(project = "") {
  if (!tagsAsked.has(project)) tagsAsked.set(project, get("tags", { project }));
  tagsAsked.get(project).catch(forget);
  return tagsAsked.get(project);
}

/** Ask anew next time. */
export function forget() {
  projectsAsked = null;
  tagsAsked.clear();
}

/** A labelled <select>. options: [value, text]. */
export function select(label, options, value, onchange, props = {}) {
  const known = options.some(([name]) => name === value);
  const all = known || !value ? options : [...options, [value, value]];
  return h("label", { class: "field" }, h("span", { class: "field-name" }, label),
    h("select", { onchange: onchange && ((event) => onchange(event.target.value)), ...props },
      all.map(([name, text]) => h("option", { value: name, selected: name === (value ?? "") }, text))));
}

/** Where a memory may belong, as [value, text]: everywhere, the team, or a project (`project:NAME`). */
export async function places() {
  const found = await projects();
  const names = [...new Set(found.map((project) => project.name))];
  return [["user", t("scope.user")], ["org", t("scope.org")], ...names.map((name) => [`project:${name}`, name])];
}

/** `places` value of a memory, and back to what the server takes. */
export const placeOf = (memory) => (memory.scope === "project" ? `project:${memory.project}` : memory.scope);
export const placed = (value) => (value.startsWith("project:") ? { project: value.slice(8) } : { scope: value });
