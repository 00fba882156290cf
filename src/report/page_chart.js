// SPDX-License-Identifier: BSD-3-Clause
// Numbers over time: a small chart for each, with a cursor for mouse and keyboard.

// What arrow keys and the mouse do to something with `count` positions; `go` shows one of them.
function steer(node, count, go) {
  let at = count() - 1;
  const to = (i) => {
    at = Math.min(Math.max(i, 0), count() - 1);
    if (at >= 0) go(at);
  };
  node.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.round(count() / 10));
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: page, PageDown: -page };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in by) to(at + by[event.key]);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(count() - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { to, at: () => at };
}

const short = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1));

function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 60) return seconds < 10 ? `${seconds.toFixed(1)} s` : `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

const WIDE = 300, HIGH = 64;

function chartFigure(name, rows, column, hue) {
  const last = rows[rows.length - 1], end = last[0] || 1, top = Math.max(...rows.map((row) => row[column]), 1);
  const x = (row) => WIDE * row[0] / end, y = (row) => HIGH - 2 - (HIGH - 8) * row[column] / top;
  const line = `M0 ${HIGH - 2}` + rows.map((row) => `H${x(row).toFixed(2)}V${y(row).toFixed(2)}`).join("");
  const cursor = svg("line", { y1: 0, y2: HIGH, class: "cursor", visibility: "hidden" });
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { d: `${line}V${HIGH}H0Z`, class: "area hue-" + hue }), svg("path", { d: line, class: "curve hue-" + hue }), cursor);
  const value = el("b", {}, short(last[column])), when = el("span", {}, duration(last[0]));
  const plot = el("div.plot", { tabindex: "0", role: "slider", "aria-label": `${name} over time`,
    "aria-valuemin": "0", "aria-valuemax": String(rows.length - 1) }, picture);
  const show = (i, mark = true) => {
    value.textContent = short(rows[i][column]);
    when.textContent = duration(rows[i][0]);
    cursor.setAttribute("x1", x(rows[i]));
    cursor.setAttribute("x2", x(rows[i]));
    cursor.setAttribute("visibility", mark ? "visible" : "hidden");
    plot.setAttribute("aria-valuenow", String(i));
    plot.setAttribute("aria-valuetext", `${short(rows[i][column])} ${name} after ${duration(rows[i][0])}`);
  };
  const hand = steer(plot, () => rows.length, show);
  const rest = () => show(rows.length - 1, false);
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect(), t = end * (event.clientX - box.left) / box.width;
    const i = rows.findIndex((row) => row[0] > t);
    hand.to((i < 0 ? rows.length : i) - 1);
  });
  plot.addEventListener("pointerleave", rest);
  plot.addEventListener("blur", rest);
  rest();
  return el("figure", {}, el("figcaption", {}, el("span", {}, name), value, when), plot);
}

const HUES = 5;

// All of them; a chart that is shown already keeps the one that has the focus.
function showChart(c) {
  $("chart").hidden = !c || !c.rows.length;
  if ($("chart").hidden || $("chart").contains(document.activeElement)) return;
  const all = c.columns.slice(1).map((name, i) => [name, i + 1]).filter(([, i]) => c.rows.some((row) => row[i] > 0));
  $("figures").replaceChildren(...all.map(([name, i]) => chartFigure(name, c.rows, i, (i - 1) % HUES)));
}
