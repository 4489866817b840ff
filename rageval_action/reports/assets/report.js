/* Fills the page from the data in it. Text is only ever set as text, never as markup. */
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const { view, queries: q, names } = page;
  const body = (id) => document.querySelector(`#${id} .body`);
  const none = (text) => h("p", { class: "none" }, text);
  const dialog = document.getElementById("query");
  const SIGNS = { worse: "▼", better: "▲", same: "=", unclear: "?", changed: "≠" };

  function verdict() {
    const kind = view.alert.toLowerCase();
    document.getElementById("verdict").append(
      h("div", { class: `verdict ${kind}` }, h("p", { class: "word" }, `Verdict: ${view.verdict.replace("_", " ")} (exit code ${view.exit_code})`),
        h("h1", { id: "verdict-title" }, `${view.title}.`), h("p", {}, view.sentence), view.also.length ? h("ul", {}, view.also.map((text) => h("li", {}, text))) : null,
        view.hardest ? h("p", {}, view.hardest) : null, view.overridden ? h("p", {}, view.overridden) : null),
      h("div", { class: "facts" },
        h("div", {}, h("h3", {}, "Baseline"), h("p", { style: "margin:0" }, view.baseline_sha ? [h("code", {}, view.baseline_sha.slice(0, 12)), ": "] : null, view.baseline), view.power ? h("p", { class: "soft" }, view.power) : null),
        h("div", {}, h("h3", {}, "What changed"), view.changed.length || view.caveats.length ? h("ul", {}, view.changed.map((change) => h("li", {}, `${change.name}: ${change.before} → `, h("strong", {}, change.after))), view.caveats.map((text) => h("li", {}, `⚠ ${text}`)), view.unchanged.length ? h("li", { class: "soft" }, `unchanged: ${view.unchanged.join(", ")}`) : null) : h("p", { style: "margin:0" }, view.unchanged.length ? `Nothing: the same ${view.unchanged.join(", ")}.` : "There is nothing to compare with."))));
  }

  function measureTable(rows, first) {
    const head = view.compared ? [first, "queries", "base", "this PR", "change", "95 % interval", "worse / better", "reading"] : [first, "queries", "score"];
    const row = (line) => view.compared
      ? [line.slice || line.measure, line.n, line.before, line.after, line.delta, line.interval, line.counts, h("span", { class: `tone-${line.tone}` }, `${SIGNS[line.tone] || ""} ${line.reading}`, line.note ? h("span", { class: "soft small" }, ` (${line.note})`) : null)]
      : [line.measure, line.n, line.after];
    const numeric = view.compared ? [1, 2, 3, 4, 5] : [1, 2];
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Scores by ${first}` }, h("table", {},
      h("thead", {}, h("tr", {}, head.map((name, at) => h("th", { scope: "col", class: numeric.includes(at) ? "num" : null }, name)))),
      h("tbody", {}, rows.map((line) => h("tr", { class: line.headline ? "headline" : null }, row(line).map((cell, at) => h("td", { class: numeric.includes(at) ? "num" : null }, cell)))))));
  }

  function measures() {
    body("measures").append(measureTable(view.measures, "measure"), view.blast ? h("p", {}, h("strong", {}, view.blast), " ", view.causes) : "",
      h("div", { class: "charts" }, curveChart(page), slicesChart(view)));
    if (view.slices.length) body("measures").append(h("details", { style: "margin-top:1rem" }, h("summary", {}, `${counted(view.slices.length, "slice")} of 20 queries or more`), measureTable(view.slices, "slice")));
    if (view.units.length) {
      const rows = view.units.map((row) => view.compared ? [row.measure, row.before || "–", row.after] : [row.measure, row.after]);
      body("measures").append(h("details", { style: "margin-top:1rem" }, h("summary", {}, `The same run by ${view.units[0].unit}`),
        h("p", { class: "soft small" }, "A label that is missed counts as found here when another part of its document is found. No gate looks at it."), tableOf(view.compared ? ["measure", "base", "this PR"] : ["measure", "score"], rows)));
    }
    if (view.small_slices.length) {
      const rows = view.small_slices.map((row) => [row.name, row.n, row.worse, row.better]);
      body("measures").append(h("details", {}, h("summary", {}, `${counted(rows.length, "slice")} of fewer than 20 queries: counts, no percentage`), tableOf(["slice", "queries", "worse", "better"], rows)));
    }
  }

  function losses(table) {
    if (!page.clusters.length) { body("losses").append(none(view.compared ? "No query was lost." : "Nothing to compare with.")); return; }
    const show = (group) => { table.choose({ search: group.kind === "rival" ? group.name : "", change: "", cause: group.kind === "cause" ? group.name : "", slice: group.kind === "slice" ? group.name : "" }); document.getElementById("queries").scrollIntoView(); };
    const rows = new Map();
    for (const group of page.clusters) {
      const key = `${group.kind} ${group.advice}`;
      rows.set(key, [...(rows.get(key) || []), group]);
    }
    const titles = { cause: "cause", rival: "document that took several places", slice: "slice with more than its share" };
    const button = (group) => h("button", { type: "button", style: "margin:0 .35rem .35rem 0", onclick: () => show(group) }, h("code", {}, group.name), ` ${group.count}`);
    body("losses").append(h("p", { class: "soft small" }, `${counted(view.lost_total, "query", "queries")} lost or got worse. A button shows its queries below; its number is how many there are.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Groups of lost queries" }, h("table", {},
        h("thead", {}, h("tr", {}, ["group", "queries", "what to try"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, [...rows.values()].map((groups) => h("tr", {}, h("td", { style: "width:11rem" }, titles[groups[0].kind]),
          h("td", { style: "min-width:9rem" }, groups.slice(0, 8).map(button), groups.length > 8 ? h("span", { class: "soft small" }, `and ${groups.length - 8} more`) : null),
          h("td", { style: "width:50%;min-width:16rem" }, groups[0].advice, h("br"), h("span", { class: "soft small" }, `Source: ${groups[0].source}`))))))));
  }

  function hits(flat, other) {
    const places = new Map(), list = [];
    for (let at = 0; at < (other || []).length; at += 3) places.set(other[at], at / 3 + 1);
    for (let at = 0; at < flat.length; at += 3) list.push({ name: flat[at], score: flat[at + 1], flag: flat[at + 2], rank: at / 3 + 1, old: places.get(flat[at]) });
    return list;
  }
  function side(title, flat, other, after, passages) {
    const rows = hits(flat, other).map((hit) => {
      const by = hit.old === undefined ? 0 : hit.old - hit.rank;
      const move = !after || !other.length ? "" : hit.old === undefined ? `from below ${other.length / 3}` : by > 0 ? `▲ ${by}` : by < 0 ? `▼ ${-by}` : "";
      const text = passages.length ? page.texts[passages[hit.rank - 1]] || "text not at hand" : "";
      return h("li", { class: [hit.flag & 1 ? "right" : "", hit.flag & 2 ? "denied" : "", hit.rank === page.k ? "cut" : ""].join(" ").trim() || null },
        h("span", { class: "soft" }, String(hit.rank)), h("span", {}, h("code", {}, names[hit.name]), hit.flag & 1 ? h("strong", {}, " relevant") : "", hit.flag & 2 ? h("strong", {}, " may not be seen") : ""),
        h("span", { class: "move" }, move ? h("span", { class: move.startsWith("▼") ? "down" : move.startsWith("▲") ? "up" : "soft" }, `${move} `) : "", fixed(hit.score, 4)),
        text ? h("p", { class: "soft small" }, text) : null);
    });
    return h("div", {}, h("h3", {}, title), rows.length ? h("ol", {}, rows) : none("No result."));
  }
  function open(order, place, back) {
    const at = order[place];
    const step = (by) => h("button", { type: "button", disabled: !order[place + by] && order[place + by] !== 0, "aria-label": by < 0 ? "Previous query" : "Next query", onclick: () => open(order, place + by, back) }, by < 0 ? "←" : "→");
    const facts = [["change", CHANGES[q.change[at]]], ["should find", names[q.item[at]]], ["rank", `${q.base[at] === null ? "" : `${q.before[at] || "not ranked"} → `}${q.after[at] || "not ranked"}`], [past(q, at) ? "cause before" : "cause", q.cause[at]], [past(q, at) ? "in its place before" : "in its place", q.by[at].map((name) => names[name]).join(", ")], [past(q, at) ? "also before" : "also", q.why[at].join(", ")], ["slices", q.slices[at].map((name) => names[name]).join(", ")],
      ["margin", q.margin[at] === null ? "" : `${q.margin_before[at] === null ? "" : `${fixed(q.margin_before[at], 4)} → `}${fixed(q.margin[at], 4)} (best relevant less best other)`], ["error", q.error[at]]];
    const line = q.line[at] ? (page.source ? h("a", { href: page.source + q.line[at], rel: "noreferrer" }, `line ${q.line[at]}`) : `line ${q.line[at]} of ${view.golden_path}`) : "";
    dialog.replaceChildren(h("div", { class: "bar" }, step(-1), step(1), h("button", { type: "button", onclick: () => dialog.close() }, "Close")),
      h("h2", { id: "query-title" }, q.id[at]), h("p", { style: "font-size:1.1rem;margin:.2rem 0 .6rem" }, q.text[at] || "The text is not in the record.", " ", h("span", { class: "soft small" }, line)),
      h("table", {}, h("tbody", {}, facts.filter(([name, text]) => text && (q.score[at] !== null || ["change", "slices", "error"].includes(name))).map(([name, text]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text))))),
      h("div", { class: "sides" }, q.ranking_before[at].length ? side("Base", q.ranking_before[at], [], false, q.passages_before[at]) : null, side(view.compared ? "This pull request" : "Results", q.ranking[at], q.ranking_before[at], true, q.passages[at])),
      h("p", { class: "soft small" }, `The dashed line is the cut at k = ${page.k}. Arrows are moves against the base. ${page.texts_note}`));
    dialog.onclose = back;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector(".bar button:not([disabled])").focus();
  }

  function spread() {
    const numbers = (values) => values.filter((value) => value !== null);
    const charts = [view.compared ? moveChart(q) : null,
      histogram("Score margins", "Score of the best relevant hit less that of the best other one: below zero the query is lost at the top.", "margin", numbers(q.margin_before), numbers(q.margin), 30),
      histogram("Latency per query", "Of the timed queries.", "milliseconds", numbers(q.latency_before), numbers(q.latency), 24)].filter(Boolean);
    const rows = view.latency.map((row) => [row.stage, row.before_p50 ? `${row.before_p50} → ${row.p50}` : row.p50, row.before_p95 ? `${row.before_p95} → ${row.p95}` : row.p95, row.n]);
    body("spread").append(charts.length ? h("div", { class: "charts" }, charts) : none("Too few queries."), rows.length ? tableOf(["stage", "p50", "p95", "queries timed"], rows) : "");
  }

  function access() {
    const leaks = [];
    q.id.forEach((id, at) => (view.acl_ok ? [] : hits(q.ranking[at])).filter((hit) => hit.flag & 2).forEach((hit) => leaks.push([id, q.slices[at].map((name) => names[name]).find((name) => name.startsWith("principal:")) || "–", names[hit.name], hit.rank])));
    const best = q.id.map((id, at) => ({ id, score: q.ranking[at][1], kind: q.change[at] })).filter((row) => row.kind === "unanswerable" && row.score !== undefined);
    body("access").append(h("p", { class: view.acl_ok ? null : "tone-worse" }, view.acl), leaks.length ? tableOf(["query", "who asks", "what may not be seen", "rank"], leaks) : "",
      view.no_answer ? h("p", {}, view.no_answer) : none("The golden set has no unanswerable query."), best.length ? h("div", { class: "charts" }, scoresChart(best, page.threshold)) : "");
  }

  function rest() {
    body("gates").append(view.gates.length ? h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "result"), h("th", { scope: "col" }, "gate"))), h("tbody", {}, view.gates.map((gate) => h("tr", {}, h("td", { class: gate.name === "fail" ? "tone-worse" : null }, gate.name), h("td", {}, gate.text))))) : none("No gate."),
      view.warnings.length ? h("ul", {}, view.warnings.map((text) => h("li", { class: "small" }, text))) : "");
    const two = view.compared && page.provenance.some((row) => row[1]);
    body("provenance").append(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Provenance" }, h("table", {}, h("thead", {}, h("tr", {}, ["what", two ? "base" : null, two ? "this pull request" : "value"].filter(Boolean).map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, page.provenance.map(([name, old, now]) => h("tr", {}, h("th", { scope: "row" }, name), two ? h("td", { style: "min-width:11rem" }, h("code", {}, old)) : null, h("td", {}, two && old !== now && old ? h("strong", {}, h("code", {}, now)) : h("code", {}, now))))))),
      h("h3", { style: "margin-top:1.25rem" }, "Make this run again"), ...page.commands.flatMap((command) => [h("p", { class: "soft small", style: "margin:0" }, command.name), h("pre", { tabindex: "0" }, h("code", {}, command.text))]));
  }

  const table = queryTable(page, open);
  body("queries").append(...table.node);
  verdict(); measures(); losses(table); spread(); access(); rest();
  table.refresh();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
