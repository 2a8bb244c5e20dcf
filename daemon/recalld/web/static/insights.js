/**
 * The page of charts: what was learnt, given, used and spent, day by day.
 */
import { get } from "./api.js";
import { bars, dots } from "./charts.js";
import { h, only } from "./dom.js";
import { emptiness, loading } from "./feed.js";
import { dollars, number, t } from "./i18n.js";
import { go } from "./router.js";
import { lastDays, local } from "./time.js";
import { failed } from "./toast.js";

const SPANS = [7, 30, 90, 365];
const LATENCIES = 200;

/** Show the page in `main` over `filters.days`. */
export function show(main, { filters }) {
  const days = SPANS.includes(Number(filters.days)) ? Number(filters.days) : 30;
  const body = h("div", { class: "insights" }, loading());
  let drawn = "";
  const refresh = async () => {
    const [stats, receipts] = await Promise.all([get("stats", { days }), get("receipts", { limit: LATENCIES })]);
    const now = JSON.stringify([stats, receipts]);
    if (now === drawn || body.contains(document.activeElement)) return;
    drawn = now;
    only(body, tiles(stats), charts(stats, receipts.items, days));
  };
  const span = h("div", { class: "segments", role: "group", "aria-label": t("span") }, SPANS.map((n) =>
    h("button", { type: "button", "aria-pressed": String(n === days), onclick: () => go("insights", { days: n === 30 ? "" : String(n) }) },
      t("days", { n }))));
  main.replaceChildren(h("div", { class: "page-head" }, h("h1", {}, t("page.insights")), span), body);
  refresh().catch(failed);
  return { refresh, keys: {} };
}

/** A number that stands for itself. */
export function tile(name, value, note = null) {
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), note && h("span", {}, note)));
}

function tiles({ memories, injections, extraction }) {
  const active = memories.by_status.active ?? 0;
  const share = injections.share_used === null ? "–" : `${number(injections.share_used * 100)} %`;
  return h("dl", { class: "tiles" },
    tile(t("tile.memories"), number(active), t("tile.pinned", { n: memories.pinned })),
    tile(t("tile.given"), number(injections.given), t("tile.events", { filled: injections.filled, events: injections.events })),
    tile(t("tile.used"), share, t("tile.judged", { n: injections.judged })),
    tile(t("tile.prompt"), t("ms", { ms: number(injections.prompt.p50_ms, 1) }), t("tile.p95", { ms: number(injections.prompt.p95_ms, 1) })),
    tile(t("tile.spent"), dollars(extraction.usd), t("tile.calls", { n: extraction.calls })));
}

function charts({ by_day: found }, receipts, days) {
  const names = lastDays(days);
  const known = new Map(found.map((day) => [day.day, day]));
  const values = (field) => names.map((name) => known.get(name)?.[field] ?? 0);
  const points = receipts.map((receipt) => ({
    at: Date.parse(receipt.at), value: receipt.ms, label: `${local(receipt.at)} · ${t("ms", { ms: number(receipt.ms, 1) })}`,
  }));
  if (found.length === 0 && points.length === 0) return emptiness(t("empty.insights"), t("empty.insights.text"));
  return h("div", { class: "charts" },
    bars(t("chart.memories"), names, [{ name: t("chart.added"), values: values("added") }]),
    bars(t("chart.injections"), names, [{ name: t("chart.given"), values: values("given") }, { name: t("chart.used"), values: values("used") }]),
    bars(t("chart.spend"), names, [{ name: t("chart.usd"), values: values("usd") }], dollars),
    points.length > 0 && dots(t("chart.latency"), t("chart.ms"), points, (value) => t("ms", { ms: number(value, value < 1 ? 1 : 0) })));
}
