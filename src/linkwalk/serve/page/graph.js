// Graph: what the wiki that is loaded looks like: figures, degrees, path lengths, which snapshot.

import * as api from "./api.js";
import { columns, scatter } from "./charts.js";
import { bdi, count, h, notice, waiting } from "./dom.js";

const number = (value, digits = 0) => value.toLocaleString("en", { maximumFractionDigits: digits });

export function enter(root, { title }) {
  const asking = new AbortController();
  async function load() {
    root.replaceChildren(waiting("Counting …"));
    try {
      root.replaceChildren(...show(await api.graph(asking.signal)));
    } catch (error) {
      if (error.name !== "AbortError") root.replaceChildren(notice(error.message, load));
    }
  }
  load();
  return {
    update() {
      title("Graph");
    },
    leave() {
      asking.abort();
    },
  };
}

function show(graph) {
  const links = graph.links,
    all = Object.values(links).reduce((sum, many) => sum + many, 0);
  const paths = graph.path_lengths;
  const figure = (value, words, note) =>
    h("div", null, h("dt", null, words, note ? h("small", null, note) : null), h("dd", null, value));
  return [
    h(
      "div",
      { class: "intro" },
      h(
        "div",
        null,
        h("h1", null, bdi(graph.name)),
        h(
          "p",
          null,
          graph.date ? `Snapshot of ${graph.date}. ` : "",
          "A block is a paragraph or a little more; links lead from block to block.",
        ),
      ),
    ),
    h(
      "dl",
      { class: "figures" },
      figure(number(graph.articles), "articles"),
      figure(
        number(graph.blocks),
        "blocks",
        graph.words_per_node ? `${number(graph.words_per_node)} words each` : "",
      ),
      figure(number(all), "steps from block to block", `${number(all / graph.blocks, 1)} from each`),
      figure(number(links.link), "links in the text"),
      figure(number(links.entity), "mentions linked", "of articles the text names"),
      links.contents ? figure(number(links.contents), "steps up and down", "in the contents") : null,
      links.backlink ? figure(number(links.backlink), "links back") : null,
      figure(
        number(paths.median, 1),
        "clicks between two blocks",
        `median; ${number(paths.mean, 1)} on average`,
      ),
    ),
    h(
      "div",
      { class: "charts" },
      scatter({
        name: "Degrees",
        x: "links of a block",
        y: "blocks",
        series: [
          {
            words: "Links out",
            kind: "out",
            points: graph.degree.out.filter(([value, many]) => value > 0 && many > 0),
          },
          {
            words: "Links in",
            kind: "in",
            points: graph.degree.in.filter(([value, many]) => value > 0 && many > 0),
          },
        ],
      }),
      columns({
        name: "Path lengths",
        x: "clicks on the shortest path",
        y: "pairs of blocks",
        bars: paths.histogram.filter(([length]) => length > 0),
        median: paths.median,
        describe: (length, share) =>
          `${(100 * share).toFixed(share < 0.001 ? 3 : 1)}% of pairs are ${count(length, "click")} apart`,
      }),
    ),
    graph.paper ? beside(graph, all) : null,
  ].filter(Boolean);
}

/** This wiki's figures next to those of the snapshots in the paper. */
function beside(graph, all) {
  const rows = [
    ["articles", graph.articles, "articles"],
    ["blocks", graph.blocks, "nodes"],
    ["steps from block to block", all, "edges"],
    ["words in a block", graph.words_per_node, "words_per_node"],
    ["clicks between two blocks, median", graph.path_lengths.median, "median_path_length"],
  ];
  const years = Object.keys(graph.paper);
  const large = (value) => (value >= 1e6 ? `${number(value / 1e6, 2)} M` : number(value));
  return h(
    "section",
    { class: "panel", "aria-label": "Beside the paper" },
    h("h2", { class: "title" }, "Compared with the paper’s Wikipedia"),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": "Figures beside the paper's" },
      h(
        "table",
        { class: "compared" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td"),
            h("th", { scope: "col" }, "this wiki"),
            years.map((year) => h("th", { scope: "col" }, `Wikipedia ${year}`)),
          ),
        ),
        h(
          "tbody",
          null,
          rows.map(([words, mine, field]) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, words),
              h("td", null, large(mine)),
              years.map((year) => h("td", null, large(graph.paper[year][field]))),
            ),
          ),
        ),
      ),
    ),
  );
}
