// The form of a new campaign: reads text files in the browser, and sends their lines to the API.
const systems = []; // {row, lines}
let sourceLines = null;
const field = (id) => document.getElementById(id);

class InvalidForm extends Error {}

async function linesOf(file) {
  if (!file) return [];
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    const lines = text.split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  } catch {
    throw new InvalidForm(say("not_text", { name: file.name }));
  }
}

// Runs an act, and says what is wrong in the form.
async function reading(act) {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof InvalidForm)) throw error;
    tell(error.message, true);
  }
}

async function addSystem(file) {
  const system = { row: copyOf("system-row"), lines: await linesOf(file) };
  const [input, button] = [system.row.querySelector("input"), system.row.querySelector("button")];
  input.value = file.name.replace(/\.[^.]+$/, "");
  const label = () => button.setAttribute("aria-label", say("remove_system", { name: input.value }));
  input.addEventListener("input", label);
  button.addEventListener("click", () => removeSystem(system));
  label();
  systems.push(system);
  field("systems").append(system.row);
  compareLines();
}

function removeSystem(system) {
  systems.splice(systems.indexOf(system), 1);
  system.row.remove();
  field("outputs").focus();
}

function compareLines() {
  for (const { row, lines } of systems) {
    const differs = sourceLines !== null && lines.length !== sourceLines.length;
    const note = row.querySelector(".note");
    note.textContent = say(differs ? "lines_differ" : "lines", { count: lines.length, expected: sourceLines?.length });
    note.classList.toggle("wrong", differs);
  }
}

function outputs() {
  const found = {};
  for (const { row, lines } of systems) {
    const name = row.querySelector("input").value.trim();
    if (Object.hasOwn(found, name)) throw new InvalidForm(say("same_name", { name }));
    found[name] = lines;
  }
  if (systems.length < 2) throw new InvalidForm(say("no_outputs"));
  return found;
}

// The settings of the policy: `bound=posterior risk=0.4`.
function settings() {
  const parts = field("settings").value.split(/\s+/).filter(Boolean);
  return Object.fromEntries(parts.map((text) => {
    const [, name, value] = /^([a-z_]+)=(.+)$/i.exec(text) ?? [];
    if (!name) throw new InvalidForm(say("not_setting", { text }));
    return [name, value];
  }));
}

async function campaign() {
  const number = (id) => Number(field(id).value);
  return {
    name: field("name").value.trim(),
    kind: field("kind").value,
    sources: sourceLines ?? [],
    outputs: outputs(),
    documents: await linesOf(field("documents").files[0]),
    references: await linesOf(field("references").files[0]),
    policy: field("policy").value,
    settings: settings(),
    top: number("top"),
    confidence: number("confidence") / 100,
    indifference: number("indifference") / 100,
    overlap: number("overlap"),
    min_per_rater: number("min_per_rater"),
    attention_checks: number("attention_checks") / 100,
    side_by_side: field("side_by_side").checked,
    instructions: field("instructions").value,
  };
}

async function create() {
  const body = await campaign();
  tell(say("creating"));
  const answer = await request("POST", "/v1/campaigns", body);
  if (succeeded(answer)) location.assign(`/organiser/campaigns/${encodeURIComponent(answer.body.name)}`);
}

field("sources").addEventListener("change", (event) => reading(async () => {
  sourceLines = await linesOf(event.target.files[0]);
  compareLines();
}));
field("outputs").addEventListener("change", (event) => reading(async () => {
  const files = [...event.target.files];
  event.target.value = ""; // the list below the field shows them; the same file may be chosen again
  for (const file of files) await addSystem(file);
}));
field("new-campaign").addEventListener("submit", (event) => {
  event.preventDefault();
  reading(create);
});
