// A map by the index of a unit, which this browser keeps for this person, project and document. `kind` names what it holds.
// A full or forbidden storage keeps nothing: the page still knows it, and the service gets it.
class StoredMap extends Map {
  constructor(kind) {
    super();
    this.place = `${kind}/${pageData.me}/${pageData.project.name}/${pageData.document.document}/`;
    for (const [name, text] of inStorage((storage) => Object.entries(storage)) ?? []) {
      const one = name.startsWith(this.place) && parsed(text);
      if (one) super.set(Number(name.slice(this.place.length)), one);
    }
  }

  set(index, one) {
    super.set(index, one);
    inStorage((storage) => storage.setItem(this.place + index, JSON.stringify(one)));
    return this;
  }

  delete(index) {
    inStorage((storage) => storage.removeItem(this.place + index));
    return super.delete(index);
  }
}

function inStorage(act) {
  try {
    return act(localStorage);
  } catch {
    return undefined;
  }
}
