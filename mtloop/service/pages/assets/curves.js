const passes = JSON.parse(document.getElementById("curves").textContent);
const plots = [...document.querySelectorAll("[data-plot]")];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const DASHES = ["solid", "dash", "dot", "dashdot"];
const SHADES = 6;

const AXES = {
  reward: { x: "samples (logarithmic)", y: "mean reward", log: true },
  regret: { x: "samples (logarithmic)", y: "mean regret", log: true },
  bleu: { x: "checkpoint", y: "BLEU", log: false },
  sentence_score: { x: "checkpoint", y: "mean reward", log: false },
};

// Running averages have positions in the stream, held-out scores have checkpoint numbers.
const points = (pass, name) =>
  AXES[name].log
    ? { x: pass.running.map((point) => point.position), y: pass.running.map((point) => point[name]) }
    : { x: pass.held_out.map((point) => point.block + 1), y: pass.held_out.map((point) => point[name]) };

function trace(pass, number, name) {
  const shade = colour(`--series-${(number % SHADES) + 1}`);
  return {
    ...points(pass, name),
    type: "scatter",
    mode: AXES[name].log ? "lines" : "lines+markers",
    name: `pass ${pass.pass}`,
    line: { color: shade, width: 2, dash: DASHES[Math.floor(number / SHADES) % DASHES.length] },
  };
}

function layout(name) {
  const [ink, soft, grid, paper] = ["--ink", "--soft", "--grid", "--paper"].map(colour);
  const axis = { gridcolor: grid, linecolor: soft, zerolinecolor: grid, automargin: true };
  const { x, y, log } = AXES[name];
  return {
    xaxis: { ...axis, title: { text: x }, type: log ? "log" : "linear", ...(log ? { dtick: 1 } : { tick0: 1, dtick: 1 }) },
    yaxis: { ...axis, title: { text: y } },
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { bgcolor: paper, font: { color: ink } },
    margin: { l: 56, r: 16, t: 8, b: 44 },
    showlegend: passes.length > 1,
    legend: { orientation: "h", y: 1.15 },
  };
}

// The buttons are listed because one of plotly's defaults would send the data to a server.
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };

function draw() {
  for (const plot of plots) {
    const name = plot.dataset.plot;
    Plotly.react(plot, passes.map((pass, number) => trace(pass, number, name)), layout(name), CONFIG);
  }
}

draw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
