// SPDX-License-Identifier: BSD-3-Clause
// The pictures of a finding.

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
