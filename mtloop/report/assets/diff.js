// Words, single characters where a script puts no spaces, and punctuation, each with the space before it.
const SPACELESS = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]`;
const WORD = String.raw`[\p{L}\p{M}\p{N}]+(?:['’_-][\p{L}\p{M}\p{N}]+)*-?`;
const TOKEN = new RegExp(String.raw`(\s*)(${SPACELESS}\p{M}*|${WORD}|\S)`, "gu");
const CELLS = 4_000_000;

const tokens = (text) => [...text.matchAll(TOKEN)].map(([, space, word]) => ({ space, word }));
const steps = (kind, list) => list.map((token) => ({ kind, token }));

// A word that stays keeps its space if it has one on either side: what went before it may have gone or come.
const both = (one, other) => ({ word: other.word, space: other.space || one.space });

// What turns one text into the other: runs of { kind: "same" | "del" | "ins", list of tokens }.
function diff(from, to) {
  const [a, b] = [tokens(from), tokens(to)];
  const least = Math.min(a.length, b.length);
  let start = 0;
  while (start < least && a[start].word === b[start].word) start++;
  let end = 0;
  while (end < least - start && a.at(-1 - end).word === b.at(-1 - end).word) end++;
  const middle = edits(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const before = b.slice(0, start).map((token, n) => both(a[n], token));
  const after = b.slice(b.length - end).map((token, n) => both(a[a.length - end + n], token));
  return runs([...steps("same", before), ...middle, ...steps("same", after)]);
}

// By the longest common subsequence; a middle too long for the table is replaced as a whole.
function edits(a, b) {
  if (a.length * b.length > CELLS) return [...steps("del", a), ...steps("ins", b)];
  const common = commonLengths(a, b);
  const made = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i].word === b[j].word) {
      made.push({ kind: "same", token: both(a[i], b[j]) });
      i++;
      j++;
    } else if (common[i + 1][j] >= common[i][j + 1]) made.push({ kind: "del", token: a[i++] });
    else made.push({ kind: "ins", token: b[j++] });
  }
  return [...made, ...steps("del", a.slice(i)), ...steps("ins", b.slice(j))];
}

// How many words the rests from i and from j on have in common, in order.
function commonLengths(a, b) {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    const [here, below] = [lengths[i], lengths[i + 1]];
    for (let j = b.length - 1; j >= 0; j--) {
      here[j] = a[i].word === b[j].word ? below[j + 1] + 1 : Math.max(below[j], here[j + 1]);
    }
  }
  return lengths;
}

// Between two words that stay, what goes comes before what replaces it.
function runs(list) {
  const made = [];
  let changed = { del: [], ins: [] };
  const flush = () => {
    for (const kind of ["del", "ins"]) if (changed[kind].length) made.push({ kind, list: changed[kind] });
    changed = { del: [], ins: [] };
  };
  for (const { kind, token } of list) {
    if (kind !== "same") changed[kind].push(token);
    else {
      flush();
      if (made.at(-1)?.kind === "same") made.at(-1).list.push(token);
      else made.push({ kind, list: [token] });
    }
  }
  flush();
  return made;
}
