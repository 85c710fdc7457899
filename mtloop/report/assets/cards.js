const data = JSON.parse(document.getElementById("segment-data").textContent);
const { systems, metrics } = data;
const baseline = systems.find((system) => system.name === data.baseline);
const LONG = 1500;

const references = (system, i) => (system.references ?? data.references)[i];
// The words due in segment i, written "1+word": first or second time, right (+) or wrong (-).
const words = (system, i, mark = "") => (system.words?.[i] ?? []).filter((word) => word.startsWith(mark));

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

// One segment: source, references and every system's output; `against` is "reference" or "baseline".
function card(i, against) {
  const id = data.ids[i] === String(i + 1) ? "" : data.ids[i];
  const place = element("bdi", "", [id, data.documents?.[i]].filter(Boolean).join(" · "));
  const head = element("h3", "", `Segment ${(i + 1).toLocaleString("en")}`, element("small", "", place));
  const source = data.sources ? row("Source", text(data.sources[i], data.sources[i])) : [];
  const outputs = alike(i).flatMap((group) => output(group, i, against));
  return element("article", "", head, element("dl", "", ...source, ...truth(systems[0], i, "Reference"), ...outputs));
}

function truth(system, i, label) {
  const due = dueWords(system, i);
  return references(system, i).flatMap((reference, n) =>
    row(n ? `${label} ${n + 1}` : label, text(reference, ...(n ? [reference] : marked(reference, due)))));
}

// Systems that said the same are shown once.
function alike(i) {
  const groups = new Map();
  for (const system of systems) {
    const key = JSON.stringify([system.texts[i], references(system, i)]);
    groups.set(key, [...(groups.get(key) ?? []), system]);
  }
  return [...groups.values()];
}

function output(group, i, against) {
  const [system] = group;
  const names = group.map((one) => element("span", "label", swatch(one), element("bdi", "", one.name)));
  const label = element("dt", "", ...names, element("small", "", ...metrics.map((metric, m) => score(metric, system.scores[m][i]))));
  const body = element("dd", "", text(system.texts[i], ...compared(system, i, against)), ...wordList(system, i));
  const own = system.references && String(references(system, i)) !== String(data.references[i]);
  return [label, body, ...(own ? truth(system, i, "Its reference") : [])];
}

const row = (label, ...content) => [element("dt", "", label), element("dd", "", ...content)];
const score = (metric, value) => element("span", "nowrap", `${metric.title} ${value?.toFixed(metric.digits) ?? "0/0"}`);

function text(string, ...parts) {
  const box = element("div", "text", ...(string.trim() ? [] : [element("bdi", "empty", "(empty)"), " "]), ...parts);
  box.dir = "auto";
  if (string.length > LONG) {
    box.classList.add("long");
    box.tabIndex = 0;
  }
  return box;
}

function swatch(system) {
  const made = element("span", `swatch ${system.dash}`);
  made.style.setProperty("--colour", `var(--series-${system.shade})`);
  return made;
}

// The output with what has to change for it to be the reference, or with what changed against the baseline.
function compared(system, i, against) {
  const ours = system.texts[i];
  const other = against === "reference" ? references(system, i)[0] : baseline.texts[i];
  if (other === undefined) return [ours];
  const changes = against === "reference" ? diff(ours, other) : diff(other, ours);
  return changes.flatMap(({ kind, list: [{ space, word }, ...rest] }) => {
    const run = word + rest.map((token) => token.space + token.word).join("");
    return [space, kind === "same" ? run : element(kind, "", run)];
  });
}

function marked(string, due) {
  const parts = [""];
  for (const { space, word } of tokens(string)) {
    const appearance = due.get(word.toLowerCase());
    if (appearance) parts.push(space, element("mark", appearance, word), "");
    else parts.push(parts.pop() + space + word);
  }
  return parts;
}

const appearanceOf = (word) => (word[0] === "1" ? "first" : "second");
const dueWords = (system, i) => new Map(words(system, i).map((word) => [word.slice(2).toLowerCase(), appearanceOf(word)]));

function wordList(system, i) {
  const items = words(system, i).map((word) =>
    element("span", word[1] === "+" ? "right" : "wrong", element("bdi", "", element("mark", appearanceOf(word), word.slice(2)))));
  return items.length ? [element("p", "words", ...items)] : [];
}
