// The page "Paste your error": hands the text to a worker, and shows the report that comes back.
"use strict";
{
  const [text, go, state, report] = ["text", "go", "state", "report"].map((name) => document.getElementById(`paste-${name}`));
  const runtime = new URL(document.getElementById("paste").dataset.runtime, location.href);
  const MOST_SECONDS = 180;
  let worker;

  go.addEventListener("click", () => {
    if (!text.value.trim()) {
      state.textContent = "Paste a text first.";
      text.focus();
      return;
    }
    worker ??= new Worker(new URL("worker.js", runtime), { type: "module" });
    go.disabled = true;
    report.hidden = true;
    state.textContent = "Loading doctor …";
    const stop = (why) => {
      clearTimeout(timer);
      worker.terminate();
      worker = undefined;
      go.disabled = false;
      state.textContent = why;
    };
    const timer = setTimeout(() => stop(`No answer within ${MOST_SECONDS} s.`), MOST_SECONDS * 1000);
    worker.onerror = (event) => stop(`doctor does not run here: ${event.message || "the worker did not load"}`);
    worker.onmessage = ({ data }) => {
      if (data.fault) return stop(`doctor does not run here: ${data.fault}`);
      if (data.state) return void (state.textContent = data.state);
      clearTimeout(timer);
      go.disabled = false;
      state.textContent = data.summary;
      // A sandbox without scripts: the report holds foreign text.
      report.srcdoc = data.html;
      report.hidden = false;
    };
    worker.postMessage(text.value);
  });
}
