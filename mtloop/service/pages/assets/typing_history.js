// What Ctrl Z takes back in the editor. The browser's own history ends where a script changes the text.
const typing = {
  steps: [], // {text, caret}, the first as the segment was opened
  at: 0,
  kind: "", // of the change before: letters of one word are one step

  begin(text) {
    Object.assign(this, { steps: [{ text, caret: text.length }], at: 0, kind: "" });
  },

  // Notes a text after a change. `kind` is the browser's name for the change, `data` what was typed.
  note(text, caret, kind = "", data = "") {
    if (text === this.steps[this.at]?.text) return;
    const goesOn = kind !== "" && kind === this.kind && !/^\s$/.test(data ?? "");
    this.at += goesOn ? 0 : 1;
    this.steps.splice(this.at, Infinity, { text, caret });
    this.kind = kind;
  },

  // The step `by` steps on, or back; undefined at the end.
  go(by) {
    const step = this.steps[this.at + by];
    if (!step) return undefined;
    this.at += by;
    this.kind = "";
    return step;
  },

  // By how many steps a key goes: -1 back, 1 on, 0 for other keys.
  stepsOf(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return 0;
    const key = event.key.toLowerCase();
    if (key === "z") return event.shiftKey ? 1 : -1;
    return key === "y" ? 1 : 0;
  },
};
