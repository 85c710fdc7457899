// The drafts of this person that the service has. It has one draft of a unit, so the text of somebody else can take the
// place of the own one. This browser keeps the own text until it is confirmed, or until the person has decided.
// Each is {text, version, change}: the text, and the answer of the service that stored it.
const ownDrafts = new StoredMap("mtloop-own");

// Whether somebody else's text took the place of the own draft in a unit as the service has it now.
function isReplaced(unit) {
  const own = ownDrafts.get(unit.index);
  if (!own || unit.version <= own.version || unit.draft?.participant === pageData.me) return false;
  if (unit.state !== "confirmed" || (unit.participant !== pageData.me && unit.target !== own.text)) return true;
  ownDrafts.delete(unit.index); // it was confirmed
  return false;
}

// The change of the document up to which the own drafts are known to stand.
function knownChange(change) {
  return Math.min(change, ...[...ownDrafts.values()].map((one) => one.change));
}
