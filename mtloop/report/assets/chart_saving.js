// Saving a chart as SVG or PNG: a copy with its title and a legend, and with the colours of this moment written into it.
const PNG_SCALE = 2;
const LEGEND_LINE = 18; // pixels
const SAVED_STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-family", "font-size", "font-weight"];

function addSaveButtons(drawing) {
  const tools = document.createElement("span");
  tools.className = "chart-tools";
  tools.append(saveButton(drawing, "SVG", saveAsSvg), saveButton(drawing, "PNG", saveAsPng));
  (drawing.box.closest("figure")?.querySelector("figcaption") ?? drawing.box).append(tools);
}

function saveButton(drawing, kind, save) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = kind;
  button.setAttribute("aria-label", `Save the chart ${drawing.chart.title} as ${kind}`);
  button.addEventListener("click", () => save(drawing));
  return button;
}

const saveAsSvg = (drawing) => download(new Blob([savedSvg(drawing).text], { type: "image/svg+xml" }), `${drawing.chart.name}.svg`);

function saveAsPng(drawing) {
  const { text, width, height } = savedSvg(drawing);
  const image = new Image(width, height);
  const canvas = Object.assign(document.createElement("canvas"), { width: width * PNG_SCALE, height: height * PNG_SCALE });
  image.addEventListener("load", () => {
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((content) => download(content, `${drawing.chart.name}.png`), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function download(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The title goes above the chart and the legend below it; the copy is styled in the page, outside the visible part.
function savedSvg(drawing) {
  const { svg, box, width } = drawing;
  const legend = legendLines(drawing);
  const height = drawing.height + (legend.length + 2) * LEGEND_LINE;
  const content = [...svg.cloneNode(true).children].filter((part) => !part.matches(".rule, .selection"));
  const copy = svgElement("svg", { xmlns: SVG_NAMESPACE, class: "saved", width, height, viewBox: `0 0 ${width} ${height}` },
    svgElement("rect", { class: "paper", width, height }),
    svgElement("text", { class: "chart-title", x: 8, y: LEGEND_LINE }, drawing.shortened(drawing.chart.title, width * 0.85)),
    svgElement("g", { transform: `translate(0 ${LEGEND_LINE * 1.5})` }, ...content),
    svgElement("g", { transform: `translate(8 ${drawing.height + LEGEND_LINE * 2})` }, ...legend));
  box.append(copy);
  for (const part of copy.querySelectorAll("*")) writeStyle(part);
  copy.remove();
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function writeStyle(part) {
  const style = getComputedStyle(part);
  for (const name of SAVED_STYLES) part.setAttribute(name, style.getPropertyValue(name));
}

function legendLines(drawing) {
  return drawing.shown.filter((series) => series.legend).map((series, line) =>
    svgElement("g", { transform: `translate(0 ${line * LEGEND_LINE})` },
      svgElement("path", { class: `curve ${styleClass(series)}`, d: "M0 0H24" }),
      svgElement("text", { class: "tick", x: 32, dy: "0.32em" }, drawing.shortened(series.label, drawing.width - 48))));
}
