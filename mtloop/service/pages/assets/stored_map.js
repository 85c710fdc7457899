// A map by the index of a unit, which this browser keeps for this person, project and document. `kind` names what it holds.
class StoredMap extends Map {
  constructor(kind) {
    super();
    this.place = `${kind}/${pageData.me}/${pageData.project.name}/${pageData.document.document}/`;
    for (const [name, text] of Object.entries(localStorage)) {
      const one = name.startsWith(this.place) && parsed(text);
      if (one) super.set(Number(name.slice(this.place.length)), one);
    }
  }

  set(index, one) {
    super.set(index, one);
    try {
      localStorage.setItem(this.place + index, JSON.stringify(one));
    } catch { /* a full or forbidden storage: the page still knows it, and the service gets it */ }
    return this;
  }

  delete(index) {
    localStorage.removeItem(this.place + index);
    return super.delete(index);
  }
}
