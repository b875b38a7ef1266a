// Pictures that are only there to be looked at: icons, and the little map beside a view's first words.

import { move, s } from "./dom.js";

const PATHS = {
  first: "M12 6l-6 6 6 6M19 6l-6 6 6 6",
  before: "M15 6l-6 6 6 6",
  after: "M9 6l6 6-6 6",
  last: "M5 6l6 6-6 6M12 6l6 6-6 6",
  play: "M8 5.500v13l11-6.500z",
  pause: "M8.500 6v12M15.500 6v12",
  again: "M5 12a7 7 0 1 0 2.500-5.400M7 3v4h4",
};

/** An icon; what it means must be said beside it. */
export const icon = (name) =>
  s(
    "svg",
    { viewBox: "0 0 24 24", class: `icon ${name}`, "aria-hidden": "true" },
    s("path", { d: PATHS[name] }),
  );

const WIDE = 400,
  HIGH = 250;

/** A map of pages and links, and on it one way, or two, along the links from a start to a goal. */
export function map(ways) {
  const points = scattered(46);
  const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  const links = points.map(() => new Set());
  points.forEach((a, i) =>
    points
      .map((_, j) => j)
      .sort((j, k) => far(a, points[j]) - far(a, points[k]))
      .slice(1, 4)
      .forEach((j) => {
        links[i].add(j);
        links[j].add(i);
      }),
  );
  const closest = (spot) =>
    points.reduce((best, p, i) => (far(p, spot) < far(points[best], spot) ? i : best), 0);
  const routes = ways.map((spots, number) => {
    const ends = spots.map(closest);
    const stops = [ends[0], ...ends.slice(1).flatMap((to, i) => between(links, ends[i], to))].map(
      (i) => points[i],
    );
    const line = s("polyline", {
      class: `way way${number}`,
      points: stops.map((p) => p.join(",")).join(" "),
      pathLength: 1,
    });
    if (!number)
      move(line, [{ strokeDasharray: "0 1" }, { strokeDasharray: "1 1" }], {
        duration: 1800,
        easing: "ease-in-out",
      });
    const dots = stops.slice(1, -1).map(([cx, cy]) => s("circle", { class: `way${number}`, cx, cy, r: 4.5 }));
    if (!number)
      dots.forEach((dot, i) =>
        move(dot, [{ opacity: 0 }, { opacity: 1 }], {
          delay: (1800 * (i + 1)) / stops.length,
          fill: "backwards",
          duration: 200,
        }),
      );
    return [
      line,
      dots,
      s("circle", { class: "end", cx: stops[0][0], cy: stops[0][1], r: 6 }),
      s("circle", { class: "aim", cx: stops.at(-1)[0], cy: stops.at(-1)[1], r: 7 }),
    ];
  });
  const lines = links.flatMap((row, i) =>
    [...row]
      .filter((j) => j > i)
      .map((j) => s("line", { x1: points[i][0], y1: points[i][1], x2: points[j][0], y2: points[j][1] })),
  );
  return s(
    "svg",
    { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "map", "aria-hidden": "true" },
    s("g", { class: "links" }, lines),
    s(
      "g",
      { class: "points" },
      points.map(([cx, cy]) => s("circle", { cx, cy, r: 2.6 })),
    ),
    routes.reverse(),
  );
}

/** The points on a shortest path, without the first. */
function between(links, from, to) {
  const before = new Map([[from, null]]);
  for (const i of before.keys()) {
    for (const j of links[i]) if (!before.has(j)) before.set(j, i); // read on: a Map gives its keys as it grows
  }
  const path = [];
  for (let i = to; before.has(i) && i !== from; i = before.get(i)) path.unshift(i);
  return path;
}

/** Points spread evenly, always the same: a grid, each moved a little. */
function scattered(many) {
  let state = 20;
  const chance = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const across = Math.round(Math.sqrt((many * WIDE) / HIGH)),
    down = Math.round(many / across);
  return Array.from({ length: across * down }, (_, i) => [
    Math.round(((i % across) + 0.5 + (chance() - 0.5) * 0.85) * (WIDE / across)),
    Math.round((Math.floor(i / across) + 0.5 + (chance() - 0.5) * 0.85) * (HIGH / down)),
  ]);
}

export const WAYS = {
  agent: [
    [20, 220],
    [125, 130],
    [380, 20],
  ],
  person: [
    [20, 220],
    [290, 200],
    [380, 20],
  ],
  read: [
    [20, 100],
    [330, 80],
  ],
};
