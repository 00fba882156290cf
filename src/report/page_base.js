// SPDX-License-Identifier: BSD-3-Clause
// The report page: what all its parts use. The parts are joined in one function (embed.py).
let data = JSON.parse(document.getElementById("data").textContent);
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
