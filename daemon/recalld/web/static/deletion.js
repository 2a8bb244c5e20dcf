/**
 * Deleting with a way back: what is deleted leaves the page at once and the store after 8 seconds, or when the page is
 * left. Until then nothing has happened.
 */
import { bulk } from "./api.js";
import { dropDraft } from "./editor.js";
import { t } from "./i18n.js";
import { failed, toast } from "./toast.js";

const HOLD_MS = 8000;
const held = new Set();
const hidden = new Set();
let changed = () => {};

/** Have `action` called whenever something is hidden or shown again. */
export function onHidden(action) {
  changed = action;
}

/** Whether a memory is on its way out. */
export const isHidden = (memory) => hidden.has(memory.id);

/** Hide these memories now; delete (or reject) them when the time for an undo is over. */
export function holdDelete(ids, action = "delete") {
  const batch = { ids, action };
  held.add(batch);
  ids.forEach((id) => hidden.add(id));
  const timer = setTimeout(() => carryOut(batch), HOLD_MS);
  const back = () => {
    clearTimeout(timer);
    held.delete(batch);
    show(ids);
  };
  toast(t(action === "reject" ? "toast.rejected" : "toast.deleted", { n: ids.length }), {
    action: { label: t("undo"), run: back }, hold_ms: HOLD_MS, timed: true,
  });
  changed();
}

function show(ids) {
  ids.forEach((id) => hidden.delete(id));
  changed();
}

async function carryOut(batch) {
  if (!held.delete(batch)) return;
  try {
    await bulk(batch.action, batch.ids);
    batch.ids.forEach(dropDraft);
  } catch (error) {
    show(batch.ids);
    failed(error);
  }
}

/** The page goes away: send what is held, in requests that outlive it. */
window.addEventListener("pagehide", () => {
  for (const { ids, action } of held) {
    ids.forEach(dropDraft);
    bulk(action, ids, {}, true).catch(() => {}); // nobody is left to be told
  }
  held.clear();
});
