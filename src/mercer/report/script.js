"use strict";
// The page is whole without this script. It shows the numbers of a mark under the pointer or the arrow keys, moves the
// sliders of "What if?", and saves all numbers. Texts come from the data, and go into the page as text.

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
  const drawn = ["circle", "svg", "path"].includes(kind);
  const element = drawn ? document.createElementNS("http://www.w3.org/2000/svg", kind) : document.createElement(kind);
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

// ---------------------------------------------------------------------------------------------- what if
// The formula of a kernel, as mercer/kernels/formula.py writes it down: steps on x, z, constants and results of earlier steps.
const OPERATIONS = {
  absolute: Math.abs, add: (a, b) => a + b, arctan: Math.atan, cos: Math.cos, cosh: Math.cosh, divide: (a, b) => a / b,
  exp: Math.exp, expm1: Math.expm1, log: Math.log, log1p: Math.log1p, maximum: Math.max, minimum: Math.min,
  multiply: (a, b) => a * b, negative: (a) => -a, positive: (a) => a, power: (a, b) => a ** b, reciprocal: (a) => 1 / a,
  sin: Math.sin, sinh: Math.sinh, sqrt: Math.sqrt, square: (a) => a * a, subtract: (a, b) => a - b, tan: Math.tan, tanh: Math.tanh,
};
const OVER_COLUMNS = {
  "add.reduce": (a) => a.reduce((total, v) => total + v, 0),
  "multiply.reduce": (a) => a.reduce((total, v) => total * v, 1),
  take: (a, places) => [places].flat().map((j) => a.at(j)),
};

// An operation, column by column where one of its arguments has columns.
function columnwise(operation) {
  return (a, b) => {
    if (Array.isArray(a)) return Array.isArray(b) ? a.map((v, j) => operation(v, b[j])) : a.map((v) => operation(v, b));
    return Array.isArray(b) ? b.map((v) => operation(a, v)) : operation(a, b);
  };
}

// A kernel of the data block as a function of two rows.
function kernelOf(steps) {
  const made = steps.map(([name, first, second]) => [OVER_COLUMNS[name] ?? columnwise(OPERATIONS[name]), first, second]);
  return (x, z) => {
    const results = [], value = (one) => one === "x" ? x : one === "z" ? z : Array.isArray(one) ? one[0] : results[one];
    for (const [operation, first, second] of made) results.push(operation(value(first), value(second)));
    return results.at(-1);
  };
}

// f(x) = Σ αⱼ k(x, xⱼ) + b; of a mixture a sum over its kernels, of several classes a number for each.
function modelOf({ points, parts, constant }) {
  const several = Array.isArray(constant), all = parts.map(({ kernel, coef }) => {
    const k = kernelOf(kernel);
    return (x, total) => points.forEach((point, j) => {
      const value = k(x, point);
      if (several) total.forEach((_, c) => { total[c] += coef[j][c] * value; }); else total[0] += coef[j] * value;
    });
  });
  return (x) => {
    const total = several ? constant.slice() : [constant];
    for (const part of all) part(x, total);
    return several ? total : total[0];
  };
}

function softmax(values) {
  const top = Math.max(...values), parts = values.map((value) => Math.exp(value - top)), all = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / all);
}

function written(value, range) {
  const size = Math.abs(value), fine = range ? Math.max(0, Math.min(6, Math.ceil(Math.log10(100 / range)))) : 0;
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2).replace("-", "−");
  const decimals = size >= 100 ? fine : Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(size || 1)) - 1));
  const [whole, rest] = size.toFixed(decimals).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return (value < 0 ? "−" : "") + grouped + (rest ? `.${rest}` : "");
}

const asDate = (days) => new Date(Math.floor(days) * 864e5).toISOString().slice(0, 10);
const asShare = (value) => `${(100 * value).toFixed(1)}\u00a0%`;
const WIDE = 240, HIGH = 74, STEPS = 31;
const COLOURS = ["blue", "orange", "green", "purple", "yellow", "sky", "ink"];

function sliders() {
  const box = document.getElementById("sliders"), block = document.getElementById("findings");
  const w = box && block ? JSON.parse(block.textContent).whatif : null;
  if (!w?.factors) return;
  const f = modelOf(w.model), link = w.link === "logistic" ? (v) => 1 / (1 + Math.exp(-v)) : (v) => v;
  const half = !w.width ? null : w.width.is === "constant" ? () => w.width.value : modelOf(w.width);
  const state = w.factors.map((one) => one.start);
  // The row of a setting, in the columns that a model reads.
  const row = (factors, begin, values) => {
    const x = begin.slice();
    factors.forEach((one, j) => {
      if (one.levels) one.columns.forEach((at, k) => { x[at] = one.states[values[j]][k]; });
      else x[one.columns[0]] = (values[j] - one.centre) / one.scale;
    });
    return x;
  };
  const coded = w.width?.factors, zeros = coded ? new Array(w.width.points[0].length).fill(0) : null;
  const answer = (values) => {
    const found = f(row(w.factors, w.start, values));
    if (w.classes) return softmax(found);
    const mean = link(found);
    if (!half) return [mean, mean, mean];
    const told = w.width.is === "constant" ? w.width.value : half(row(coded, zeros, values));
    const [below, above] = w.width.bounds ? told.map(Math.exp) : w.width.is === "constant" ? [told, told] : [Math.exp(told), Math.exp(told)];
    if (!w.width.bounds) return [mean, mean - below, mean + above];
    return [mean, Math.max(mean - below, w.width.bounds[0]), Math.min(mean + above, w.width.bounds[1])];  // a stand-in may be beyond
  };
  const first = answer(state), near = 1e-3 * (w.high - w.low) + (w.own ? 0 : 2 * w.error.largest);
  if (![w.typical].flat().every((value, k) => Math.abs(first[k] - value) <= near)) {
    box.textContent = "The sliders do not agree with the model here, and are not shown.";
    return;
  }
  const spread = half ? first[2] - first[0] : 0, low = w.low - spread, high = w.high + spread;
  const up = (value) => HIGH - 4 - (HIGH - 8) * Math.max(-0.1, Math.min(1.1, (value - low) / (high - low || 1)));
  const now = box.querySelector(".now"), interval = box.querySelector(".interval"), all = box.querySelector(".sliders");
  const redraw = [], steps = w.factors.length > 1 ? STEPS : 5 * STEPS;
  w.factors.forEach((one, j) => {
    const places = one.levels ? one.levels.map((_, k) => k) : Array.from({ length: steps }, (_, k) => one.low + (one.high - one.low) * k / (steps - 1));
    const across = (value) => (one.levels ? (value + 0.5) / places.length : (value - one.low) / (one.high - one.low || 1)) * (WIDE - 16) + 8;
    const picture = made("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "profile", "aria-hidden": "true" });
    const band = made("path", { class: "band c-sky" }), at = made("path", { class: w.classes ? "rule c-grey" : "rule c-orange" });
    const curves = (w.classes ?? [""]).map((_, c) => made("path", { class: `${one.levels ? "dots big" : "line"} c-${COLOURS[c]}` }));
    picture.append(band, ...curves, at);
    const id = `slider-${j}`, label = made("label", { for: id }), text = made("span", { class: "name" }), value = made("output", { for: id, class: "value" });
    text.textContent = one.name;
    label.append(text, value);
    const input = made(one.levels ? "select" : "input", { id });
    if (one.levels) one.levels.forEach((level, k) => { const option = made("option", { value: k }); option.textContent = level; input.append(option); });
    else for (const [name, given] of Object.entries({ type: "range", min: one.low, max: one.high, step: one.whole || one.dates ? 1 : (one.high - one.low) / 400 })) input.setAttribute(name, given);
    input.value = one.start;
    input.addEventListener("input", () => { state[j] = Number(input.value); update(); });
    const card = made("div", { class: "slider" });
    card.append(label, picture, input);
    all.append(card);
    redraw.push(() => {
      const curve = places.map((place) => answer(state.map((given, i) => (i === j ? place : given))));
      const d = (k) => curve.map((values, i) => `${across(places[i]).toFixed(1)} ${up(values[k]).toFixed(1)}`);
      curves.forEach((line, c) => line.setAttribute("d", one.levels ? d(c).map((place) => `M${place}h0`).join("") : `M${d(c).join("L")}`));
      if (half && one.levels) band.setAttribute("d", curve.map((values, i) => `M${across(i) - 5} ${up(values[1])}h10V${up(values[2])}h-10Z`).join(""));
      else if (half) band.setAttribute("d", `M${d(1).join("L")}L${d(2).reverse().join("L")}Z`);
      at.setAttribute("d", `M${across(state[j]).toFixed(1)} 2V${HIGH - 2}`);
      value.textContent = one.levels ? "" : one.dates ? asDate(state[j]) : written(state[j], one.whole ? 0 : one.high - one.low);
    });
  });
  const back = made("button", { type: "button", class: "back" });
  back.textContent = "Back to the middle";
  back.addEventListener("click", () => {
    w.factors.forEach((one, j) => { state[j] = one.start; document.getElementById(`slider-${j}`).value = one.start; });
    update();
  });
  const shares = (w.classes ?? []).map((name, c) => {
    const item = made("li", { class: `c-${COLOURS[c]}` }), text = made("span", { class: "name" }), value = made("span", { class: "value" });
    text.textContent = name;
    item.append(text, value);
    return { item, value };
  });
  if (w.classes) {
    const list = made("ul", { class: "shares" });
    list.append(...shares.map(({ item }) => item));
    interval.replaceWith(list);
  }
  box.querySelector(".answer").append(back);
  let asked = false;
  const draw = () => {
    asked = false;
    const found = answer(state), [mean, from, to] = found;
    now.textContent = w.classes ? w.classes[found.indexOf(Math.max(...found))] : w.link === "logistic" ? asShare(mean) : written(mean);
    shares.forEach(({ value }, c) => { value.textContent = asShare(found[c]); });
    if (!w.classes) interval.textContent = half ? `${Math.round(100 * w.coverage)} % of new rows: ${written(from)} to ${written(to)}` : "";
    for (const one of redraw) one();
  };
  const update = () => { if (!asked) { asked = true; requestAnimationFrame(draw); } };
  box.dataset.ready = "yes";
  draw();
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
sliders();
for (const plot of document.querySelectorAll(".plot")) if (plot.querySelector("[data-x]")) enliven(plot);
