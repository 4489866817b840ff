"use strict";

// One page, one file. Texts of the set are only ever put in as text, never as markup.
const SHOWN = 400;
const state = { rows: [], filter: "pending", search: "", current: null, detail: null, editing: false, busy: false };
const byId = (id) => document.getElementById(id);

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server is gone. Start `rageval golden review` again; what you decided is in the file.");
  }
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

function say(text, bad = false) {
  const message = byId("message");
  message.textContent = text;
  message.className = bad ? "bad" : "";
}

function make(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function visible() {
  const wanted = state.search.toLowerCase();
  return state.rows.filter((row) =>
    (state.filter === "all" || row.review === state.filter || row.id === state.current) &&
    (!wanted || row.query.toLowerCase().includes(wanted) || row.id.toLowerCase().includes(wanted)));
}

function showCounts(counts) {
  const total = counts.accepted + counts.rejected + counts.pending;
  byId("tally").textContent =
    `${counts.accepted} accepted · ${counts.rejected} rejected · ${counts.pending} pending of ${total}`;
  byId("meter").setAttribute("aria-label", `${counts.accepted + counts.rejected} of ${total} decided`);
  for (const name of ["accepted", "rejected"]) {
    byId("meter").querySelector(`.${name}`).style.width = total ? `${(100 * counts[name]) / total}%` : "0";
  }
}

function showList() {
  const rows = visible();
  const at = Math.max(0, rows.findIndex((row) => row.id === state.current));
  const first = Math.max(0, Math.min(at - SHOWN / 2, rows.length - SHOWN));
  const list = byId("list");
  list.replaceChildren();
  for (const row of rows.slice(first, first + SHOWN)) {
    const item = make("li", row.query, row.review);
    item.dataset.id = row.id;
    if (row.id === state.current) item.setAttribute("aria-current", "true");
    item.addEventListener("click", () => open(row.id));
    list.append(item);
  }
  if (rows.length > SHOWN) list.append(make("li", `… ${rows.length - SHOWN} more; search to narrow them down`, "more"));
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function showPassage(passage) {
  const box = make("section", undefined, passage.found ? "passage" : "passage missing");
  const head = make("header");
  head.append(make("b", passage.doc));
  if (passage.chunk && passage.chunk !== passage.doc) head.append(make("span", passage.chunk));
  if (passage.grade !== 1) head.append(make("span", `grade ${passage.grade}`));
  if (!passage.found) head.append(make("span", passage.pieces.length ? "this quote is not in the snapshot" : "not in the snapshot"));
  if (state.editing && passage.place >= 0) {
    const label = make("label");
    const tick = make("input");
    tick.type = "checkbox";
    tick.checked = true;
    tick.dataset.place = passage.place;
    tick.addEventListener("change", () => box.classList.toggle("off", !tick.checked));
    label.append(tick, "answers it");
    head.append(label);
  }
  box.append(head);
  if (passage.pieces.length) {
    const text = make("p");
    for (const piece of passage.pieces) text.append(piece.marked ? make("mark", piece.text) : piece.text);
    box.append(text);
  }
  return box;
}

function showRow() {
  const row = state.detail;
  byId("empty").hidden = Boolean(row);
  byId("row").hidden = !row;
  for (const button of byId("actions").querySelectorAll("button")) button.disabled = !row || state.editing;
  if (!row) return;
  const chips = byId("chips");
  chips.replaceChildren(make("span", row.review, row.review));
  for (const text of [row.type, row.lang, row.source, ...row.tags, `line ${row.line}`]) if (text) chips.append(make("span", text));
  byId("question").textContent = row.query;
  byId("question").hidden = state.editing;
  byId("editor").hidden = !state.editing;
  byId("edit-hint").hidden = !row.passages.some((passage) => passage.place >= 0);
  const passages = byId("passages");
  passages.replaceChildren(...row.passages.map(showPassage));
  if (!row.answerable) passages.append(make("p", "Nothing in the collection should answer this question.", "nothing"));
  if (row.left_out) passages.append(make("p", `${row.left_out} more passages are judged relevant.`, "nothing"));
  const facts = byId("facts");
  facts.replaceChildren();
  for (const [name, value] of row.facts) facts.append(make("dt", name), make("dd", value));
}

async function open(id) {
  state.editing = false;
  state.current = id;
  state.detail = null;
  if (id !== null) {
    try {
      state.detail = (await call(`/api/rows/${encodeURIComponent(id)}`)).row;
    } catch (error) {
      say(error.message, true);
    }
  }
  showList();
  showRow();
  byId("card").scrollTop = 0;
}

function step(by, from = visible()) {
  const at = from.findIndex((row) => row.id === state.current);
  const next = from[at + by];
  return next ? next.id : null;
}

// The next row that waits, after the current one and then from the top.
function nextPending() {
  const rows = visible();
  const at = rows.findIndex((row) => row.id === state.current);
  const rest = [...rows.slice(at + 1), ...rows.slice(0, Math.max(0, at))];
  const wanted = state.filter === "all" ? "pending" : state.filter;
  return rest.find((row) => row.review === wanted)?.id ?? null;
}

async function apply(path, body, said) {
  if (state.busy || !state.current) return false;
  state.busy = true;
  try {
    const { row, counts } = await call(`${path}${encodeURIComponent(state.current)}`, body);
    Object.assign(state.rows.find((one) => one.id === row.id), { query: row.query, review: row.review });
    state.detail = row;
    showCounts(counts);
    say(said);
    return true;
  } catch (error) {
    say(error.message, true);
    return false;
  } finally {
    state.busy = false;
  }
}

const actions = {
  async accept() { if (await apply("/api/rows/", { review: "accepted" }, `Accepted ${state.current}.`)) await open(nextPending()); },
  async reject() { if (await apply("/api/rows/", { review: "rejected" }, `Rejected ${state.current}.`)) await open(nextPending()); },
  async undo() {
    if (await apply("/api/undo/", {}, `${state.current} is as it was when the review began.`)) { showList(); showRow(); }
  },
  edit() {
    state.editing = true;
    byId("edit-query").value = state.detail.query;
    byId("edit-tags").value = state.detail.tags.join(", ");
    showRow();
    byId("edit-query").focus();
  },
  next() { const id = step(1); if (id) open(id); },
  previous() { const id = step(-1); if (id) open(id); },
};

function stopEditing() {
  state.editing = false;
  showRow();
  byId("card").focus();
}

async function save() {
  const ticks = [...byId("passages").querySelectorAll("input[data-place]")];
  const body = {
    review: "accepted", query: byId("edit-query").value, tags: byId("edit-tags").value.split(","),
  };
  if (ticks.length) body.keep = ticks.filter((tick) => tick.checked).map((tick) => Number(tick.dataset.place));
  if (await apply("/api/rows/", body, `Saved and accepted ${state.current}.`)) await open(nextPending());
}

byId("editor").addEventListener("submit", (event) => { event.preventDefault(); save(); });
byId("cancel").addEventListener("click", stopEditing);
byId("actions").addEventListener("click", (event) => {
  const action = event.target.closest("button")?.dataset.action;
  if (action) actions[action]();
});
for (const button of document.querySelectorAll("[data-filter]")) {
  button.addEventListener("click", () => {
    state.filter = button.dataset.filter;
    for (const other of document.querySelectorAll("[data-filter]")) other.setAttribute("aria-pressed", String(other === button));
    state.current = null;
    open(visible()[0]?.id ?? null);
  });
}
byId("search").addEventListener("input", (event) => { state.search = event.target.value; showList(); });
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { const first = visible().find((row) => row.id !== state.current) ?? visible()[0]; if (first) open(first.id); event.target.blur(); }
  if (event.key === "Escape") { event.target.value = ""; state.search = ""; showList(); event.target.blur(); }
});

const KEYS = { a: "accept", r: "reject", e: "edit", u: "undo", j: "next", k: "previous", ArrowDown: "next", ArrowUp: "previous" };
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea");
  if (state.editing) {
    if (event.key === "Escape") stopEditing();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); return; }
  const action = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (action && state.detail) { event.preventDefault(); actions[action](); }
});

async function start() {
  try {
    const { file, counts, rows } = await call("/api/rows");
    state.rows = rows;
    byId("file").textContent = file;
    document.title = `Review · ${file}`;
    showCounts(counts);
    await open(visible()[0]?.id ?? null);
    say("A accepts, R rejects, E edits, J and K move. Every decision is written to the file at once.");
  } catch (error) {
    say(error.message, true);
  }
}

start();
