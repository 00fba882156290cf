// SPDX-License-Identifier: BSD-3-Clause
// The list of what there is below the folder that is served.

function placeFigures(place) {
  const f = place.figures, parts = [];
  if (f.tested !== undefined) parts.push(plural(f.tested, "image tested", "images tested"));
  if (f.causes !== undefined) parts.push(plural(f.causes, "cause", "causes"));
  if (f.paths !== undefined) parts.push(plural(f.paths, "path", "paths"));
  if (f.pm_sites !== undefined) parts.push(plural(f.pm_sites, "PM site", "PM sites"));
  if (f.seconds !== undefined) parts.push(duration(f.seconds));
  return parts.join(" · ");
}

function placeRow(place) {
  const f = place.figures, whole = f.images || f.points, done = f.images ? f.tested : f.point;
  const levels = LEVELS.filter((level) => place.levels[level])
    .map((level) => el("span.badge." + level, {}, plural(place.levels[level], level, COUNTED[level])));
  const link = el("a", { href: `c/${place.path}/`, "data-path": place.path },
    el("span.place-name", {}, place.name),
    el("span.place-meta", {}, el("span.badge." + (place.running ? "running" : "quiet"), {}, place.state), el("span.kind", {}, place.kind), ...levels),
    el("span.place-meta", {}, el("span.kind", {}, placeFigures(place) || new Date(place.changed * 1000).toLocaleString("en-GB"))));
  const bar = place.running && whole > 0 ? el("progress", { max: whole, value: Math.min(done || 0, whole), "aria-label": `${place.name}: done` }) : null;
  return el("li", {}, link, bar);
}

function showList(news) {
  if (news.one) location.reload(); // the folder itself is one now
  const focus = document.activeElement && document.activeElement.dataset.path;
  $("places").replaceChildren(...news.places.map(placeRow));
  $("none").hidden = news.places.length > 0;
  if (focus) [...document.querySelectorAll("#places a")].find((a) => a.dataset.path === focus)?.focus();
}

showList(data);
follow(showList);
