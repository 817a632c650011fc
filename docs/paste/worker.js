// Runs doctor in Pyodide, away from the page, which can end it.
import { prepare } from "./doctor.js";

let ready;

async function load() {
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", import.meta.url));
  const files = await (await fetch(new URL("wheels.json", import.meta.url))).json();
  const pyodide = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
  const bytes = async (name) => new Uint8Array(await (await fetch(new URL(name, import.meta.url))).arrayBuffer());
  return prepare(pyodide, await Promise.all(files.map(bytes)), new TextDecoder().decode(await bytes("stand_ins.py")));
}

self.onmessage = async ({ data }) => {
  try {
    ready ??= load();
    const diagnose = await ready;
    self.postMessage({ state: "Reading the text …" });
    self.postMessage(diagnose(data));
  } catch (error) {
    self.postMessage({ fault: String(error.message ?? error).trim().split("\n").at(-1) });
  }
};
