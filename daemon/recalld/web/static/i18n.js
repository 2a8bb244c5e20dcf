/**
 * The words of the page, in the language of the browser or the one that was chosen.
 */
import { store, stored } from "./dom.js";
import { en } from "./words-en.js";
import { zh } from "./words-zh.js";

const KEY = "recalld.language";
const TABLES = { en, zh };
export const LANGUAGES = { en: "English", zh: "中文" };

let language = chosen();
document.documentElement.lang = tag();

function chosen() {
  const wish = stored(KEY);
  if (wish in TABLES) return wish;
  const preferred = navigator.languages?.map((name) => name.slice(0, 2)) ?? [];
  return preferred.find((name) => name in TABLES) ?? "en";
}

/** `en` or `zh`. */
export const current = () => language;

/** As BCP 47, which also chooses the right Chinese glyphs. */
export function tag() {
  return language === "zh" ? "zh-Hans" : "en";
}

/** Change the language for good; whoever calls draws the page anew. */
export function speak(name) {
  language = name;
  store(KEY, name);
  document.documentElement.lang = tag();
}

/** The text `name`, with {values} put in. A text of two forms goes by `values.n`. */
export function t(name, values = {}) {
  let text = TABLES[language][name] ?? en[name] ?? name;
  if (Array.isArray(text)) text = text[formatter(Intl.PluralRules).select(values.n) === "one" ? 0 : 1];
  return text.replace(/\{(\w+)\}/g, (hole, key) => (key in values ? put(values[key]) : hole));
}

const put = (value) => (typeof value === "number" ? number(value) : String(value));

const made = new Map();

/** An Intl object for this language; to make one costs more than to draw a row. */
export function formatter(Kind, options = {}) {
  const key = `${tag()} ${Kind.name} ${JSON.stringify(options)}`;
  if (!made.has(key)) made.set(key, new Kind(tag(), options));
  return made.get(key);
}

/** A number as it is written in this language. digits: after the point. */
export function number(value, digits = 0) {
  return formatter(Intl.NumberFormat, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

/** Dollars; small amounts keep the digits that matter. */
export function dollars(value) {
  return `$${formatter(Intl.NumberFormat, { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 4 : 2 }).format(value)}`;
}
