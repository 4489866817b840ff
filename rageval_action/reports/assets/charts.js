/* Charts: each a figure with a caption, a key in words, and the same numbers as a table for those who cannot see it. */
"use strict";
const h = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
};

const WIDTH = Math.min(560, Math.max(300, document.documentElement.clientWidth - 70));
const COLOURS = { base: "var(--base)", pr: "var(--pr)", worse: "var(--worse)", better: "var(--better)", unclear: "var(--unclear)", same: "var(--base)" };

function tableOf(head, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the chart" },
    h("table", {}, h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, String(cell))))))));
}

function figure(title, note, keys, plot, head, rows) {
  plot.querySelectorAll("[aria-label], [aria-description]").forEach((part) => { part.removeAttribute("aria-label"); part.removeAttribute("aria-description"); });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${title}. ${note}`);
  return h("figure", {}, h("figcaption", {}, title), note ? h("p", { class: "soft small", style: "margin:.1rem 0" }, note) : null,
    keys.length ? h("div", { class: "keys" }, keys.map(([name, colour]) => h("span", {}, h("i", { style: `background:${colour}` }), name))) : null,
    plot, h("details", {}, h("summary", {}, "The numbers"), tableOf(head, rows)));
}

/* A lone value has no neighbour that says how many decimals it needs: two to four. */
const tick = (score) => score.toFixed(4).replace(/0{1,2}$/, "");

const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const bothKeys = (compared) => (compared ? [["base", COLOURS.base], ["this pull request", COLOURS.pr]] : []);
/* Rounds as `numbers.fixed` does: halves away from zero, what is only the noise of binary fractions dropped first. */
function fixed(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  const size = Math.round(Number((Math.abs(value) * 10 ** digits).toPrecision(12)));
  return `${value < 0 && size ? "−" : ""}${(size / 10 ** digits).toFixed(digits)}`;
}

function curveChart(page) {
  const { before, after } = page.curve;
  if (after.length < 2) return null;
  const points = (values, side) => values.map((value, at) => ({ k: at + 1, value, side }));
  const marks = [
    Plot.gridY({ stroke: "currentColor", strokeOpacity: 0.12 }),
    Plot.ruleX([page.k], { stroke: "currentColor", strokeOpacity: 0.5, strokeDasharray: "3 3" }),
    Plot.text([{ k: page.k }], { x: "k", frameAnchor: "bottom", text: () => `k = ${page.k}`, dx: 6, dy: -6, textAnchor: "start", fill: "currentColor" }),
    before.length ? Plot.line(points(before, "base"), { x: "k", y: "value", stroke: COLOURS.base, strokeWidth: 2 }) : null,
    Plot.line(points(after, "pr"), { x: "k", y: "value", stroke: COLOURS.pr, strokeWidth: 2.5 }),
  ];
  const plot = Plot.plot({ width: WIDTH, height: 280, marginLeft: 48, x: { label: "k", type: "log", ticks: [1, 2, 3, 5, 10, 20, 50].filter((k) => k <= after.length), tickFormat: String }, y: { domain: [0, 1], label: "recall@k" }, marks });
  const ks = after.map((_, at) => at + 1).filter((k) => k <= 10 || k % 10 === 0);
  return figure("Recall by k", "Share of what should be found within the first k results.", bothKeys(before.length > 0), plot,
    ["k", "base", "this pull request"], ks.map((k) => [k, fixed(before[k - 1]), fixed(after[k - 1])]));
}

function slicesChart(view) {
  const rows = [...view.measures.filter((row) => row.headline && row.delta), ...view.slices].slice(0, 40)
    .map((row) => ({ ...row, name: row.slice || "all queries", change: row.after_value - row.before_value }));
  if (rows.length < 2) return null;
  const short = (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name);
  const points = (value) => 100 * value;
  const plot = Plot.plot({
    width: WIDTH, height: 46 + 24 * rows.length, marginLeft: Math.min(175, WIDTH * 0.36), marginRight: 16,
    x: { label: "change in points, with its 95 % interval", grid: true, nice: true },
    y: { domain: rows.map((row) => row.name), label: null, tickFormat: short, tickSize: 0 },
    marks: [
      Plot.ruleX([0], { stroke: "currentColor", strokeOpacity: 0.6 }),
      Plot.ruleY(rows, { y: "name", x1: (row) => points(row.low), x2: (row) => points(row.high), stroke: (row) => COLOURS[row.tone], strokeWidth: 2 }),
      Plot.dot(rows, { y: "name", x: (row) => points(row.change), fill: (row) => COLOURS[row.tone], r: 4 }),
    ],
  });
  return figure(`${view.headline} by slice`, "An interval that crosses zero cannot tell the direction. Largest drop first.",
    [["worse", COLOURS.worse], ["better", COLOURS.better], ["cannot tell", COLOURS.unclear], ["no drop", COLOURS.same]], plot,
    ["slice", "queries", "base", "this pull request", "change", "95 % interval", "reading"],
    rows.map((row) => [row.name, row.n, row.before, row.after, row.delta, row.interval, row.reading]));
}

function histogram(title, note, label, before, after, thresholds) {
  if (after.length < 2) return null;
  const bins = d3.bin().domain(d3.extent([...before, ...after])).thresholds(thresholds);
  const share = (values) => { const found = bins(values); return found.map((bin) => ({ x0: bin.x0, x1: bin.x1, share: bin.length / values.length, count: bin.length })); };
  const now = share(after), then = before.length ? share(before) : [];
  const plot = Plot.plot({
    width: WIDTH, height: 240, marginLeft: 52, x: { label, nice: true, inset: 3 }, y: { label: "share of queries", percent: true, grid: true },
    marks: [
      Plot.rectY(now, { x1: "x0", x2: "x1", y: "share", fill: COLOURS.pr, fillOpacity: 0.55, insetLeft: 0.5, insetRight: 0.5 }),
      then.length ? Plot.rectY(then, { x1: "x0", x2: "x1", y: "share", stroke: COLOURS.base, strokeWidth: 2, fill: "none" }) : null,
      Plot.ruleY([0], { stroke: "currentColor" }),
    ],
  });
  return figure(title, note, bothKeys(then.length > 0), plot, ["from", "to", "base", "this pull request"],
    now.map((bin, at) => [fixed(bin.x0, 2), fixed(bin.x1, 2), then[at] ? then[at].count : "–", bin.count]));
}

function moveChart(queries) {
  const edges = [["out", "out of the ranking"], [-20, "20 or more down"], [-10, "10 to 19 down"], [-5, "5 to 9 down"], [-2, "2 to 4 down"], [-1, "1 down"], [0, "no change"], [1, "1 up"], [2, "2 to 4 up"], [5, "5 to 9 up"], [10, "10 to 19 up"], [20, "20 or more up"], ["in", "into the ranking"]];
  const counts = new Map(edges.map(([key]) => [key, 0]));
  let all = 0;
  queries.id.forEach((_, at) => {
    const [old, now] = [queries.before[at], queries.after[at]];
    if (queries.base[at] === null || queries.score[at] === null || (!old && !now)) return;
    all += 1;
    const up = old - now, size = Math.abs(up);
    const key = !now ? "out" : !old ? "in" : up === 0 ? 0 : Math.sign(up) * (size >= 20 ? 20 : size >= 10 ? 10 : size >= 5 ? 5 : size >= 2 ? 2 : 1);
    counts.set(key, counts.get(key) + 1);
  });
  if (!all) return null;
  const tone = (key) => (key === 0 ? COLOURS.same : key === "in" || key > 0 ? COLOURS.better : COLOURS.worse);
  const rows = edges.map(([key, name]) => ({ name, count: counts.get(key), colour: tone(key) }));
  const plot = Plot.plot({
    width: WIDTH, height: 320, marginLeft: 130, x: { label: "queries", grid: true }, y: { domain: rows.map((row) => row.name), label: null, tickSize: 0 },
    marks: [Plot.barX(rows, { x: "count", y: "name", fill: "colour" }), Plot.text(rows, { x: "count", y: "name", text: (row) => (row.count ? String(row.count) : ""), dx: 5, textAnchor: "start", fill: "currentColor" }), Plot.ruleX([0], { stroke: "currentColor" })],
  });
  return figure("Rank changes", "Where the item each query is about went, of the queries that ranked it on either side.", [], plot, ["change", "queries"], rows.map((row) => [row.name, row.count]));
}

function scoresChart(values, threshold) {
  if (!values.length) return null;
  const plot = Plot.plot({
    width: WIDTH, height: 130, x: { label: "score of the best hit", grid: true, tickFormat: tick },
    marks: [Plot.dotX(values, Plot.dodgeY({ x: "score", fill: (d) => (threshold !== null && d.score >= threshold ? COLOURS.worse : COLOURS.pr), r: 4 })),
      threshold !== null ? Plot.ruleX([threshold], { stroke: "currentColor", strokeDasharray: "4 3" }) : null],
  });
  return figure("Unanswerable queries", threshold === null ? "No threshold was given, so nothing is judged." : `Each dot is a query; those at or above ${threshold} (dashed) return something where nothing should come.`,
    [], plot, ["query", "score of the best hit"], values.map((d) => [d.id, fixed(d.score, 4)]));
}
