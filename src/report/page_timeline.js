// SPDX-License-Identifier: BSD-3-Clause
// The persistence timeline of a crash: what happens to the cache lines concerned, event by event, up to the crash.
// An event is as wide as any other, whatever lies between them. With zoom: buttons, keys, the wheel with Ctrl.

const FATES = { store: "store, guaranteed", ahead: "store, there by chance", lost: "store, lost", flush: "flush",
  persistent: "all before it is guaranteed", fence: "fence", sync: "sync", begin: "operation begins", crash: "the crash" };
const LANE_HIGH = 58, HEAD_HIGH = 26;

// Every event once, in order, with what happens at it.
function timelineEvents(w) {
  const at = new Map();
  const add = (step, lane) => {
    if (!at.has(step.event)) at.set(step.event, { event: step.event, steps: [] });
    at.get(step.event).steps.push({ ...step, lane });
  };
  w.lines.forEach((line, lane) => line.steps.forEach((step) => add(step, lane)));
  (w.fences || []).forEach((step) => add(step, -1));
  const first = Math.min(...at.keys(), w.event);
  for (const op of w.in_flight || []) {
    if (op.begin >= first) add({ event: op.begin, thread: op.thread, what: "begin", text: operationName(op) }, -1);
  }
  const all = [...at.values()].sort((a, b) => a.event - b.event);
  all.push({ event: w.event, steps: [{ event: w.event, what: "crash", lane: -1 }] });
  return all;
}

const operationName = (op) => `operation ${op.index}` + (op.name ? ` '${op.name}'` : "") + (op.id !== op.index ? ` (id ${op.id})` : "");

function eventText(w, event) {
  const what = event.steps.map((s) => [FATES[s.what] || words(s.what), s.lane >= 0 ? `to ${w.lines[s.lane].data}` : "",
    s.text ? `at ${s.text}` : ""].filter(Boolean).join(" "));
  const thread = (event.steps.find((s) => s.thread) || {}).thread;
  return `event ${event.event.toLocaleString("en")}${thread ? `, thread ${thread}` : ""}: ${[...new Set(what)].join("; ")}`;
}

// What is guaranteed of a line after each of its events: for the bands.
function laneStates(line, events) {
  let state = "clean";
  return events.map((event) => {
    for (const step of event.steps.filter((s) => s.lane === line)) {
      if (["store", "ahead", "lost"].includes(step.what)) state = "dirty";
      else if (step.what === "flush") state = state === "dirty" ? "pending" : state;
      else if (step.what === "persistent") state = state === "clean" ? state : "persistent";
    }
    return state;
  });
}

function stepMark(what, x, y) {
  if (what === "flush") return svg("path", { d: `M${x - 6} ${y}L${x} ${y - 7}L${x + 6} ${y}L${x} ${y + 7}Z`, class: "flush" });
  if (what === "persistent") return svg("path", { d: `M${x - 4} ${y}l3 4l6 -9`, class: "tick" });
  return svg("circle", { cx: x, cy: y, r: 7, class: { store: "kept", ahead: "chance", lost: "gone" }[what] || "other" });
}

function timeline(f) {
  const w = f.witness, events = timelineEvents(w), n = events.length;
  const states = w.lines.map((line, i) => laneStates(i, events));
  let from = Math.max(0, n - 14), to = n, chosen = n - 1;
  const said = el("output.told", { "aria-live": "polite" });
  const box = el("div.timeline", { tabindex: "0", role: "slider", "aria-label": "Events up to the crash",
    "aria-valuemin": "1", "aria-valuemax": String(n), "aria-describedby": "timeline-keys" });

  function draw() {
    const width = Math.max(box.clientWidth - 2, 280), step = width / (to - from), high = HEAD_HIGH + LANE_HIGH * w.lines.length;
    const x = (i) => (i - from + 0.5) * step, y = (lane) => HEAD_HIGH + LANE_HIGH * lane + 34;
    const picture = svg("svg", { width, height: high + 22, "aria-hidden": "true" });
    w.lines.forEach((line, lane) => {
      for (let i = Math.max(from - 1, 0); i < to - 1; i++) {
        picture.append(svg("rect", { x: x(i), y: y(lane) - 4, width: step + 0.5, height: 8, class: "band-" + states[lane][i] }));
      }
      picture.append(svg("text", { x: 4, y: y(lane) - 16, class: "lane-name" }, line.data));
    });
    for (let i = from; i < to; i++) drawEvent(picture, i, x(i), step, high, y);
    picture.append(svg("rect", { x: x(chosen) - 11, y: 2, width: 22, height: high + 16, rx: 5, class: "chosen" }));
    box.replaceChildren(picture);
  }

  function drawEvent(picture, i, x, step, high, y) {
    const event = events[i], every = Math.ceil(64 / step);
    for (const s of event.steps) {
      if (s.what === "ahead" && event.steps.some((t) => t.lane === s.lane && t.what === "lost")) continue; // in part
      if (s.what === "crash") picture.append(svg("path", { d: zigzag(x, high), class: "crash" }));
      else if (s.lane < 0) picture.append(svg("line", { x1: x, x2: x, y1: 14, y2: high, class: "fence-line " + s.what }));
      else picture.append(svg("g", {}, svg("title", {}, eventText(w, event)), stepMark(s.what, x, y(s.lane))));
      if ((s.lane < 0) && step > 44) picture.append(svg("text", { x: i === n - 1 ? x + 10 : x, y: 11, "text-anchor": i === n - 1 ? "end" : "middle", class: "soft", "font-size": 11 }, s.what));
      if (s.lane >= 0 && s.text && step > 118) {
        picture.append(svg("text", { x, y: y(s.lane) + 21, "text-anchor": "middle", class: "soft", "font-size": 11 }, cut(s.text, Math.floor(step / 6.4))));
      }
    }
    if ((i - from) % every === 0) {
      const side = x < 40 ? "start" : "middle";
      picture.append(svg("text", { x: side === "start" ? 2 : x, y: high + 18, "text-anchor": i === n - 1 ? "end" : side, class: "soft", "font-size": 11 },
        event.event.toLocaleString("en")));
    }
  }

  function zigzag(x, high) {
    let d = `M${x} 14`;
    for (let at = 14; at < high - 4; at += 10) d += `l${at % 20 < 10 ? 4 : -4} 10`;
    return d;
  }

  function zoom(by, around = chosen) {
    const size = Math.min(Math.max(Math.round((to - from) * by), Math.min(4, n)), n);
    from = Math.min(Math.max(Math.round(around - size * (around - from + 0.5) / (to - from)), 0), n - size);
    to = from + size;
    draw();
  }

  function choose(i) {
    const size = to - from;
    chosen = i;
    if (i < from || i >= to) from = Math.min(Math.max(i < from ? i : i - size + 1, 0), n - size);
    to = from + size;
    box.setAttribute("aria-valuenow", String(i + 1));
    box.setAttribute("aria-valuetext", eventText(w, events[i]));
    said.textContent = eventText(w, events[i]);
    draw();
  }

  const hand = steer(box, () => n, choose);
  const all = () => { from = 0; to = n; draw(); };
  box.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") all();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const eventAt = (pointer) => {
    const side = box.getBoundingClientRect();
    return Math.min(Math.max(from + Math.floor((to - from) * (pointer.clientX - side.left) / side.width), 0), n - 1);
  };
  box.addEventListener("click", (event) => hand.to(eventAt(event)));
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.5 : 2, eventAt(event));
  }, { passive: false });
  let wide = 0;
  new ResizeObserver(() => { if (box.clientWidth !== wide) { wide = box.clientWidth; choose(chosen); } }).observe(box);

  const button = (text, label, act) => {
    const b = el("button", { type: "button", "aria-label": label, title: label }, text);
    b.addEventListener("click", act);
    return b;
  };
  const tools = el("div.tools", { role: "toolbar", "aria-label": "Zoom of the timeline" },
    button("−", "zoom out", () => zoom(2)), button("+", "zoom in", () => zoom(0.5)), button("All", "show all events", all),
    button("◀", "event before", () => hand.to(chosen - 1)), button("▶", "next event", () => hand.to(chosen + 1)),
    el("span.kind", { id: "timeline-keys" }, "keys: ← → event, + − zoom, 0 all"));
  const legend = el("p.legend", { "aria-hidden": "true" }, ...["store", "ahead", "lost", "flush", "persistent"].map((what) =>
    el("span", {}, svg("svg", { width: 18, height: 18 }, stepMark(what, 9, 9)), FATES[what])));
  return el("div", {}, tools, box, said, legend,
    w.lines_cut ? el("p.kind", {}, "Earlier events of these lines are left out.") : null);
}

// --- what the crash image lacks, and what was under way ---

function fieldName(field) {
  if (field.member === undefined) return "";
  return (field.object ? field.object + (field.member ? "." : "") : "") + field.member + (field.type ? ` (${field.type})` : "");
}

function fields(w) {
  const cell = (label, text) => el("td", { "data-label": label }, text);
  const rows = w.fields.map((field) => el("tr", {},
    el("th", { scope: "row" }, fieldName(field) || field.data, fieldName(field) ? el("span.kind", {}, field.data) : null),
    cell("has", field.has === undefined ? `${field.size} bytes` : field.has), cell("should be", field.should === undefined ? "differ" : field.should),
    el("td", { "data-label": "stored at" }, field.at || "?", field.statement ? el("code", {}, field.statement) : null)));
  return el("div.fields", {}, el("table", {}, el("caption", {}, "The crash image beside the one with nothing lost"),
    el("thead", {}, el("tr", {}, ["field", "has", "should be", "stored at"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows)),
  w.fields_all ? el("p.kind", {}, `… and ${plural(w.fields_all - w.fields.length, "field", "fields")} more: holdfast diff`) : null);
}

function inFlight(w) {
  return el("ul", {}, w.in_flight.map((op) => el("li", {}, `${operationName(op)}, since event ${op.begin.toLocaleString("en")}, thread ${op.thread}`,
    op.input ? el("code", {}, op.input) : null)));
}
