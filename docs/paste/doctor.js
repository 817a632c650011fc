// doctor in a Pyodide: the same for the page and for the test under Node.
const PROGRAM = `
import json
import stand_ins
stand_ins.install()
from doctor.api import diagnose
from doctor.report.html.document import render

def told(text):
    report = diagnose(text=text)
    ids = [found.id for found in report.findings]
    count = len(ids)
    summary = "Nothing recognised." if not ids else f"{count} finding{'s' * (count != 1)}."
    return json.dumps({"summary": summary, "ids": ids, "html": render(report)})
told
`;

export function prepare(pyodide, wheels, standIns) {
  for (const wheel of wheels) pyodide.unpackArchive(wheel, "wheel");
  pyodide.FS.writeFile("stand_ins.py", standIns);
  const told = pyodide.runPython(PROGRAM);
  return (text) => JSON.parse(told(text));
}
