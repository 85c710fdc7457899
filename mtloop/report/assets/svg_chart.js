// A chart as SVG. The data come from drawing_data.py; colours and fonts come from chart.css, so a change of the colour
// scheme needs no new drawing.
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const MARGIN = { top: 10, right: 18, bottom: 46, title: 22 };
const SYMBOL_SIZE = 3.4; // half the width of a symbol, in pixels
const SYMBOLS = {
  circle: [],
  square: [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
  diamond: [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
  "triangle-up": [[0, -1.1], [1.1, 0.8], [-1.1, 0.8]],
  "triangle-down": [[0, 1.1], [1.1, -0.8], [-1.1, -0.8]],
  x: [[-1, -0.5], [-0.5, -1], [0, -0.5], [0.5, -1], [1, -0.5], [0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5], [-0.5, 1], [-1, 0.5], [-0.5, 0]],
  cross: [[-0.35, -1.1], [0.35, -1.1], [0.35, -0.35], [1.1, -0.35], [1.1, 0.35], [0.35, 0.35], [0.35, 1.1], [-0.35, 1.1], [-0.35, 0.35], [-1.1, 0.35], [-1.1, -0.35], [-0.35, -0.35]],
};
const MIN_ZOOM = 1e-6; // of the whole axis
const POINT_ZOOM = 1.5; // of the distance between the neighbours of a point
let chartCount = 0;

function svgElement(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const pixelText = (value) => String(Math.round(value * 10) / 10);
const styleClass = (series) => `series-${series.shade} ${series.dash}`;

class SvgChart {
  constructor(box, chart) {
    this.box = box;
    this.chart = chart;
    this.hidden = new Set();
    this.zoomed = null; // the x range after zooming
    this.everything = false; // shows all values, not only the initial y range
    this.clip = `chart-clip-${(chartCount += 1)}`;
    this.svg = svgElement("svg", { role: "img", tabindex: 0, "aria-label": this.label });
    box.classList.add("chart");
    box.append(this.svg);
    this.ruler = document.createElement("canvas").getContext("2d");
    new ResizeObserver(() => this.resized()).observe(box);
    this.draw();
  }

  get label() {
    const { title, x, y } = this.chart;
    return `Chart: ${title}; ${y.title} over ${x.title}`;
  }

  get shown() {
    return this.chart.series.filter((series) => !this.hidden.has(series.name));
  }

  // Hides or shows the series of a system.
  hide(system, hidden) {
    if (hidden) this.hidden.add(system);
    else this.hidden.delete(system);
    this.draw();
  }

  zoom(range) {
    this.zoomed = range && this.fitted(range);
    this.draw();
  }

  // The range, moved into the whole axis and wide enough for a few points; null is the whole axis.
  fitted(range) {
    const { change, restore } = this.x;
    const [[from, to], [low, high]] = [range, this.wholeRange].map((ends) => ends.map(change));
    const width = Math.max(to - from, this.smallestWidth((from + to) / 2, high - low));
    if (!(width < high - low)) return null;
    const start = Math.min(high - width, Math.max(low, (from + to - width) / 2));
    return [start, start + width].map(restore);
  }

  smallestWidth(middle, whole) {
    const { change, restore } = this.x;
    const spacings = this.chart.series.map((series) => spacingAt(series.x, restore(middle), change));
    return Math.max(MIN_ZOOM * whole, POINT_ZOOM * Math.min(...spacings));
  }

  get wholeRange() {
    return this.chart.x.range ?? this.xRange();
  }

  // First back to the whole stream, then between the initial and the full y range.
  zoomOut() {
    if (!this.zoomed) this.everything = !this.everything;
    this.zoom(null);
  }

  resized() {
    if (this.box.clientWidth !== this.width || this.box.clientHeight !== this.height) this.draw();
  }

  draw(width = this.box.clientWidth, height = this.box.clientHeight) {
    if (!width || !height) return; // not visible
    [this.width, this.height] = [width, height];
    this.ruler.font = `12px ${getComputedStyle(this.box).fontFamily}`;
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
      this.svg.setAttribute(name, value);
    }
    this.setScales();
    this.svg.replaceChildren(...this.parts());
    this.box.dispatchEvent(new CustomEvent("drawn"));
  }

  setScales() {
    const { x, y } = this.chart;
    const bottom = this.height - MARGIN.bottom;
    const yScale = (yRange) => new AxisScale(y.log, yRange, [bottom, MARGIN.top]);
    const xRange = this.zoomed ?? this.wholeRange;
    this.y = yScale(this.yRange(xRange));
    this.yTicks = ticksOf(y, this.y, Math.max(2, Math.floor((bottom - MARGIN.top) / 30)));
    const left = MARGIN.title + 8 + Math.max(14, ...this.yTicks.map((tick) => this.textWidth(tick.text)));
    this.x = new AxisScale(x.log, xRange, [left, this.width - MARGIN.right]);
    this.xTicks = this.withoutOverlap(ticksOf(x, this.x, Math.max(2, Math.floor(this.x.length / 60)), this.smallestStep));
  }

  get smallestStep() {
    return this.chart.series.every((series) => series.x.every(Number.isInteger)) ? 1 : 0;
  }

  xRange() {
    const { log } = this.chart.x;
    const found = extentOf(this.chart.series.flatMap((series) => [series.x[0], series.x.at(-1)]), log) ?? [1, 2];
    const hasSymbols = this.chart.series.some((series) => series.mode !== "line");
    return found[0] !== found[1] && !hasSymbols ? found : padded(found, 0.04, log);
  }

  yRange(xRange) {
    const { y, horizontal } = this.chart;
    if (y.range && !this.zoomed && !this.everything) return y.range;
    const values = this.shown.flatMap((series) => {
      const [start, end] = [lowerBound(series.x, xRange[0]), lowerBound(series.x, xRange[1] * (1 + 1e-9))];
      return [series.y, series.low, series.high].flatMap((column) => extentOf(column?.slice(start, end) ?? [], y.log) ?? []);
    });
    return padded(extentOf([...values, horizontal], y.log) ?? y.range ?? [1, 1], 0.06, y.log);
  }

  textWidth(text) {
    return this.ruler.measureText(text).width;
  }

  withoutOverlap(ticks) {
    const room = (one, next) => Math.abs(this.x.at(next.value) - this.x.at(one.value));
    const needed = (one, next) => (this.textWidth(one.text) + this.textWidth(next.text)) / 2 + 8;
    const crowded = ticks.slice(1).some((tick, n) => room(ticks[n], tick) < needed(ticks[n], tick));
    return crowded ? this.withoutOverlap(ticks.filter((_, n) => n % 2 === 0)) : ticks;
  }

  parts() {
    const [left, right] = this.x.pixels;
    const [bottom, top] = this.y.pixels;
    const frame = svgElement("rect", { x: left, y: top, width: right - left, height: bottom - top });
    const lines = svgElement("g", { "clip-path": `url(#${this.clip})` }, ...this.guides(), ...this.shown.flatMap((one) => this.drawn(one)));
    return [
      svgElement("clipPath", { id: this.clip }, frame),
      ...this.yAxis(left, right), lines, ...this.xAxis(left, right, bottom), ...this.titles(left, right, bottom), ...this.emptyText(),
    ];
  }

  yAxis(left, right) {
    return this.yTicks.flatMap(({ value, text }) => {
      const y = pixelText(this.y.at(value));
      return [
        svgElement("line", { class: "grid-line", x1: left, x2: right, y1: y, y2: y }),
        svgElement("text", { class: "tick y-tick", x: left - 6, y, dy: "0.32em", "text-anchor": "end" }, text),
      ];
    });
  }

  xAxis(left, right, bottom) {
    const ticks = this.xTicks.flatMap(({ value, text }) => {
      const x = pixelText(this.x.at(value));
      return [
        svgElement("line", { class: "axis-line", x1: x, x2: x, y1: bottom, y2: bottom + 5 }),
        svgElement("text", { class: "tick x-tick", x, y: bottom + 18, "text-anchor": "middle" }, text),
      ];
    });
    const axis = `M${left} ${this.y.pixels[1]}V${bottom}H${right}`;
    return [svgElement("path", { class: "axis-line", d: axis }), ...ticks];
  }

  titles(left, right, bottom) {
    const middle = (bottom + this.y.pixels[1]) / 2;
    const turned = { class: "axis-title", transform: `translate(12 ${middle}) rotate(-90)`, "text-anchor": "middle" };
    return [
      svgElement("text", { class: "axis-title", x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, this.chart.x.title),
      svgElement("text", turned, this.shortened(this.chart.y.title, this.height - 20)),
    ];
  }

  shortened(text, width) {
    let shown = text;
    while (shown && this.textWidth(`${shown}…`) > width) shown = shown.slice(0, -1);
    return this.textWidth(text) <= width ? text : `${shown}…`;
  }

  guides() {
    const { vertical, horizontal } = this.chart;
    const [left, right] = this.x.pixels;
    const [bottom, top] = this.y.pixels;
    const across = isNumber(horizontal) ? [`M${left} ${pixelText(this.y.at(horizontal))}H${right}`] : [];
    return [
      ...vertical.map((x) => svgElement("path", { class: "guide start", d: `M${pixelText(this.x.at(x))} ${bottom}V${top}` })),
      ...across.map((d) => svgElement("path", { class: "guide level", d })),
    ];
  }

  emptyText() {
    if (extentOf(this.chart.series.flatMap((series) => extentOf(series.y) ?? []))) return [];
    const [x, y] = [(this.x.pixels[0] + this.x.pixels[1]) / 2, (this.y.pixels[0] + this.y.pixels[1]) / 2];
    return [svgElement("text", { class: "axis-title", x, y, "text-anchor": "middle" }, "nothing to show")];
  }

  // The elements of a series: its band, its line, its symbols.
  drawn(series) {
    const indices = drawnIndices(series.x, series.y, this.x);
    const points = indices.map((i) => this.point(series.x[i], series.y[i]));
    const style = styleClass(series);
    return [
      ...(series.low ? [svgElement("path", { class: `band ${style}`, d: this.bandPath(series) })] : []),
      ...(series.mode === "points" ? [] : [svgElement("path", { class: `curve ${style}`, d: linePath(points) })]),
      ...(series.mode === "line" ? lonePoints(points, style) : [svgElement("path", { class: `symbols ${style}`, d: symbolPath(points, series.symbol) })]),
    ];
  }

  point(x, y) {
    const [px, py] = isNumber(x) && isNumber(y) ? [this.x.at(x), this.y.at(y)] : [NaN, NaN];
    return isNumber(px) && isNumber(py) ? [px, py] : null;
  }

  bandPath({ x, low, high }) {
    const upper = x.map((value, i) => this.point(value, high[i]));
    const lower = x.map((value, i) => this.point(value, low[i]));
    return runsOf(upper.map((point, i) => point && lower[i] && [point, lower[i]]))
      .map((run) => polygon([...run.map(([above]) => above), ...run.map(([, below]) => below).reverse()]))
      .join("");
  }
}

// The parts of a series between its gaps.
function runsOf(points) {
  const runs = [[]];
  for (const point of points) {
    if (point) runs.at(-1).push(point);
    else if (runs.at(-1).length) runs.push([]);
  }
  return runs.filter((run) => run.length);
}

const pathOf = (points) => points.map(([x, y], n) => `${n ? "L" : "M"}${pixelText(x)} ${pixelText(y)}`).join("");
const polygon = (points) => `${pathOf(points)}Z`;
const linePath = (points) => runsOf(points).map(pathOf).join("");

// A point between two gaps has no line; draw it as a dot.
function lonePoints(points, style) {
  const alone = runsOf(points).filter((run) => run.length === 1).map(([point]) => point);
  return alone.length ? [svgElement("path", { class: `symbols ${style}`, d: symbolPath(alone, "circle") })] : [];
}

function symbolPath(points, symbol) {
  const corners = SYMBOLS[symbol] ?? [];
  const at = ([x, y]) => corners.map(([dx, dy]) => [x + dx * SYMBOL_SIZE, y + dy * SYMBOL_SIZE]);
  return points.filter(Boolean).map((point) => (corners.length ? polygon(at(point)) : circlePath(point))).join("");
}

function circlePath([x, y], radius = SYMBOL_SIZE) {
  const arc = (dx) => `a${radius} ${radius} 0 1 0 ${dx} 0`;
  return `M${pixelText(x - radius)} ${pixelText(y)}${arc(2 * radius)}${arc(-2 * radius)}Z`;
}
