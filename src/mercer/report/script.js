"use strict";
// The page is whole without this script. It shows the numbers of a mark under the pointer or the arrow keys, and saves
// all numbers. Texts come from the data- attributes of the marks, and go into the page as text.

const NEAR = 30; // how far from a place the pointer may be, in units of the picture
const PLACE = /[ML](-?[\d.]+) (-?[\d.]+)(?:V(-?[\d.]+)H(-?[\d.]+)|H(-?[\d.]+)V(-?[\d.]+))?/g;
const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] };
const texts = (joined) => (joined === undefined ? [] : joined.split("\n"));

// The places of a path: points as they are, bars and cells with their box.
function places(mark) {
  const path = mark.getAttribute("d") ?? [...mark.children].map((part) => part.getAttribute("d")).join("");
  const found = [...path.matchAll(PLACE)].map((match) => {
    const [x, y, top, right, across, down] = match.slice(1).map((text) => (text === undefined ? null : Number(text)));
    if (top !== null) return { x: (x + right) / 2, y: top, box: [x, -Infinity, right, Infinity] };
    if (across === null) return { x, y };
    return { x: (x + across) / 2, y: (y + down) / 2, box: [Math.min(x, across), Math.min(y, down), Math.max(x, across), Math.max(y, down)] };
  });
  if (!mark.classList.contains("band")) return found;
  return found.slice(0, found.length / 2).map((low, i) => ({ x: low.x, y: (low.y + found[found.length - 1 - i].y) / 2 }));
}

function seriesOf(picture) {
  const area = picture.querySelector(".area").viewBox.baseVal;
  const inside = (p) => p.x >= area.x - 1 && p.x <= area.x + area.width + 1 && p.y >= area.y - 1 && p.y <= area.y + area.height + 1;
  return [...picture.querySelectorAll("[data-x]")].map((mark) => {
    const { x, y, z, text, name, what } = mark.dataset;
    const said = { x: texts(x), y: texts(y), z: texts(z), text: texts(text) };
    const stops = places(mark).map((place, i) => ({ ...place, i })).filter(inside);
    stops.sort((a, b) => (z === undefined ? 0 : b.y - a.y) || a.x - b.x);
    return { mark, name, what, said, stops, shared: x };
  });
}

// What is said of a place: what it is, where it is, and the value of every mark that shares its places.
function lines(picture, all, one, stop) {
  const { across, up } = picture.dataset, { i } = stop, { said } = one;
  const x = `${across}: ${said.x[i]}`, y = `${up}: ${said.y[i]}`;
  if (one.what) return [x, y, `${one.what}: ${said.z[i]}`];
  const beside = all.filter((other) => other.shared === one.shared);
  if (beside.length < 2) return [[one.name, said.text[i]].filter(Boolean).join(": "), x, y];
  return [x, ...beside.map((other) => `${other.name ?? up}: ${other.said.y[i]}`)];
}

function made(kind, attributes) {
  const element = kind === "circle" ? document.createElementNS("http://www.w3.org/2000/svg", kind) : document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function enliven(plot) {
  const picture = plot.querySelector("svg"), wide = picture.viewBox.baseVal.width;
  const hint = made("div", { class: "hint", role: "status", hidden: "" }), spot = made("circle", { class: "spot", r: 6 });
  let all = null, at = null; // the series, made when they are needed, and [series, stop] of the keyboard
  plot.append(hint);
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", `${picture.getAttribute("aria-label")} Arrow keys go from point to point.`);

  const series = () => (all ??= seriesOf(picture).filter((one) => one.stops.length));
  const hide = () => { hint.hidden = true; spot.remove(); };
  const show = (one, stop) => {
    hint.replaceChildren(...lines(picture, series(), one, stop).filter(Boolean).map((text) => {
      const row = made("div", {});
      row.textContent = text;
      return row;
    }));
    hint.hidden = false;
    spot.setAttribute("cx", stop.x);
    spot.setAttribute("cy", stop.y);
    picture.append(spot);
    const scale = plot.clientWidth / wide, y = stop.y * scale, left = stop.x * scale - hint.offsetWidth / 2;
    hint.style.left = `${Math.max(0, Math.min(left, plot.clientWidth - hint.offsetWidth))}px`;
    hint.style.top = `${y > hint.offsetHeight + 12 ? y - hint.offsetHeight - 12 : y + 14}px`;
  };
  const away = (one, stop, x, y) => {
    if (!stop.box) return Math.hypot(stop.x - x, stop.y - y) + (one.mark.classList.contains("band") ? NEAR / 2 : 0);
    const [left, top, right, bottom] = stop.box;
    return x >= left && x <= right && y >= top && y <= bottom ? NEAR / 3 : Infinity;
  };
  const hover = (event) => {
    const box = picture.getBoundingClientRect(), scale = wide / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best = null, least = NEAR;
    for (const one of series()) for (const stop of one.stops) {
      const far = away(one, stop, x, y);
      if (far < least) [best, least] = [[one, stop], far];
    }
    if (best) show(...best); else hide();
  };
  const step = (event) => {
    if (event.key === "Escape") hide();
    if (!(event.key in MOVES) || !series().length) return;
    event.preventDefault();
    const [other, further] = MOVES[event.key], [s, k] = at ?? [0, -1];
    const one = all[(s + other + all.length) % all.length];
    at = [all.indexOf(one), Math.max(0, Math.min(k + further, one.stops.length - 1))];
    show(one, one.stops[at[1]]);
  };
  for (const name of ["pointermove", "pointerdown"]) picture.addEventListener(name, hover);
  for (const name of ["pointerleave", "blur"]) plot.addEventListener(name, hide);
  plot.addEventListener("keydown", step);
}

function saving() {
  const button = document.getElementById("save"), numbers = document.getElementById("findings");
  if (!numbers) return;
  button.closest("p").hidden = false;
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([numbers.textContent], { type: "application/json" }));
    made("a", { href: address, download: "report.json" }).click();
    URL.revokeObjectURL(address);
  });
}

saving();
for (const plot of document.querySelectorAll(".plot")) if (plot.querySelector("[data-x]")) enliven(plot);
