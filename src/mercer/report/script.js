"use strict";
// The page is whole without this script. It makes the charts live where plotly is in the page, and saves the numbers.

// The policy of the page forbids style attributes that are set as text; the same through the object model is allowed.
for (const [name, at] of [["setAttribute", 0], ["setAttributeNS", 1]]) {
  const original = Element.prototype[name];
  Element.prototype[name] = function (...given) {
    if (String(given[at]).toLowerCase() === "style") this.style.cssText = given[at + 1];
    else original.apply(this, given);
  };
}

const DASHES = ["solid", "6px,3px", "2px,2px", "7px,2px,2px,2px", "10px,3px"];
const SHAPES = { circle: "circle", square: "square", diamond: "diamond", triangle: "triangle-up", ring: "circle-open" };
const SHADES = [0.85, 0.68, 0.52, 0.38, 0.25, 0.14, 0.04];

// plotly reads some HTML in texts: what comes from the data is shown as it is written.
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function colours() {
  const style = getComputedStyle(document.documentElement);
  const found = (name) => style.getPropertyValue("--" + name).trim();
  const names = ["blue", "orange", "green", "purple", "yellow", "sky", "ink", "grey", "line", "muted", "card"];
  return Object.fromEntries(names.map((name) => [name, found(name)]));
}

function faint(colour, opacity) {
  const hex = colour.slice(1);
  const parts = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return `rgba(${parts.join(",")},${opacity})`;
}

function traces(chart, mark, c) {
  const name = plain(mark.name || chart.title);
  const base = { name, showlegend: false, hoverlabel: { namelength: 40 } };
  const colour = c[mark.colour] || c.grey;
  if (mark.kind === "line")
    return [{ ...base, x: mark.x, y: mark.y, mode: "lines", connectgaps: false, line: { color: colour, width: 2.2, dash: DASHES[mark.dash] } }];
  if (mark.kind === "points") {
    const marker = { color: colour, size: mark.big ? 11 : 6, symbol: SHAPES[mark.shape], opacity: mark.big ? 1 : 0.65 };
    if (mark.shape === "ring") marker.line = { color: colour, width: 2 };
    const text = mark.text ? mark.text.map(plain) : undefined;
    const hovertemplate = (text ? "%{text}<br>" : "") + "%{x:.4~g}, %{y:.4~g}<extra></extra>";
    return [{ ...base, x: mark.x, y: mark.y, mode: "markers", marker, text, hovertemplate }];
  }
  if (mark.kind === "band") {
    const edge = { ...base, x: mark.x, mode: "lines", line: { width: 0 }, hoverinfo: "skip" };
    return [{ ...edge, y: mark.low }, { ...edge, y: mark.high, fill: "tonexty", fillcolor: faint(colour, 0.28) }];
  }
  if (mark.kind === "bars") {
    const middle = mark.y.map((_, i) => (mark.edges[i] + mark.edges[i + 1]) / 2);
    const width = mark.y.map((_, i) => mark.edges[i + 1] - mark.edges[i]);
    return [{ ...base, type: "bar", x: middle, y: mark.y, width, marker: { color: colour, line: { color: c.card, width: 1 } }, hovertemplate: "%{x:.4~g}: %{y}<extra></extra>" }];
  }
  if (mark.kind === "cells") {
    const levels = mark.levels;
    const n = levels.length + 1;
    const high = mark.dark === "high";
    const count = (value) => levels.filter((limit) => value >= limit).length;
    const step = (value) => (value === null ? (high ? null : n - 1) : high ? n - 1 - count(value) : count(value));
    const text = mark.text ? mark.text.map((row) => row.map(plain)) : undefined;
    const place = text ? "%{text}" : "%{x:.3~g}, %{y:.3~g}";
    const scale = SHADES.slice(0, n).flatMap((o, i) => [[i / n, faint(c.blue, o)], [(i + 1) / n, faint(c.blue, o)]]);
    return [{ ...base, type: "heatmap", x: mark.x, y: mark.y, z: mark.z.map((row) => row.map(step)), customdata: mark.z, zmin: -0.5, zmax: n - 0.5, colorscale: scale, showscale: false, text, hoverongaps: false, hovertemplate: place + (high ? ": " : ": −") + "%{customdata:.3~g}<extra></extra>" }];
  }
  return [];
}

function rules(chart, c) {
  return chart.marks.filter((mark) => mark.kind === "rule").map((mark) => {
    const line = { color: c[mark.colour], width: 1.6, dash: DASHES[mark.dash] };
    if (mark.diagonal) {
      const low = Math.max(chart.x.domain[0], chart.y.domain[0]);
      const high = Math.min(chart.x.domain[1], chart.y.domain[1]);
      return { type: "line", x0: low, y0: low, x1: high, y1: high, line, layer: "below" };
    }
    if (mark.x !== null) return { type: "line", x0: mark.x, x1: mark.x, yref: "paper", y0: 0, y1: 1, line, layer: "below" };
    return { type: "line", y0: mark.y, y1: mark.y, xref: "paper", x0: 0, x1: 1, line, layer: "below" };
  });
}

function axis(spec, c) {
  const log = spec.scale === "log";
  const label = spec.label.length > 44 ? spec.label.slice(0, 43) + "…" : spec.label;
  const made = { title: { text: plain(label), standoff: 8 }, type: log ? "log" : "linear", range: log ? spec.domain.map(Math.log10) : spec.domain, gridcolor: c.line, linecolor: c.muted, zeroline: false, automargin: true, nticks: 6, exponentformat: "power" };
  if (log) made.dtick = Math.ceil(Math.log10(spec.domain[1] / spec.domain[0]) / 6);
  if (spec.ticks) Object.assign(made, { tickmode: "array", tickvals: spec.ticks.map((t) => t[0]), ticktext: spec.ticks.map((t) => plain(t[1])) });
  return made;
}

function draw(holder, chart) {
  const c = colours();
  const layout = { margin: { l: 52, r: 10, t: 8, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "ui-sans-serif, system-ui, sans-serif", size: 12, color: c.muted }, xaxis: axis(chart.x, c), yaxis: axis(chart.y, c), shapes: rules(chart, c), hovermode: "closest", dragmode: "zoom", showlegend: false };
  const config = { responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset" };
  let live = holder.querySelector(".live");
  if (!live) {
    live = document.createElement("div");
    live.className = "live";
    live.setAttribute("aria-hidden", "true"); // the still picture and the words beside it are what is read out
    holder.append(live);
  }
  holder.classList.add("is-live");
  return Plotly.react(live, chart.marks.flatMap((mark) => traces(chart, mark, c)), layout, config);
}

function enliven() {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const holders = new Map(charts.map((chart) => [document.getElementById("plot-" + chart.key), chart]));
  const drawn = new Set();
  const show = (holder) => {
    drawn.add(holder);
    draw(holder, holders.get(holder)).catch(() => holder.classList.remove("is-live")); // the still picture comes back
  };
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { watch.unobserve(entry.target); show(entry.target); }
  }, { rootMargin: "400px" });
  for (const holder of holders.keys()) if (holder) watch.observe(holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(show));
}

function saving() {
  const button = document.getElementById("save");
  button.closest("p").hidden = false;
  button.addEventListener("click", () => {
    const text = document.getElementById("findings").textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "report.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  saving();
  if (window.Plotly && document.getElementById("charts")) enliven();
});
