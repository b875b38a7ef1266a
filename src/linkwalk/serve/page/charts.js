// Two charts in SVG: points on logarithmic axes, and columns. Each tells its values to mouse and keyboard, and in a table.

import { count, h, move, s } from "./dom.js";

const LEFT = 52,
  RIGHT = 12,
  TOP = 14,
  BOTTOM = 44;

/** Letters keep their size: on a phone the chart itself is smaller. */
const size = () => (matchMedia("(max-width: 640px)").matches ? [330, 250] : [560, 300]);

/** Points (value, count) of one or two series on two logarithmic axes. */
export function scatter({ name, series, x, y }) {
  const [wide, high] = size();
  const all = series.flatMap((one) => one.points);
  const right = Math.max(1, Math.ceil(Math.log10(Math.max(...all.map(([value]) => value), 2)) * 4) / 4);
  const up = Math.max(1, Math.ceil(Math.log10(Math.max(...all.map(([, many]) => many), 2)) * 4) / 4);
  const px = (value) => LEFT + (Math.log10(value) / right) * (wide - LEFT - RIGHT);
  const py = (many) => high - BOTTOM - (Math.log10(many) / up) * (high - TOP - BOTTOM);
  const marks = [];
  const points = series.flatMap((one) =>
    one.points.map(([value, many]) => {
      const have = count(many, "block has", "blocks have");
      const words = `${one.words}: ${have} ${value.toLocaleString("en")}`;
      const mark = s("circle", { class: `point ${one.kind}`, cx: px(value), cy: py(many), r: 3.6 });
      marks.push({ mark, words, x: px(value), y: py(many) });
      return mark;
    }),
  );
  return frame({
    name,
    x,
    y,
    marks,
    drawn: points,
    legend: series,
    ticksX: decades(right).map((value) => ({ at: px(value), words: short(value) })),
    ticksY: decades(up).map((value) => ({ at: py(value), words: short(value) })),
    table: { head: [x, ...series.map((one) => one.words)], rows: joined(series) },
  });
}

/** Columns of shares, with a line at the median. */
export function columns({ name, bars, x, y, median, describe }) {
  const [wide, high] = size();
  const most = Math.max(...bars.map(([, share]) => share), 1e-9);
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5].find((size) => most / size <= 5) ?? 0.5;
  const top = Math.ceil(most / step - 1e-9) * step;
  const slot = (wide - LEFT - RIGHT) / bars.length;
  const first = bars[0]?.[0] ?? 0;
  const px = (value) => LEFT + (value - first + 0.5) * slot;
  const py = (share) => high - BOTTOM - (share / top) * (high - TOP - BOTTOM);
  const marks = [];
  const drawn = bars.map(([value, share]) => {
    const gap = slot < 6 ? 0 : Math.min(6, slot * 0.18);
    const mark = s("rect", {
      class: "bar",
      x: px(value) - slot / 2 + gap / 2,
      width: Math.max(1, slot - gap),
      y: py(share),
      height: Math.max(0.5, high - BOTTOM - py(share)),
      rx: Math.min(3, slot / 4),
    });
    marks.push({ mark, words: describe(value, share), x: px(value), y: py(share) });
    return mark;
  });
  const every = [1, 2, 5, 10, 20, 50, 100, 200].find((step) => bars.length / step <= wide / 36) ?? 500;
  const middle =
    median === null || median === undefined
      ? []
      : [
          s("line", { class: "median", x1: px(median), x2: px(median), y1: TOP, y2: high - BOTTOM }),
          s(
            "text",
            { class: "median", x: px(median) + 6, y: TOP + 10 },
            `median ${median.toLocaleString("en")}`,
          ),
        ];
  return frame({
    name,
    x,
    y,
    marks,
    drawn: [...drawn, ...middle],
    legend: [],
    ticksX: bars
      .filter(([value]) => value % every === 0)
      .map(([value]) => ({ at: px(value), words: String(value) })),
    ticksY: Array.from({ length: Math.round(top / step) + 1 }, (_, i) => ({
      at: py(i * step),
      words: `${Math.round(100 * i * step)}%`,
    })),
    table: { head: [x, y], rows: bars.map(([value, share]) => [value, `${(100 * share).toFixed(2)}%`]) },
  });
}

function frame({ name, x, y, ticksX, ticksY, drawn, marks, legend, table }) {
  const [wide, high] = size();
  const base = high - BOTTOM;
  const cursor = s("circle", { class: "cursor", r: 7, visibility: "hidden" });
  const tip = h(
    "p",
    { class: "tip", role: "status" },
    "Point at the chart, or focus it and use the arrow keys.",
  );
  const svg = s(
    "svg",
    {
      viewBox: `0 0 ${wide} ${high}`,
      role: "img",
      "aria-label": `${name}. The table below holds its values.`,
      tabindex: "0",
      class: "chart",
    },
    ticksY.map(({ at, words }) => [
      s("line", { class: "grid", x1: LEFT, x2: wide - RIGHT, y1: at, y2: at }),
      s("text", { class: "tick", x: LEFT - 8, y: at + 4, "text-anchor": "end" }, words),
    ]),
    ticksX.map(({ at, words }) =>
      s("text", { class: "tick", x: at, y: base + 18, "text-anchor": "middle" }, words),
    ),
    s("line", { class: "axis", x1: LEFT, x2: wide - RIGHT, y1: base, y2: base }),
    s("text", { class: "name", x: (LEFT + wide - RIGHT) / 2, y: high - 6, "text-anchor": "middle" }, x),
    s(
      "text",
      { class: "name", x: -(TOP + base) / 2, y: 12, transform: "rotate(-90)", "text-anchor": "middle" },
      y,
    ),
    drawn,
    cursor,
  );
  let active = -1;
  const show = (i) => {
    active = i;
    const { x: cx, y: cy, words } = marks[i];
    cursor.setAttribute("cx", cx);
    cursor.setAttribute("cy", cy);
    cursor.setAttribute("visibility", "visible");
    tip.textContent = words;
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = [
      (event.clientX - box.left) * (wide / box.width),
      (event.clientY - box.top) * (high / box.height),
    ];
    let best = 0,
      least = Infinity;
    marks.forEach((mark, i) => {
      const far = (mark.x - at[0]) ** 2 * 4 + (mark.y - at[1]) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    if (marks.length) show(best);
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !marks.length) return;
    event.preventDefault();
    show((active + step + marks.length + (active < 0 && step < 0 ? 1 : 0)) % marks.length);
  });
  marks.forEach(({ mark }, i) =>
    move(
      mark,
      mark.tagName === "rect"
        ? [{ transform: "scaleY(0)" }, { transform: "none" }]
        : [{ opacity: 0 }, { opacity: 1 }],
      { duration: 420, delay: Math.min(i * 12, 400), fill: "backwards" },
    ),
  );
  return h(
    "figure",
    { class: "panel figure-box" },
    h(
      "figcaption",
      null,
      h("h2", null, name),
      legend.length > 1
        ? h(
            "p",
            { class: "legend" },
            legend.map((one) => h("span", { class: one.kind }, h("i", { "aria-hidden": "true" }), one.words)),
          )
        : null,
    ),
    svg,
    tip,
    h(
      "details",
      null,
      h("summary", null, "The values as a table"),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": `${name}: values` },
        h(
          "table",
          null,
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              table.head.map((cell) => h("th", { scope: "col" }, cell)),
            ),
          ),
          h(
            "tbody",
            null,
            table.rows.map(([head, ...cells]) =>
              h(
                "tr",
                null,
                h("th", { scope: "row" }, head.toLocaleString("en")),
                cells.map((cell) => h("td", null, String(cell))),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

const decades = (top) => Array.from({ length: Math.floor(top + 1e-9) + 1 }, (_, i) => 10 ** i);

const short = (value) =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value);

function joined(series) {
  const rows = new Map();
  series.forEach((one, i) =>
    one.points.forEach(([value, many]) => {
      if (!rows.has(value))
        rows.set(
          value,
          series.map(() => "0"),
        );
      rows.get(value)[i] = many.toLocaleString("en");
    }),
  );
  return [...rows].sort(([a], [b]) => a - b).map(([value, counts]) => [value, ...counts]);
}
