/**
 * The form that changes a memory, or makes one. What is typed is kept in this browser until it is saved or given up.
 */
import { patch, post } from "./api.js";
import { add, h, only, store, stored } from "./dom.js";
import { t } from "./i18n.js";
import { placed, placeOf, places, select, tags, TYPES } from "./lookup.js";
import { day, local } from "./time.js";
import { failed, toast } from "./toast.js";

const MAX_CHARS = 4000;
const DRAFT = (id) => `recalld.draft.${id}`;

/** Whether something typed into this memory's form was not saved yet. */
export const hasDraft = (memory) => stored(DRAFT(memory.id)) !== null;

/** Forget what was typed into this memory's form; a deleted memory leaves nothing behind. */
export const dropDraft = (id) => store(DRAFT(id), null);

/** The form of a memory. done(memory | null): it is over, with what is stored now or null where it was given up. */
export function editor(memory, done) {
  return new Editor(memory, done).form;
}

/** A memory that does not exist yet, for `editor`. */
export const blank = (project = null) => ({
  id: "new", content: "", type: "fact", tags: [], expires_at: null, scope: project ? "project" : "user", project,
});

class Editor {
  constructor(memory, done) {
    Object.assign(this, { memory, done, form: h("form", { class: "editor", "aria-label": t("edit.form") }) });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.isComposing) return; // Enter and Escape belong to the input method
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit();
      else if (event.key === "Escape") this.cancel();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.form.addEventListener("input", () => this.keepDraft());
    this.draw(this.draft() ?? fieldsOf(memory));
  }

  draft() {
    try {
      return JSON.parse(stored(DRAFT(this.memory.id)));
    } catch {
      return null;
    }
  }

  keepDraft() {
    const typed = this.typed();
    store(DRAFT(this.memory.id), equal(typed, fieldsOf(this.memory)) ? null : JSON.stringify(typed));
  }

  draw(fields) {
    const unsaved = !equal(fields, fieldsOf(this.memory));
    this.text = h("textarea", { value: fields.content, rows: 3, maxlength: MAX_CHARS, required: true, dir: "auto", "aria-label": t("edit.text") });
    this.type = select(t("edit.type"), TYPES.map((name) => [name, t(`type.${name}`)]), fields.type);
    this.place = select(t("edit.place"), [[fields.place, fields.place.replace("project:", "")]], fields.place);
    this.tags = h("input", { value: fields.tags.join(", "), list: `tags-${this.memory.id}`, autocomplete: "off", spellcheck: "false" });
    this.expires = h("input", { type: "date", value: fields.expires, min: day(Date.now() + 86_400_000) });
    this.problem = h("div", { class: "editor-problem", role: "alert" });
    only(this.form,
      unsaved && h("p", { class: "note" }, t("edit.kept")), this.text,
      h("div", { class: "fields" }, this.type, this.place,
        labelled(t("edit.tags"), this.tags), labelled(t("edit.expires"), this.expires)),
      this.problem,
      h("div", { class: "actions" },
        h("button", { class: "button primary", type: "submit" }, t("save")),
        h("button", { class: "button", type: "button", onclick: () => this.cancel() }, t("cancel")),
        h("span", { class: "hint" }, t("edit.keys"))),
      h("datalist", { id: `tags-${this.memory.id}` }));
    this.offer(fields).catch(failed);
  }

  /** Fill in what there is to choose from, when it is known. */
  async offer(fields) {
    const [known, used] = await Promise.all([places(), tags()]);
    const list = this.place.querySelector("select");
    const value = list.value || fields.place;
    this.place.replaceChildren(...select(t("edit.place"), known, value).childNodes);
    add(this.form.querySelector("datalist"), used.slice(0, 200).map(({ tag }) => h("option", { value: tag })));
  }

  typed() {
    return {
      content: this.text.value.trim(),
      type: this.type.querySelector("select").value,
      place: this.place.querySelector("select").value,
      tags: [...new Set(this.tags.value.split(/[,，、]/).map((name) => name.trim().toLowerCase()).filter(Boolean))],
      expires: this.expires.value,
    };
  }

  async save() {
    const changes = difference(fieldsOf(this.memory), this.typed());
    const isNew = this.memory.id === "new";
    if (!isNew && Object.keys(changes).length === 0) return this.close(this.memory);
    this.form.setAttribute("aria-busy", "true");
    try {
      const typed = this.typed();
      const body = isNew ? { ...difference({}, typed), ...placed(typed.place) } : { ...changes, version: this.memory.version };
      const saved = isNew ? await post("memories", body) : await patch(this.memory.id, body);
      this.close(saved);
      toast(t(isNew ? "toast.added" : "toast.saved"));
    } catch (error) {
      this.refused(error);
    } finally {
      this.form.removeAttribute("aria-busy");
    }
  }

  /** Nothing typed is lost: a stale version shows both texts, anything else its reason. */
  refused(error) {
    const now = error.body?.current;
    if (error.status !== 409 || !now) return only(this.problem, h("p", {}, error.message));
    const mine = () => {
      this.memory = now;
      this.save();
    };
    only(this.problem,
      h("p", {}, t("edit.stale", { when: local(now.updated_at) })),
      h("blockquote", { dir: "auto" }, now.content || t("deleted.since")),
      h("div", { class: "actions" },
        h("button", { class: "button", type: "button", onclick: mine }, t("edit.mine")),
        h("button", { class: "button", type: "button", onclick: () => this.close(now) }, t("edit.theirs"))));
    this.problem.querySelector("button").focus();
  }

  cancel() {
    const typed = this.typed();
    const { memory, done } = this;
    this.close(null);
    if (equal(typed, fieldsOf(memory))) return;
    const back = () => {
      store(DRAFT(memory.id), JSON.stringify(typed));
      done(null, { again: true });
    };
    toast(t("toast.discarded"), { action: { label: t("undo"), run: back } });
  }

  close(memory) {
    dropDraft(this.memory.id);
    this.done(memory);
  }
}

function fieldsOf(memory) {
  return {
    content: memory.content,
    type: memory.type,
    place: placeOf(memory),
    tags: memory.tags,
    expires: memory.expires_at ? day(memory.expires_at) : "",
  };
}

const equal = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** What the server has to be told so that `before` becomes `after`. */
function difference(before, after) {
  const changes = {};
  for (const name of ["content", "type", "tags"]) if (!equal(before[name], after[name])) changes[name] = after[name];
  if (before.place && before.place !== after.place) Object.assign(changes, placed(after.place));
  if ((before.expires ?? "") !== after.expires) changes.expires = after.expires || null;
  return changes;
}

/** A named input. */
export const labelled = (name, input) => h("label", { class: "field" }, h("span", { class: "field-name" }, name), input);
