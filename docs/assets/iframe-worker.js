// A page that was opened from a folder (file://) may not start a worker. There the search runs in a hidden frame.
class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
    this.ready = this.load(url);
  }

  load(url) {
    const script = this.inside.document.createElement("script");
    script.src = url;
    this.inside.document.body.appendChild(script);
    return new Promise(resolve => (script.onload = resolve));
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
