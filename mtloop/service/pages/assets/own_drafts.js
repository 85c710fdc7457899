// The drafts of this person that the service has. It has one draft of a unit, so the text of somebody else can take the
// place of the own one. This browser keeps the own text until it is confirmed, or until the person has decided.
const OWN_PLACE = `mtloop-own/${pageData.me}/${pageData.project.name}/${pageData.document.document}/`;
const ownDrafts = new Map(Object.entries(localStorage).filter(([name]) => name.startsWith(OWN_PLACE))
  .map(([name, text]) => [Number(name.slice(OWN_PLACE.length)), parsed(text)]).filter(([, one]) => one));

// `one` is {text, version, change}: the text, and the answer of the service that stored it.
function rememberDraft(index, one) {
  ownDrafts.set(index, one);
  try {
    localStorage.setItem(OWN_PLACE + index, JSON.stringify(one));
  } catch { /* a full or forbidden storage: the page still knows it */ }
}

function forgetDraft(index) {
  ownDrafts.delete(index);
  localStorage.removeItem(OWN_PLACE + index);
}

// Whether somebody else's text took the place of the own draft in a unit as the service has it now.
function isReplaced(unit) {
  const own = ownDrafts.get(unit.index);
  if (!own || unit.version <= own.version || unit.draft?.participant === pageData.me) return false;
  if (unit.state !== "confirmed" || (unit.participant !== pageData.me && unit.target !== own.text)) return true;
  forgetDraft(unit.index); // it was confirmed
  return false;
}

// The change of the document up to which the own drafts are known to stand.
function knownChange(change) {
  return Math.min(change, ...[...ownDrafts.values()].map((one) => one.change));
}
