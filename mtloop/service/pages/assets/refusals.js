// Why the service refused something, in the language of the page. The API says it in English, for programs: its
// sentences are the patterns, and the texts of the page stand beside them.
const REFUSALS = pageData.refusals.map(([sentence, text]) => [sentencePattern(sentence), text]);

function sentencePattern(sentence) {
  const plain = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const parts = sentence.split(/\{(\w+)\}/);
  return new RegExp(`^${parts.map((part, number) => (number % 2 ? `(?<${part}>.+)` : plain(part))).join("")}$`, "s");
}

function reasonOf(said) {
  const text = String(said);
  for (const [pattern, shown] of REFUSALS) {
    const found = pattern.exec(text);
    if (found) return filled(shown, { ...found.groups, reason: reasonOf(found.groups?.reason ?? "") });
  }
  return text;
}
