// The site's search runs in a worker, which a page opened from a folder may not start: there it runs in a
// hidden frame, with the messages of a worker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script>postMessage = (data) => frameElement.answer(data)</script><script src="${new URL(url, document.baseURI)}"></script>`;
      frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.opened = new Promise((done) => frame.addEventListener("load", () => done(frame.contentWindow)));
      document.body.append(frame);
    }
    postMessage(data) {
      this.opened.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
