// SPDX-License-Identifier: BSD-3-Clause
// The report page. The findings are the JSON report of docs/REPORTS.md with excerpts added; every text
// of it becomes a text node, never markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const LEVELS = ["error", "performance", "warning", "note"];
  const COUNTED = { error: "errors", performance: "performance", warning: "warnings", note: "notes" };

  // An element: el("td.code", {title: "…"}, child, "text", …). null children are left out.
  function el(name, attributes, ...children) {
    const [tag, ...classes] = name.split(".");
    const node = document.createElement(tag);
    node.className = classes.join(" ");
    return fill(node, attributes, children);
  }
  function svg(tag, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  }
  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }
  const PROOFS = { proved: "proved", harmless: "harmless for this recovery", open: "open" };
  const ROLES = { persisted: "persistent", "also-persisted": "also persistent", "also-lost": "also lost" };
  const words = (text) => ROLES[text] || text.replace(/-/g, " ");
  const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
  const title = (f) => (data.kinds[f.kind] || { title: f.kind }).title;

  function where(at, column) {
    if (at.file) return `${at.file}:${at.line}${column && at.column ? ":" + at.column : ""}`;
    return at.module ? `${at.module}+${at.offset || "?"}` : "";
  }

  // --- the list ---

  const findings = [
    ...data.findings.map((f) => ({ f, suppressed: false })),
    ...data.suppressed.map((f) => ({ f, suppressed: true })),
  ];
  for (const item of findings) {
    const { f } = item;
    const functions = f.stack.map((frame) => frame.function || "");
    item.file = f.location.file || "";
    const crash = [f.witness.verdict, f.witness.output, ...f.related.map((r) => where(r.location))];
    item.hay = [f.id, f.kind, f.level, title(f), f.message, f.data || "", where(f.location), ...functions, ...crash]
      .join("\n").toLowerCase();
    item.row = row(item);
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
    const count = new Map();
    for (const value of values) if (value) count.set(value, (count.get(value) || 0) + 1);
    for (const value of [...count.keys()].sort()) {
      select.append(el("option", { value }, `${value} (${count.get(value)})`));
    }
  }

  let chosen = null;
  let shown = [];

  function filter() {
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
    $("none").textContent = all ? "No finding matches the filters." : "Nothing found.";
    if (!shown.includes(chosen)) choose(shown[0] || null, false);
  }

  function choose(item, remember = true) {
    if (chosen) chosen.row.firstChild.removeAttribute("aria-current");
    chosen = item;
    $("detail").replaceChildren(...(item ? detail(item) : []));
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
    return el("table.path", {}, el("tbody", {}, frames.map((frame, i) => {
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
    return el("table.facts", {}, el("tbody", {}, rows.filter(([, value]) => value).map(([name, value]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)))));
  }

  // --- the picture: steps on an axis of time, a lane a thread, and below them what is guaranteed of the data ---

  const STEP = 140, LEFT = 92, TOP = 34, LANE = 64;

  function family(what) {
    if (/store/.test(what)) return "store";
    if (/flush|clwb/.test(what)) return "flush";
    if (/fence|persistent|drain|sync/.test(what)) return "fence";
    return "other";
  }

  // What is guaranteed after a step.
  function after(state, what) {
    if (/^nt-|non-temporal/.test(what)) return "pending";
    if (what === "persistent" || /sync/.test(what)) return "persistent";
    switch (family(what)) {
      case "store": return "dirty";
      case "flush": return state === "dirty" ? "pending" : state;
      case "fence": return state === "pending" ? "persistent" : state;
      default: return state;
    }
  }

  // The steps in order, with those that should have been there.
  function withMissing(f) {
    const steps = [...f.steps].sort((a, b) => a.event - b.event);
    const last = (name) => steps.map((s) => family(s.what)).lastIndexOf(name);
    const ghost = (what, at) => {
      const before = steps[at];
      steps.splice(at + 1, 0, { what, ghost: true, thread: before ? before.thread : 0, text: "missing" });
    };
    if (f.kind === "missing-fence" && last("flush") >= 0) ghost("fence", last("flush"));
    else if (f.kind === "missing-flush" && last("store") >= 0) ghost("flush", last("store"));
    else if (f.kind === "missing-flush-and-fence" && last("store") >= 0) {
      const at = last("store");
      ghost("flush", at);
      ghost("fence", at + 1);
    }
    return steps;
  }

  const cut = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);

  function mark(step, x, y, here) {
    const ghost = step.ghost ? "ghost" : family(step.what);
    const label = step.ghost ? "ghost-text" : "";
    return svg("g", {},
      svg("title", {}, [words(step.what), step.text, step.ghost ? "" : `event ${step.event}, thread ${step.thread}`].filter(Boolean).join("\n")),
      svg("circle", { cx: x, cy: y, r: 8, class: ghost }),
      here ? svg("circle", { cx: x, cy: y, r: 13, class: "here" }) : null,
      svg("text", { x, y: y - 18, "text-anchor": "middle", class: label, "font-weight": 600 }, words(step.what)),
      svg("text", { x, y: y + 25, "text-anchor": "middle", class: step.ghost ? label : "soft", "font-size": 11 }, cut(step.text || "", 22)));
  }

  function band(x, width, y, state) {
    if (width <= 0) return null;
    return svg("g", {},
      svg("rect", { x, y, width, height: 18, class: "band-" + state }),
      width > 60 ? svg("text", { x: x + width / 2, y: y + 13, "text-anchor": "middle",
        class: "band-text " + state }, state) : null);
  }

  function life(f) {
    const steps = withMissing(f);
    const threads = [...new Set(steps.map((s) => s.thread))].sort((a, b) => a - b);
    const bottom = TOP + LANE * threads.length;
    const right = LEFT + STEP * steps.length;
    const x = (i) => LEFT + STEP * i + STEP / 2 - 20;
    const y = (thread) => TOP + LANE * threads.indexOf(thread);
    const picture = svg("svg", { width: right, height: bottom + 44, role: "img", "aria-label":
      "Life of the line: " + steps.map((s) => words(s.what) + (s.ghost ? " (missing)" : "")).join(", then ") });
    for (const thread of threads) {
      picture.append(svg("text", { x: 6, y: y(thread) + 4, class: "soft" }, `thread ${thread}`),
        svg("line", { x1: LEFT - 20, x2: right - 8, y1: y(thread), y2: y(thread), class: "axis" }));
    }
    let state = "clean", from = LEFT - 20;
    picture.append(svg("text", { x: 6, y: bottom + 13, class: "soft" }, "the data is"));
    steps.forEach((step, i) => {
      if (!step.ghost) {
        const next = after(state, step.what);
        if (next !== state) {
          picture.append(...[band(from, x(i) - from, bottom, state)].filter(Boolean));
          from = x(i);
          state = next;
        }
        picture.append(svg("line", { x1: x(i), x2: x(i), y1: y(step.thread) + 32, y2: bottom + 22, class: "stem" }),
          svg("text", { x: x(i), y: bottom + 36, "text-anchor": "middle", class: "soft", "font-size": 11 }, `event ${step.event.toLocaleString("en")}`));
      }
      picture.append(mark(step, x(i), y(step.thread), !step.ghost && step.event === f.witness.event));
    });
    picture.append(...[band(from, right - 8 - from, bottom, state)].filter(Boolean));
    return el("div.life", { tabindex: "0" }, picture);
  }

  // --- the picture of a crash: the stores in the order of time, full if they survive and hollow if not ---

  function crashStore(store, i, x, y) {
    const kept = store.role === "persisted";
    const text = [where(store.location).split("/").pop(), store.location.function].filter(Boolean).join(" ");
    return svg("g", {},
      svg("title", {}, [words(store.role), where(store.location), store.message, `event ${store.event}`].filter(Boolean).join("\n")),
      svg("circle", { cx: x, cy: y, r: 11, class: kept ? "kept" : "gone" }),
      svg("text", { x, y: y + 4, "text-anchor": "middle", class: kept ? "letter kept-letter" : "letter" }, letter(i)),
      svg("text", { x, y: y - 20, "text-anchor": "middle", class: kept ? "kept-text" : "gone-text" }, words(store.role)),
      svg("text", { x, y: y + 30, "text-anchor": "middle", class: "soft", "font-size": 11 }, cut(text, 24)),
      svg("text", { x, y: y + 45, "text-anchor": "middle", class: "soft", "font-size": 11 }, `event ${store.event.toLocaleString("en")}`));
  }

  const letter = (i) => (i < 26 ? String.fromCharCode(65 + i) : String(i + 1));

  function crashLabel(f, stores) {
    const label = stores.map((s, i) => `store ${letter(i)} at ${where(s.location)} (${words(s.role)})`);
    return "The crash: " + [...label, `the crash before event ${f.witness.event}`].join(", then ");
  }

  // The same from top to bottom, where there is no room for all stores side by side.
  function tallPicture(f, stores) {
    const x = 20, y = (i) => 22 + 48 * i, end = y(stores.length);
    const picture = svg("svg", { width: 300, height: end + 24, role: "img", "aria-label": crashLabel(f, stores) });
    picture.append(svg("line", { x1: x, x2: x, y1: 4, y2: end, class: "axis" }));
    stores.forEach((store, i) => {
      const kept = store.role === "persisted";
      const text = [where(store.location).split("/").pop(), store.location.function].filter(Boolean).join(" ");
      picture.append(svg("circle", { cx: x, cy: y(i), r: 11, class: kept ? "kept" : "gone" }),
        svg("text", { x, y: y(i) + 4, "text-anchor": "middle", class: kept ? "letter kept-letter" : "letter" }, letter(i)),
        svg("text", { x: x + 22, y: y(i) - 3, class: kept ? "kept-text" : "gone-text" }, words(store.role)),
        svg("text", { x: x + 22, y: y(i) + 13, class: "soft", "font-size": 11 }, cut(text, 34) + `, event ${store.event.toLocaleString("en")}`));
    });
    picture.append(svg("polyline", { points: [[-14, 4], [-3, -6], [3, 6], [14, -4]].map(([dx, dy]) => `${x + dx},${end + dy}`).join(" "), class: "crash" }),
      svg("text", { x: x + 22, y: end + 4, class: "gone-text" }, `crash before event ${f.witness.event.toLocaleString("en")}`));
    return el("div.life", { tabindex: "0" }, picture);
  }

  function crashPicture(f) {
    const stores = f.related.filter((r) => r.role === "persisted" || r.role === "lost").sort((a, b) => a.event - b.event);
    if (290 + 160 * stores.length > Math.min(innerWidth, 820)) return tallPicture(f, stores);
    const y = TOP + 14, x = (i) => 90 + 160 * i, end = x(stores.length);
    const picture = svg("svg", { width: end + 200, height: y + 58, role: "img", "aria-label": crashLabel(f, stores) });
    picture.append(svg("line", { x1: 12, x2: end, y1: y, y2: y, class: "axis" }),
      ...stores.map((store, i) => crashStore(store, i, x(i), y)),
      svg("polyline", { points: [[4, -26], [-7, 2], [6, -2], [-4, 26]].map(([dx, dy]) => `${end + dx},${y + dy}`).join(" "), class: "crash" }),
      svg("text", { x: end + 14, y: y - 4, class: "gone-text" }, "crash"),
      svg("text", { x: end + 14, y: y + 12, class: "soft", "font-size": 11 }, `before event ${f.witness.event.toLocaleString("en")}`));
    return el("div.life", { tabindex: "0" }, picture);
  }

  // --- numbers over time: each a line of its own height, 0 to what it was at the end ---

  const HUES = 5;

  function chart(c) {
    const WIDTH = 760, HEIGHT = 170, RIGHT = 190, last = c.rows[c.rows.length - 1];
    const x = (row) => 8 + (WIDTH - 8) * (last[0] ? row[0] / last[0] : 1);
    const picture = svg("svg", { width: WIDTH + RIGHT, height: HEIGHT + 28, role: "img", "aria-label":
      `After ${last[0].toFixed(1)} seconds: ` + c.columns.slice(1).map((name, i) => `${last[i + 1]} ${name}`).join(", ") });
    picture.append(svg("line", { x1: 8, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: "axis" }),
      svg("text", { x: 8, y: HEIGHT + 18, class: "soft" }, "0 s"),
      svg("text", { x: WIDTH, y: HEIGHT + 18, "text-anchor": "end", class: "soft" }, `${last[0].toFixed(1)} s`));
    c.columns.slice(1).forEach((name, i) => {
      const top = Math.max(...c.rows.map((row) => row[i + 1]), 1), hue = "hue-" + (i % HUES);
      const y = (row) => HEIGHT - (HEIGHT - 12 - 6 * i) * row[i + 1] / top;
      const steps = c.rows.flatMap((row, k) => k ? [`${x(row)},${y(c.rows[k - 1])}`, `${x(row)},${y(row)}`] : [`${x(row)},${y(row)}`]);
      picture.append(svg("polyline", { points: steps.join(" "), class: "curve " + hue },
        svg("title", {}, `${name}: ${last[i + 1]}`)),
      svg("rect", { x: WIDTH + 16, y: 14 + 24 * i, width: 14, height: 4, class: "swatch " + hue }),
      svg("text", { x: WIDTH + 38, y: 21 + 24 * i }, `${last[i + 1].toLocaleString("en")} ${name}`));
    });
    return picture;
  }

  // --- the page ---

  function head() {
    $("what").textContent = [data.verb, data.model ? `model ${data.model}` : "", data.command.join(" ")].filter(Boolean).join(" · ");
    document.title = `Holdfast ${data.verb}: ${data.command[0] || ""}`;
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
    $("notes").append(...data.notes.map((note) => el("li", {}, note)));
    if (data.chart && data.chart.rows.length) {
      $("chart").hidden = false;
      $("chart").append(el("summary", {}, "Over time"), el("div.life", { tabindex: "0" }, chart(data.chart)));
    }
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
  $("filters").addEventListener("input", filter);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(filter));

  head();
  for (const level of LEVELS.filter((name) => findings.some((item) => item.f.level === name))) {
    $("level").append(el("option", { value: level }, level));
  }
  options($("kind"), findings.map((item) => item.f.kind));
  options($("file"), findings.map((item) => item.file));
  const linked = findings.find((item) => "#" + item.f.id === location.hash);
  if (linked && linked.suppressed) $("suppressed").checked = true;
  filter();
  if (linked) choose(linked, false);
})();
