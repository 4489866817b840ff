/* Trends over records: a large chart of the headline, small ones of the rest, marks where something changed. */
"use strict";
(() => {
  const told = JSON.parse(document.getElementById("data").textContent);
  const body = (id) => document.querySelector(`#${id} .body`);
  const dates = told.dates.map((text) => new Date(text));
  const place = new Map(told.runs.map((run, at) => [run, at]));
  const KINDS = { release: "var(--better)", "golden set": "var(--worse)", model: "var(--pr)", chunker: "var(--unclear)", corpus: "var(--base)", retriever: "var(--link)", policy: "var(--soft)" };
  const points = (series) => series.values.map((value, at) => ({ date: dates[at], at, value })).filter((point) => point.value !== null);
  const named = (series) => (series.slice ? `${series.measure} of ${series.slice}` : series.measure);

  function verdict() {
    const alarm = told.sentences.length > 0;
    document.getElementById("verdict").append(h("div", { class: `verdict ${alarm ? "warning" : told.calm.kind}` },
      h("p", { class: "word" }, alarm ? "Creeping" : told.calm.word),
      h("h1", { id: "verdict-title" }, alarm ? "Retrieval is creeping down." : told.calm.title),
      alarm ? h("ul", {}, told.sentences.map((text) => h("li", {}, `${text}.`))) : h("p", {}, told.calm.text)));
  }

  function chart(series, wide) {
    const rows = points(series);
    if (rows.length < 2) return null;
    const creep = told.creep.find((one) => one.measure === series.measure && one.slice === series.slice);
    const marks = told.marks.map((mark) => ({ ...mark, date: dates[place.get(mark.run_id)] }));
    const width = wide ? Math.min(1120, document.documentElement.clientWidth - 70) : WIDTH;
    const plot = Plot.plot({
      width, height: wide ? 320 : 170, marginLeft: 52, x: { type: "utc", label: null }, y: { label: "score", grid: true, nice: true, zero: false, tickFormat: tick },
      marks: [
        Plot.ruleX(wide ? marks : [], { x: "date", stroke: (mark) => KINDS[mark.kind], strokeOpacity: 0.55, strokeDasharray: "3 3" }),
        creep ? Plot.rectY([creep], { x1: () => dates[place.get(creep.since)], x2: () => dates[place.get(creep.now)], y1: creep.after, y2: creep.before, fill: "var(--worse)", fillOpacity: 0.12 }) : null,
        Plot.line(rows, { x: "date", y: "value", stroke: COLOURS.pr, strokeWidth: 1.8 }),
        rows.length <= 120 ? Plot.dot(rows, { x: "date", y: "value", fill: COLOURS.pr, r: wide ? 2.8 : 1.8 }) : null,
      ],
    });
    const last = rows[rows.length - 1], best = rows.reduce((found, row) => (row.value > found.value ? row : found));
    const note = `Now ${fixed(last.value)}; ${told.highest[told.series.indexOf(series)]} ${fixed(best.value)} at ${told.names[best.at]}.`;
    const kinds = wide ? [...new Set(told.marks.map((mark) => mark.kind))].map((kind) => [kind, KINDS[kind]]) : [];
    return figure(named(series), note, kinds, plot, ["record", "date", "score"], rows.slice(-200).map((row) => [told.names[row.at], told.dates[row.at].slice(0, 10), fixed(row.value)]));
  }

  function slices(series) {
    if (!series.length) { body("slices").append(h("p", { class: "none" }, "No slice.")); return; }
    const rows = series.map((one) => { const found = points(one); const best = d3.max(found, (row) => row.value), now = found.length ? found[found.length - 1].value : null; return { one, best, now, fall: best - now }; }).filter((row) => row.now !== null).sort((a, b) => b.fall - a.fall);
    const shown = h("div", { class: "charts" });
    const pick = (row) => { shown.replaceChildren(chart(row.one, true) || ""); };
    body("slices").append(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Slices" }, h("table", {}, h("thead", {}, h("tr", {}, ["slice", "now", "best", "below its best"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, h("button", { type: "button", onclick: () => pick(row) }, row.one.slice)), h("td", {}, fixed(row.now)), h("td", {}, fixed(row.best)), h("td", {}, fixed(row.fall))))))), shown);
    if (rows.length) pick(rows[0]);
  }

  function records(headline) {
    const marks = d3.group(told.marks, (mark) => mark.run_id);
    const rows = told.runs.map((run, at) => [told.names[at], told.dates[at].slice(0, 16).replace("T", " "), fixed(headline ? headline.values[at] : null), (marks.get(run) || []).map((mark) => `${mark.kind}: ${mark.text}`).join("; ") || "–"]).reverse();
    body("records").append(tableOf(["record", "date", told.headline, "what changed"], rows.slice(0, 500)), rows.length > 500 ? h("p", { class: "soft" }, `${counted(rows.length - 500, "older record is", "older records are")} in the JSON.`) : "");
  }

  const whole = told.series.filter((series) => !series.slice);
  verdict();
  body("trend").append(whole.length ? chart(whole[0], true) || "" : "");
  body("measures").append(...whole.slice(1).map((series) => chart(series, false)).filter(Boolean));
  slices(told.series.filter((series) => series.slice));
  records(whole[0]);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
