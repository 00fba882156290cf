// SPDX-License-Identifier: BSD-3-Clause
// The list, the filters and a finding. The findings are the JSON report of docs/REPORTS.md with excerpts added; every text
// of it becomes a text node, never markup.

// --- the list ---

let findings = [];

function prepare(f, suppressed) {
  const item = { f, suppressed };
  const functions = f.stack.map((frame) => frame.function || "");
  item.file = f.location.file || "";
  const crash = [f.witness.verdict, f.witness.output, ...f.related.map((r) => where(r.location))];
  item.hay = [f.id, f.kind, f.level, title(f), f.message, f.data || "", where(f.location), ...functions, ...crash]
    .join("\n").toLowerCase();
  item.row = row(item);
  return item;
}

// The folder may be cut short; the file's name, the line and the function may not.
function place(at) {
  const text = where(at), name = text.lastIndexOf("/") + 1;
  return [name ? el("span.folder", {}, text.slice(0, name)) : null, el("span.name", {}, text.slice(name)),
    at.function ? el("span.function", {}, "  " + at.function) : null];
}

// Findings of the same level and title stand together, below it, where the first of them stood.
function grouped(items) {
  const groups = new Map();
  for (const item of items) {
    const key = `${item.suppressed} ${item.f.level} ${title(item.f)}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return [...groups.values()];
}

function groupHead(group) {
  const { f } = group[0];
  return el("li.group", {}, el("span.badge." + f.level, {}, f.level), el("span.row-title", {}, title(f)),
    el("span.row-count", {}, String(group.length)));
}

function row(item) {
  const { f } = item;
  const button = el("button", { type: "button", "data-id": f.id },
    el("div.row-top", {},
      el("span.badge." + f.level, {}, f.level),
      el("span.row-title", {}, title(f)),
      el("span.row-count", {}, f.count > 1 ? f.count.toLocaleString("en") + "×" : null)),
    el("div.row-where", { title: where(f.location) }, ...place(f.location)));
  button.addEventListener("click", () => choose(item));
  return el(item.suppressed ? "li.is-suppressed" : "li", {}, button);
}

// Options of a filter, with how many findings each has.
function options(select, values) {
  const count = new Map(), before = select.value;
  while (select.options.length > 1) select.remove(1);
  for (const value of values) if (value) count.set(value, (count.get(value) || 0) + 1);
  for (const value of [...count.keys()].sort()) {
    select.append(el("option", { value }, `${value} (${count.get(value)})`));
  }
  select.value = count.has(before) ? before : "";
}

let chosen = null;
let shown = [];

function filter(wanted) {
  const text = $("text").value.trim().toLowerCase().split(/\s+/);
  const [level, kind, file] = ["level", "kind", "file"].map((id) => $(id).value);
  shown = findings.filter((item) =>
    (!item.suppressed || $("suppressed").checked) &&
    (!level || item.f.level === level) && (!kind || item.f.kind === kind) && (!file || item.file === file) &&
    text.every((word) => item.hay.includes(word)));
  const groups = grouped(shown);
  shown = groups.flat();
  for (const group of groups) for (const item of group) item.row.classList.toggle("in-group", group.length > 1);
  $("list").replaceChildren(...groups.flatMap((group) =>
    [...(group.length > 1 ? [groupHead(group)] : []), ...group.map((item) => item.row)]));
  const all = $("suppressed").checked ? findings.length : data.findings.length;
  $("shown").value = shown.length === all ? plural(all, "finding", "findings") : `${shown.length} of ${all} findings`;
  $("none").hidden = shown.length > 0;
  $("none").textContent = all ? "No finding matches the filters." : data.incomplete ? "Nothing found so far." : "Nothing found.";
  if (!shown.includes(chosen)) choose(shown.includes(wanted) ? wanted : shown[0] || null, false);
}

function choose(item, remember = true) {
  if (chosen) chosen.row.firstChild.removeAttribute("aria-current");
  chosen = item;
  if (item && item.wide !== innerWidth) item.shown = detail(item);
  if (item) item.wide = innerWidth; // pictures depend on it
  $("detail").replaceChildren(...(item ? item.shown : []));
  $("detail").scrollTop = 0;
  if (!item) return;
  item.row.firstChild.setAttribute("aria-current", "true");
  if (remember) history.replaceState(null, "", "#" + item.f.id);
}

// --- one finding ---

function detail(item) {
  const { f } = item;
  const help = (data.kinds[f.kind] || {}).help;
  return [
    el("div.meta", {},
      el("span.badge." + f.level, {}, f.level),
      el("span.kind", {}, f.kind),
      el("span.kind", {}, "·"),
      item.suppressed ? el("span.badge.quiet", {}, "suppressed") : null,
      el("span.kind", {}, often(f))),
    el("h2", {}, title(f)),
    el("p.message", {}, f.message),
    f.advice ? el("p.fix", {}, el("b", {}, "Fix: "), f.advice) : null,
    help ? el("details", {}, el("summary", {}, "What this means"), el("p", {}, help)) : null,
    f.witness.says ? el("h3", {}, "The crash") : null,
    f.witness.says ? crashPicture(f) : null,
    f.witness.lines && f.witness.lines.length ? el("h3", {}, "The lines up to the crash") : null,
    f.witness.lines && f.witness.lines.length ? timeline(f) : null,
    f.witness.fields && f.witness.fields.length ? el("h3", {}, "What the crash image lacks") : null,
    f.witness.fields && f.witness.fields.length ? fields(f.witness) : null,
    f.witness.in_flight ? el("h3", {}, "Operations under way") : null,
    f.witness.in_flight ? inFlight(f.witness) : null,
    ...(f.witness.says ? recovery(f) : []),
    ...(f.witness.paths ? input(f) : []),
    f.verdict ? el("h3", {}, "Verdict") : null,
    f.verdict ? el("p.verdict", {}, el("b", {}, PROOFS[f.verdict.state] + ": "), f.verdict.text) : null,
    f.why ? el("h3", {}, "Why " + f.level) : null,
    f.why ? el("ul", {}, ...f.why.map((row) => el("li", {}, row.text))) : null,
    f.stack.length ? el("h3", {}, "Source") : null,
    f.stack.length ? excerpt(f.location, f.excerpt) : null,
    hasLife(f) ? el("h3", {}, "Life of the line") : null,
    hasLife(f) ? life(f) : null,
    f.stack.length ? el("h3", {}, "Call path") : null,
    f.stack.length ? path(f) : null,
    f.paths ? el("h3", {}, "All call paths") : null,
    f.paths ? el("ul", {}, ...f.paths.map((p) => el("li", {}, `${p.count}× ` + p.stack.map((s) => s.function || where(s)).join(" ← ")))) : null,
    f.related.length ? el("h3", {}, "Related places") : null,
    ...f.related.map(related),
    el("h3", {}, "Details"),
    facts(f),
  ].filter(Boolean);
}

// The steps of a crash may be no more than what its own picture shows.
const hasLife = (f) => f.steps.some((step) => !f.witness.says || family(step.what) !== "other");

function often(f) {
  if (f.witness.paths && !f.witness.states) return `on ${plural(f.witness.paths, "path", "paths")}`;
  if (f.witness.states) return `fails in ${plural(f.witness.states, "crash state", "crash states")}`;
  return f.count === 1 ? "seen once" : `seen ${f.count.toLocaleString("en")} times`;
}

function excerpt(at, source) {
  const caption = [where(at, true), at.function].filter(Boolean).join("  in ");
  const note = source.note ? el("p.source-note", {}, source.note) : null;
  if (!source.lines.length) return el("div", {}, el("p.kind", {}, caption), note);
  const rows = [];
  source.lines.forEach((line, i) => {
    const number = source.first + i;
    rows.push(el(number === at.line ? "tr.marked" : "tr", {}, el("td", {}, String(number)), el("td", {}, line)));
    if (number === at.line && at.column && at.column <= line.length) {
      const blanks = line.slice(0, at.column - 1).replace(/[^\t]/g, " ");
      rows.push(el("tr.caret", { "aria-hidden": "true" }, el("td", {}), el("td", {}, blanks + "^")));
    }
  });
  return el("div", {}, el("div.code", { tabindex: "0" }, el("table", {}, el("caption", {}, caption), el("tbody", {}, rows))), note);
}

// What a program wrote to a terminal: without colours and other control characters.
function printable(text) {
  return text.replace(/\x1b\[[0-9;?]*[@-~]/g, "").replace(/\r\n/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "\ufffd").replace(/\n+$/, "");
}

// What recovery said, and how to have it say so again.
function recovery(f) {
  const w = f.witness;
  return [
    el("h3", {}, "Recovery"),
    el("p.verdict", {}, "Recovery " + w.says + "."),
    w.output ? el("pre.said", { tabindex: "0" }, printable(w.output)) : null,
    w.backtrace ? el("details", {}, el("summary", {}, "Backtrace"), el("pre.said", { tabindex: "0" }, printable(w.backtrace))) : null,
    w.replay ? el("div.replay", {}, el("code", { tabindex: "0" }, w.replay), copyButton(w.replay)) : null,
  ];
}

// The input that shows it, and how to run the program with it.
function input(f) {
  const w = f.witness;
  return [
    el("h3", {}, "Input"),
    w.text ? el("pre.said", { tabindex: "0" }, w.text) : null,
    w.backtrace && !w.says ? el("details", {}, el("summary", {}, "Backtrace"), el("pre.said", { tabindex: "0" }, printable(w.backtrace))) : null,
    w.replay && !w.says ? el("div.replay", {}, el("code", { tabindex: "0" }, w.replay), copyButton(w.replay)) : null,
  ];
}

function copyButton(text) {
  const button = el("button", { type: "button" }, "Copy");
  const done = (well) => {
    button.textContent = well ? "Copied" : "Select and copy";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(button.previousSibling);
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done(true), () => done(document.execCommand("copy")));
    else done(document.execCommand("copy"));
  });
  return button;
}

const HOW = { tail: "left by a jump", signal: "", interrupted: "interrupted", cut: "deeper frames are not recorded" };

function path(f) {
  const last = f.stack.map((frame) => frame.function).lastIndexOf("main");
  const frames = last < 0 ? f.stack : f.stack.slice(0, last + 1);
  const here = frames.findIndex((frame) =>
    frame.function === f.location.function && where(frame, true) === where(f.location, true));
  return el("table.path", { "aria-label": "Call path" }, el("tbody", {}, frames.map((frame, i) => {
    const tags = [frame.inlined ? "inlined" : "", HOW[frame.how] || ""].filter(Boolean).join(", ");
    const known = frame.file || frame.module;
    return el(i === here ? "tr.here" : "tr", {},
      el("td", {}, i === here ? "▸ " : "  ", frame.function || "?", tags ? el("span.tag", {}, "  " + tags) : null),
      el("td", {}, known ? where(frame) : ""));
  })));
}

function related(r) {
  return el("div.related", {},
    el("p", {}, el("span.role", {}, words(r.role)), r.message ? ": " + r.message : null,
      el("span.kind", {}, `  event ${r.event.toLocaleString("en")}`)),
    r.stack.length ? excerpt(r.location, r.excerpt) : null,
    callers(r));
}

// Who called the function of a related place.
function callers(r) {
  const last = r.stack.map((frame) => frame.function).lastIndexOf("main");
  const frames = last < 0 ? r.stack : r.stack.slice(0, last + 1);
  const here = frames.findIndex((frame) => frame.function === r.location.function && where(frame, true) === where(r.location, true));
  const names = frames.slice(here + 1).map((frame) => `${frame.function || "?"} (${where(frame)})`);
  return names.length ? el("p.kind.callers", {}, "called by " + names.join(" ← ")) : null;
}

function facts(f) {
  const rows = [
    ["data", f.data],
    ["witness", `${f.witness.type}, ${f.witness.says ? "before " : ""}event ${f.witness.event.toLocaleString("en")}`],
    ["state", f.witness.says ? `${plural(f.witness.lines_lost, "line", "lines")} lost, ${plural(f.witness.lines_ahead, "line", "lines")} ahead` : null],
    ["input", f.witness.input],
    ["recoveries", f.witness.recoveries ? f.witness.recoveries.toLocaleString("en") : null],
    ["id", f.id],
    ["replay", f.witness.replay],
  ];
  return el("table.facts", { "aria-label": "Details" }, el("tbody", {}, rows.filter(([, value]) => value).map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)))));
}

// --- the page ---

function head() {
  $("what").textContent = [data.verb, data.model ? `model ${data.model}` : "", data.command.join(" ")].filter(Boolean).join(" · ");
  document.title = `Holdfast ${data.verb}: ${data.command[0] || ""}`;
  $("summary").replaceChildren();
  for (const level of LEVELS) {
    if (data.summary[level] || level !== "note") {
      const badge = data.summary[level] ? "span.badge." + level : "span.badge.quiet";
      $("summary").append(el(badge, {}, plural(data.summary[level], level, COUNTED[level])));
    }
  }
  if (data.summary.suppressed) $("summary").append(el("span.badge.quiet", {}, `${data.summary.suppressed} suppressed`));
  $("incomplete").hidden = !data.incomplete;
  $("incomplete").textContent = "Incomplete: " + data.incomplete;
  $("statistics").hidden = !data.notes.length;
  $("notes").replaceChildren(...data.notes.map((note) => el("li", {}, note)));
  showChart(data.chart);
  $("suppressed-label").hidden = !data.suppressed.length;
}

function move(by) {
  const to = shown[Math.min(Math.max(shown.indexOf(chosen) + by, 0), shown.length - 1)];
  if (!to) return;
  choose(to);
  to.row.firstChild.focus();
  to.row.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  const inList = $("list").contains(event.target);
  if (event.key === "/") $("text").focus();
  else if (event.key === "j" || (inList && event.key === "ArrowDown")) move(1);
  else if (event.key === "k" || (inList && event.key === "ArrowUp")) move(-1);
  else return;
  event.preventDefault();
});
$("filters").addEventListener("input", () => filter());
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("filters").addEventListener("reset", () => setTimeout(() => filter()));

// A report, at first and whenever there is a newer one: what is chosen, and the filters, stay.
function load(tree) {
  const id = chosen ? chosen.f.id : "";
  data = tree;
  findings = [...data.findings.map((f) => prepare(f, false)), ...data.suppressed.map((f) => prepare(f, true))];
  head();
  options($("level"), findings.map((item) => item.f.level));
  options($("kind"), findings.map((item) => item.f.kind));
  options($("file"), findings.map((item) => item.file));
  const focus = document.activeElement, row = focus && focus.dataset.id, scroll = $("detail").scrollTop;
  const same = findings.find((item) => item.f.id === id);
  const unchanged = same && JSON.stringify(same.f) === JSON.stringify(chosen.f);
  if (unchanged) Object.assign(same, { shown: chosen.shown, wide: chosen.wide });
  chosen = null;
  filter(same);
  if (row) document.querySelector(`#list button[data-id="${row}"]`)?.focus();
  $("detail").scrollTop = unchanged ? scroll : 0;
}

load(data);
const linked = findings.find((item) => "#" + item.f.id === location.hash);
if (linked && linked.suppressed) $("suppressed").checked = true;
filter();
if (linked) choose(linked, false);
if (document.documentElement.dataset.live !== undefined) listen(load);
