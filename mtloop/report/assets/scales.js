// Axes of a chart: from values to pixels and back, ticks, numbers as text, and the points that a screen can show.
const TICK_STEPS = [1, 2, 5, 10];
const MAX_DECIMALS = 20; // more are an error in some browsers
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

class AxisScale {
  constructor(log, range, pixels) {
    this.log = log;
    this.range = range;
    this.pixels = pixels;
    this.change = log ? Math.log10 : Number;
    this.restore = log ? (power) => 10 ** power : Number;
    this.from = this.change(range[0]);
    this.perUnit = (pixels[1] - pixels[0]) / (this.change(range[1]) - this.from);
  }

  at(value) {
    return this.pixels[0] + (this.change(value) - this.from) * this.perUnit;
  }

  valueAt(pixel) {
    return this.restore(this.from + (pixel - this.pixels[0]) / this.perUnit);
  }

  contains(value) {
    return value >= this.range[0] && value <= this.range[1];
  }

  get length() {
    return Math.abs(this.pixels[1] - this.pixels[0]);
  }
}

// The smallest and the largest number; null if there is none. A logarithmic axis has no place for 0.
function extentOf(values, log = false) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!isNumber(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

function padded([low, high], share, log) {
  if (log) return padded([Math.log10(low), Math.log10(high)], share, false).map((power) => 10 ** power);
  const margin = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * share;
  return [low - margin, high + margin];
}

function linearTicks([low, high], count, smallest = 0) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(power * TICK_STEPS.find((factor) => factor * power >= rough * 0.999), smallest);
  const first = Math.ceil(low / step - 1e-9);
  const length = Math.min(count + 2, Math.floor(high / step + 1e-9) - first + 1);
  if (!(length > 0)) return [givenTick(low)]; // NaN too: the axis is too short for its numbers
  const values = new Set(Array.from({ length }, (_, n) => (first + n) * step));
  const decimals = Math.min(MAX_DECIMALS, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return [...values].map((value) => ({ value, text: numberText(value, decimals) }));
}

// Powers of ten; on a short axis 2 and 5 too, and ordinary ticks if even those are too few.
function logTicks([low, high], count) {
  const decades = Math.log10(high / low);
  const factors = decades * 3 <= count + 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += every) {
    values.push(...factors.map((factor) => factor * 10 ** power));
  }
  const shown = values.filter((value) => value >= low * 0.9999 && value <= high * 1.0001);
  return shown.length > 2 || decades >= 1 ? shown.map(givenTick) : linearTicks([low, high], count);
}

const givenTick = (value) => ({ value, text: value.toLocaleString("en", { maximumSignificantDigits: 6 }).replace("-", "−") });

function ticksOf(axis, scale, count, smallest) {
  const given = axis.ticks.filter((value) => scale.contains(value)).map(givenTick);
  if (given.length > 1 || (given.length && axis.ticks.length === 1)) return given;
  return axis.log ? logTicks(scale.range, count) : linearTicks(scale.range, count, smallest);
}

function numberText(value, decimals) {
  const rounded = Number(value.toFixed(decimals)) || 0; // no "-0"
  return rounded.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace("-", "−");
}

// Decimals that tell values apart on an axis of this length.
const decimalsFor = ([low, high]) => (high - low >= 5 ? 2 : high - low >= 0.5 ? 3 : 4);

// The index of the first value that is not smaller, in ascending numbers.
function lowerBound(numbers, value) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearestIndex(numbers, value, change = Number) {
  const after = Math.min(lowerBound(numbers, value), numbers.length - 1);
  const before = Math.max(after - 1, 0);
  const distance = (index) => Math.abs(change(numbers[index]) - change(value));
  return distance(before) <= distance(after) ? before : after;
}

// The distance between the two neighbours of the nearest of these numbers; Infinity if there are not two numbers.
function spacingAt(numbers, value, change) {
  const index = nearestIndex(numbers, value, change);
  const spacing = change(numbers[Math.min(index + 1, numbers.length - 1)]) - change(numbers[Math.max(index - 1, 0)]);
  return numbers.length > 1 && isNumber(spacing) ? spacing : Infinity;
}

// The indices of the points to draw: all of a short series; of a long one the first, lowest, highest and last per pixel.
function drawnIndices(x, y, scale) {
  const start = Math.max(0, lowerBound(x, scale.range[0]) - 1);
  const end = Math.min(x.length, lowerBound(x, scale.range[1]) + 2);
  if (end - start <= 3 * scale.length) return Array.from({ length: end - start }, (_, n) => start + n);
  const kept = [];
  let column = null;
  for (let i = start; i < end; i += 1) {
    const pixel = isNumber(y[i]) ? Math.round(scale.at(x[i])) : null;
    if (column && column.pixel === pixel && pixel !== null) extend(column, i, y);
    else {
      if (column) kept.push(...indicesOf(column));
      column = { pixel, first: i, low: i, high: i, last: i };
    }
  }
  return column ? [...kept, ...indicesOf(column)] : kept;
}

function extend(column, i, y) {
  if (y[i] < y[column.low]) column.low = i;
  if (y[i] > y[column.high]) column.high = i;
  column.last = i;
}

const indicesOf = ({ first, low, high, last }) => [...new Set([first, low, high, last])].sort((a, b) => a - b);
