/**
 * Times: shown relative or local, with the exact ISO text as their title.
 */
import { h } from "./dom.js";
import { formatter } from "./i18n.js";

const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];

/** "3 days ago", "in 2 weeks"; "now" for less than a minute. */
export function relative(iso, now = Date.now()) {
  const seconds = (Date.parse(iso) - now) / 1000;
  const words = formatter(Intl.RelativeTimeFormat, { numeric: "auto" });
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
  }
  return words.format(0, "second");
}

/** Local date and time. */
export function local(iso) {
  return formatter(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** A <time> of `iso`: relative, or with `exact` local. */
export function when(iso, exact = false) {
  return h("time", { datetime: iso, title: iso }, exact ? local(iso) : relative(iso));
}

/** A day of the local calendar as 2026-01-31, from an ISO time or a Date. */
export function day(time) {
  const at = new Date(time);
  const two = (value) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** The last `count` days up to today, oldest first. */
export function lastDays(count, now = new Date()) {
  return Array.from({ length: count }, (_, at) => day(new Date(now.getFullYear(), now.getMonth(), now.getDate() - count + 1 + at)));
}
