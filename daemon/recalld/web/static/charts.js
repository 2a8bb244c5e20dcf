/**
 * Bar and dot charts as inline SVG; each has a sentence that says the same and a table with its numbers.
 */
import { h, svg } from "./dom.js";
import { formatter, number, t } from "./i18n.js";
import { local } from "./time.js";

const WIDTH = 460;
const HEIGHT = 190;
const LEFT = 46;
const BOTTOM = 24;
const TOP = 10;

/**
 * Bars by day. days: "2026-01-31", ... series: [{name, values}], drawn beside each other in the colours 1, 2, 3.
 * format: how a value is written.
 */
export function bars(title, days, series, format = number) {
  const most = nice(Math.max(...series.flatMap(({ values }) => values), 0));
  const step = (WIDTH - LEFT) / days.length;
  const width = Math.max(0.8, Math.min(18, (step * 0.74) / series.length));
  const drawn = series.flatMap(({ name, values }, place) => values.map((value, at) => {
    if (!value) return null;
    const height = Math.max(1.5, (value / most) * (HEIGHT - BOTTOM - TOP));
    const x = LEFT + at * step + (step - width * series.length) / 2 + place * width;
    const size = { x, y: HEIGHT - BOTTOM - height, width: width * 0.92, height, rx: Math.min(2.5, width / 3) };
    return svg("rect", { class: `bar c${place + 1}`, ...size },
      svg("title", {}, `${shortDay(days[at])} · ${name}: ${format(value)}`));
  }));
  return chart(title, series, [...grid(most, format), ...dayLabels(days, step), ...drawn], table(days.map(shortDay), series, format));
}

/** Dots over time on a logarithmic scale, as for latencies. points: [{at: ms of the epoch, value, label}] */
export function dots(title, name, points, format) {
  const values = points.map(({ value }) => Math.max(value, 0.1));
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values) * 1.01))];
  const first = Math.min(...points.map(({ at }) => at));
  const span = Math.max(1, Math.max(...points.map(({ at }) => at)) - first);
  const y = (value) => HEIGHT - BOTTOM - ((Math.log10(value) - low) / Math.max(1, high - low)) * (HEIGHT - BOTTOM - TOP);
  const lines = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  const marks = [
    ...lines.flatMap((value) => line(y(value), format(value))),
    label(LEFT, new Date(first), "start"), label(WIDTH, new Date(first + span), "end"),
    ...points.map(({ at, value, label: said }) => {
      const cx = LEFT + 4 + ((at - first) / span) * (WIDTH - LEFT - 8);
      return svg("circle", { class: "dot c1", cx, cy: y(Math.max(value, 0.1)), r: 3 }, svg("title", {}, said));
    }),
  ];
  const rows = points.slice(0, 50).map(({ at }) => local(at));
  return chart(title, [{ name, values }], marks, table(rows, [{ name, values: values.slice(0, 50) }], format));
}

function chart(title, series, marks, numbers) {
  const total = ({ name, values }) => `${name}: ${number(values.reduce((sum, value) => sum + value, 0), 0)}`;
  return h("figure", { class: "chart" },
    h("figcaption", {}, h("h2", {}, title), series.length > 1 && h("p", { class: "legend" },
      series.map(({ name }, at) => h("span", { class: `key c${at + 1}` }, name)))),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${series.map(total).join(", ")}` }, marks),
    h("details", {}, h("summary", {}, t("chart.table")),
      h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": title }, numbers)));
}

function table(names, series, format) {
  const filled = names.map((name, at) => [name, ...series.map(({ values }) => values[at])]).filter(([, ...values]) => values.some(Boolean));
  return h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("chart.when")), series.map(({ name }) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, filled.toReversed().map(([name, ...values]) =>
      h("tr", {}, h("th", { scope: "row" }, name), values.map((value) => h("td", {}, format(value)))))));
}

const grid = (most, format) => [0, 0.5, 1].flatMap((part) => line(HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP), format(most * part)));

const line = (y, text) => [
  svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y, y2: y }),
  svg("text", { class: "axis", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, text),
];

function dayLabels(days, step) {
  const every = Math.ceil(days.length / 5);
  return days.map((name, at) => at % every === 0 &&
    svg("text", { class: "axis", x: LEFT + (at + 0.5) * step, y: HEIGHT - 6, "text-anchor": "middle" }, shortDay(name)));
}

const label = (x, at, anchor) => svg("text", { class: "axis", x, y: HEIGHT - 6, "text-anchor": anchor },
  dayOf(at));

const shortDay = (name) => dayOf(new Date(`${name}T12:00`));

const dayOf = (at) => formatter(Intl.DateTimeFormat, { month: "short", day: "numeric" }).format(at);

/** The next even number above, so that the lines of the grid fall on plain values. */
function nice(most) {
  if (most <= 0) return 2;
  const power = 10 ** Math.floor(Math.log10(most));
  const factors = power === 1 ? [2, 4, 6, 8, 10] : [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10];
  return power * factors.find((factor) => factor * power >= most);
}
