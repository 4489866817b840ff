/* The table of queries: only the rows in sight are in the page, so that 10,000 of them scroll and filter at once. */
"use strict";
const ROW = 36, AHEAD = 8;
const RANKED = { lost: 0, worse: 1, missed: 2, changed: 3, new: 4, gained: 5, better: 6, unanswerable: 7, same: 8 };
const CHANGES = { lost: "lost", worse: "worse", missed: "missed on both sides", changed: "reworded", new: "not compared", gained: "gained", better: "better", unanswerable: "unanswerable", same: "same" };

/* True where the cause tells why a query was missing before, not what is wrong now. */
const past = (q, at) => q.change[at] === "gained" || q.change[at] === "better";

function queryTable(page, open) {
  const q = page.queries, total = q.id.length, compared = q.base.some((value) => value !== null);
  const rankOf = (rank) => rank || Infinity;
  const worst = (at) => RANKED[q.change[at]] * 1e6 - 1e4 * Math.abs((q.score[at] || 0) - (q.base[at] || 0)) + Math.min(q.before[at] || 999, 999);
  const columns = [
    { name: "query", width: "11rem", key: (at) => q.id[at], cell: (at) => h("button", { type: "button", title: q.id[at] }, q.id[at]) },
    { name: "text", width: "auto", key: (at) => q.text[at], cell: (at) => q.text[at] },
    { name: "change", width: "8.5rem", key: (at) => worst(at), cell: (at) => h("span", { class: `chip ${q.change[at]}` }, CHANGES[q.change[at]]) },
    { name: "rank", width: "7.5rem", key: (at) => rankOf(q.after[at]), cell: (at) => (q.score[at] === null ? "–" : `${compared && q.base[at] !== null ? `${q.before[at] || "none"} → ` : ""}${q.after[at] || "none"}`) },
    { name: page.view.headline, width: "8.5rem", key: (at) => (q.score[at] === null ? 2 : q.score[at]), cell: (at) => (q.score[at] === null ? "–" : `${q.base[at] !== null ? `${fixed(q.base[at], 2)} → ` : ""}${fixed(q.score[at], 2)}`) },
    { name: "cause", width: "13rem", key: (at) => q.cause[at] || "~", cell: (at) => [past(q, at) && q.cause[at] ? "was " : "", q.cause[at], q.by[at].length ? `: ${page.names[q.by[at][0]]}` : ""].join("") || "–" },
  ];
  const haystack = q.id.map((id, at) => [id, q.text[at], page.names[q.item[at]], ...q.by[at].map((name) => page.names[name])].join("\n").toLowerCase());
  let order = { column: 2, down: false }, shown = [], focused = 0;

  const choice = (label, values, texts) => h("select", { "aria-label": label, onchange: refresh }, h("option", { value: "" }, "all"), values.map((value) => h("option", { value }, texts ? texts[value] : value)));
  const used = (list) => [...new Set(list)].filter(Boolean).sort();
  const search = h("input", { type: "search", placeholder: "id, text or document", oninput: refresh });
  const change = choice("Change", Object.keys(CHANGES).filter((name) => q.change.includes(name)), CHANGES);
  const cause = choice("Cause", used(q.cause));
  const slice = choice("Slice", [...new Set(q.slices.flat())].map((at) => page.names[at]).sort());
  const status = h("p", { class: "soft small", role: "status", "aria-live": "polite" });
  const body = h("tbody");
  const heads = columns.map((column, at) => h("th", { scope: "col", "aria-sort": "none" }, h("button", { type: "button", onclick: () => sortBy(at) }, column.name)));
  const table = h("table", { "aria-rowcount": String(total + 1), "aria-label": "Queries" }, h("colgroup", {}, columns.map((column) => h("col", { style: `width:${column.width}` }))), h("thead", {}, h("tr", { "aria-rowindex": "1" }, heads)), body);
  const box = h("div", { class: "grid", tabindex: "0", role: "region", "aria-label": "Table of queries", onscroll: () => requestAnimationFrame(draw) }, table);

  function sortBy(at) {
    order = { column: at, down: order.column === at ? !order.down : false };
    refresh();
  }
  function refresh() {
    const wanted = search.value.trim().toLowerCase(), part = slice.value ? page.names.indexOf(slice.value) : -1;
    shown = [];
    for (let at = 0; at < total; at += 1) {
      if (change.value && q.change[at] !== change.value) continue;
      if (cause.value && q.cause[at] !== cause.value) continue;
      if (part >= 0 && !q.slices[at].includes(part)) continue;
      if (wanted && !haystack[at].includes(wanted)) continue;
      shown.push(at);
    }
    const key = columns[order.column].key, keys = q.id.map((_, at) => key(at)), sign = order.down ? -1 : 1;
    shown.sort((a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b));
    heads.forEach((head, at) => {
      head.setAttribute("aria-sort", at !== order.column ? "none" : order.down ? "descending" : "ascending");
      head.firstChild.textContent = columns[at].name + (at !== order.column ? "" : order.down ? " ↓" : " ↑");
    });
    status.textContent = `${shown.length.toLocaleString("en")} of ${counted(total, "query", "queries")}`;
    focused = 0;
    box.scrollTop = 0;
    draw();
  }
  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - AHEAD);
    const last = Math.min(shown.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + AHEAD);
    const held = document.activeElement && body.contains(document.activeElement);
    const space = (rows) => h("tr", { class: "space", "aria-hidden": "true", style: `height:${rows * ROW}px` }, h("td", { colspan: String(columns.length) }));
    body.replaceChildren(first ? space(first) : "", ...shown.slice(first, last).map((at, place) => rowOf(at, first + place)), last < shown.length ? space(shown.length - last) : "");
    if (held) focusRow(focused, false);
  }
  function rowOf(at, place) {
    const row = h("tr", { "aria-rowindex": String(place + 2), "data-place": String(place) }, columns.map((column) => h("td", {}, column.cell(at))));
    const button = row.querySelector("button");
    button.tabIndex = place === focused ? 0 : -1;
    button.addEventListener("focus", () => { focused = place; });
    row.addEventListener("click", () => { focused = place; open(shown, place, () => focusRow(focused, true)); });
    return row;
  }
  function focusRow(place, scroll) {
    if (!shown.length) return;
    focused = Math.max(0, Math.min(place, shown.length - 1));
    const top = focused * ROW, height = box.clientHeight - 2 * ROW;
    if (scroll && (top < box.scrollTop || top > box.scrollTop + height)) { box.scrollTop = top < box.scrollTop ? top : top - height; draw(); }
    const button = body.querySelector(`tr[data-place="${focused}"] button`);
    if (button) { body.querySelectorAll("button").forEach((other) => { other.tabIndex = -1; }); button.tabIndex = 0; button.focus({ preventScroll: true }); }
  }
  box.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || event.target.closest("thead")) return;
    event.preventDefault();
    focusRow(body.contains(event.target) ? focused + steps[event.key] : focused, true);
  });
  const clear = h("button", { type: "button", onclick: () => { search.value = change.value = cause.value = slice.value = ""; refresh(); } }, "Show all");
  const controls = h("div", { class: "controls" }, h("label", { class: "grow" }, "Search", search), h("label", {}, "Change", change), h("label", {}, "Cause", cause), h("label", {}, "Slice", slice), clear);
  return { node: [controls, status, box], refresh, choose: (values) => { for (const [name, value] of Object.entries(values)) ({ search, change, cause, slice })[name].value = value; refresh(); } };
}
