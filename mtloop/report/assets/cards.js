// The segments are compressed JSON in base64.
const packed = Uint8Array.from(atob(document.getElementById("segment-data").textContent), (character) => character.charCodeAt(0));
const data = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
const { systems, metrics } = data;
const baseline = systems.find((system) => system.name === data.baseline);
const LONG_TEXT = 1500; // characters; longer texts scroll in a box

const references = (system, i) => (system.references ?? data.references)[i];
// The words at their first (1) or second (2) appearance in segment i, in the output (+) or not (-), such as "1+word".
const words = (system, i, mark = "") => (system.words?.[i] ?? []).filter((word) => word.startsWith(mark));

function element(tag, className, ...content) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...content);
  return node;
}

// A card for one segment: source, references and every system's output; `against` is "reference" or "baseline".
function card(i, against) {
  const id = data.ids[i] === String(i + 1) ? "" : data.ids[i];
  const origin = element("bdi", "", [id, data.documents?.[i]].filter(Boolean).join(" · "));
  const head = element("h3", "", `Segment ${(i + 1).toLocaleString("en")}`, element("small", "", origin));
  const source = data.sources ? row("Source", text(data.sources[i], data.sources[i])) : [];
  const outputs = groupsByOutput(i).flatMap((group) => output(group, i, against));
  return element("article", "", head, element("dl", "", ...source, ...referenceRows(systems[0], i, "Reference"), ...outputs));
}

function referenceRows(system, i, label) {
  const appearances = wordAppearances(system, i);
  return references(system, i).flatMap((reference, n) =>
    row(n ? `${label} ${n + 1}` : label, text(reference, ...(n ? [reference] : marked(reference, appearances)))));
}

// Systems with the same output and references are one group.
function groupsByOutput(i) {
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
  return [label, body, ...(own ? referenceRows(system, i, "Its reference") : [])];
}

const row = (label, ...content) => [element("dt", "", label), element("dd", "", ...content)];
const score = (metric, value) => element("span", "nowrap", `${metric.title} ${value?.toFixed(metric.digits) ?? "0/0"}`);

function text(string, ...parts) {
  const box = element("div", "text", ...(string.trim() ? [] : [element("bdi", "empty", "(empty)"), " "]), ...parts);
  box.dir = "auto";
  if (string.length > LONG_TEXT) {
    box.classList.add("long");
    box.tabIndex = 0;
  }
  return box;
}

function swatch(system) {
  return element("span", `swatch series-${system.shade} ${system.dash}`);
}

// The output, with the edits that turn it into the reference, or with the edits that turn the baseline's output into it.
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

function marked(string, appearances) {
  const parts = [""];
  for (const { space, word } of tokens(string)) {
    const appearance = appearances.get(word.toLowerCase());
    if (appearance) parts.push(space, element("mark", appearance, word), "");
    else parts.push(parts.pop() + space + word);
  }
  return parts;
}

const appearanceOf = (word) => (word[0] === "1" ? "first" : "second");
const wordAppearances = (system, i) => new Map(words(system, i).map((word) => [word.slice(2).toLowerCase(), appearanceOf(word)]));

function wordList(system, i) {
  const items = words(system, i).map((word) =>
    element("span", word[1] === "+" ? "right" : "wrong", element("bdi", "", element("mark", appearanceOf(word), word.slice(2)))));
  return items.length ? [element("p", "words", ...items)] : [];
}
