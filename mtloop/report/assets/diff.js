// Tokens with the space before them: words, punctuation, and single characters in scripts without spaces.
const SPACELESS = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]`;
const WORD = String.raw`[\p{L}\p{M}\p{N}]+(?:['’_-][\p{L}\p{M}\p{N}]+)*-?`;
const TOKEN = new RegExp(String.raw`(\s*)(${SPACELESS}\p{M}*|${WORD}|\S)`, "gu");
const MAX_CELLS = 4_000_000; // of the table for the longest common subsequence

const tokens = (text) => [...text.matchAll(TOKEN)].map(([, space, word]) => ({ space, word }));
const steps = (kind, list) => list.map((token) => ({ kind, token }));

// An unchanged word keeps a space that it has in either text, because the word before it may be inserted or deleted.
const unchanged = (one, other) => ({ word: other.word, space: other.space || one.space });

// The edits that turn one text into the other: runs of { kind: "same" | "del" | "ins", list of tokens }.
function diff(from, to) {
  const [a, b] = [tokens(from), tokens(to)];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start].word === b[start].word) start++;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end).word === b.at(-1 - end).word) end++;
  const middle = edits(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const before = b.slice(0, start).map((token, n) => unchanged(a[n], token));
  const after = b.slice(b.length - end).map((token, n) => unchanged(a[a.length - end + n], token));
  return runs([...steps("same", before), ...middle, ...steps("same", after)]);
}

// Edits by the longest common subsequence; texts too long for the table are replaced as a whole.
function edits(a, b) {
  if (a.length * b.length > MAX_CELLS) return [...steps("del", a), ...steps("ins", b)];
  const common = commonLengths(a, b);
  const list = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i].word === b[j].word) {
      list.push({ kind: "same", token: unchanged(a[i], b[j]) });
      i++;
      j++;
    } else if (common[i + 1][j] >= common[i][j + 1]) list.push({ kind: "del", token: a[i++] });
    else list.push({ kind: "ins", token: b[j++] });
  }
  return [...list, ...steps("del", a.slice(i)), ...steps("ins", b.slice(j))];
}

// The length of the longest common subsequence of the words from i on and from j on.
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

// Join equal edits into runs; between two unchanged words, deletions come before insertions.
function runs(list) {
  const joined = [];
  let changed = { del: [], ins: [] };
  const flush = () => {
    for (const kind of ["del", "ins"]) if (changed[kind].length) joined.push({ kind, list: changed[kind] });
    changed = { del: [], ins: [] };
  };
  for (const { kind, token } of list) {
    if (kind !== "same") changed[kind].push(token);
    else {
      flush();
      if (joined.at(-1)?.kind === "same") joined.at(-1).list.push(token);
      else joined.push({ kind, list: [token] });
    }
  }
  flush();
  return joined;
}
