// SPDX-License-Identifier: BSD-3-Clause
// A page that `holdfast serve` has made hears how far the campaign is, and asks for the report when there is news.

// What a figure is called; those that are not known are left out.
const FIGURES = {
  tested: "images tested", failed: "failing states", causes: "causes", paths: "paths", candidates: "branches left",
  pm_sites: "PM sites", blocks: "blocks", findings: "findings", behaviours: "behaviours", proved: "proved", harmless: "harmless", open: "open",
};

function liveFigures(news) {
  const f = news.figures;
  const rows = Object.keys(FIGURES).filter((name) => f[name] !== undefined)
    .map((name) => [FIGURES[name], typeof f[name] === "number" ? short(f[name]) : f[name]]);
  if (f.tested !== undefined && f.seconds > 0) rows.splice(1, 0, ["a second", (f.tested / f.seconds).toFixed(1)]);
  if (news.running && f.at) rows.unshift(["strategy", f.at]);
  if (news.running && f.points !== undefined && f.point !== undefined) rows.push(["failure points", `${Math.min(f.point + 1, f.points).toLocaleString("en")} of ${short(f.points)}`]);
  if (!news.running && f.points !== undefined) rows.push(["failure points", short(f.points)]);
  if (f.seconds !== undefined) rows.push(["run time", duration(f.seconds)]);
  if (f.since_cause !== undefined) rows.push(["last new cause", news.running ? duration(f.since_cause) + " ago" : `after ${duration(Math.max(f.seconds - f.since_cause, 0))}`]);
  if (news.running && f.seconds_left > 0) rows.push(["time left, about", duration(f.seconds_left)]);
  return el("dl", {}, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
}

function showLive(news) {
  const f = news.figures, box = $("live");
  const whole = f.images > 0 && f.tested !== undefined ? f.images : f.points;
  const done = whole === f.images ? f.tested : f.point;
  box.hidden = false;
  $("state").textContent = news.state;
  $("state").className = "badge " + (news.running ? "running" : "quiet");
  $("bar").hidden = !(news.running && whole > 0);
  if (!$("bar").hidden) {
    $("bar").max = whole;
    $("bar").value = Math.min(done || 0, whole);
  }
  $("live-figures").replaceChildren(liveFigures(news));
  if (news.running) document.title = `${news.state}: ` + document.title.replace(/^[a-z]+: (?=Holdfast)/, "");
}

// Hears what the server says, as long as anybody sees the page: a browser has few connections for one server.
function follow(hear) {
  let source = null;
  const open = () => {
    source = new EventSource("events");
    source.addEventListener("message", (event) => hear(JSON.parse(event.data)));
    source.addEventListener("open", () => { $("gone").hidden = true; });
    source.addEventListener("error", () => { $("gone").hidden = false; });
  };
  const turn = () => {
    if (document.hidden && source) source.close();
    if (document.hidden) source = null;
    else if (!source) open();
  };
  document.addEventListener("visibilitychange", turn);
  turn();
}

function listen(load) {
  let version = document.documentElement.dataset.version;
  follow((news) => {
    showLive(news);
    if (news.chart) showChart(news.chart);
    if (news.version === version) return;
    version = news.version;
    fetch("report.json").then((answer) => (answer.ok ? answer.json() : null)).then((tree) => { if (tree) load(tree); }, () => {});
  });
}
