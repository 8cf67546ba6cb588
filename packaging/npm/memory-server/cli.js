#!/usr/bin/env node
"use strict";
const { parseArgs } = require("node:util");
const { adopt, undo } = require("./adopt/project.js");
const { specFor } = require("./adopt/spec.js");

const usage = `cantle-memory-server adopt [FOLDER] [--yes] [--package SPEC]
cantle-memory-server adopt [FOLDER] --undo [--yes]

Replaces mongodb-memory-server by cantle-memory-server in the project in FOLDER (default: this folder), by aliases in
its package.json files; imports and presets keep their names. It shows the changes, and makes them with --yes.

  --yes           make the changes
  --undo          take the changes of an earlier run back
  --package SPEC  what the aliases refer to (default: ${specFor()})
`;

function main() {
  let values, positionals;
  try {
    ({ values, positionals } = parseArgs({ allowPositionals: true, options: {
      yes: { type: "boolean" }, undo: { type: "boolean" }, package: { type: "string" }, help: { type: "boolean", short: "h" } } }));
  } catch (e) {
    return fail(`${e.message}\n\n${usage}`, 2);
  }
  if (values.help) {
    return process.stdout.write(usage);
  }
  if (positionals[0] !== "adopt" || positionals.length > 2) {
    return fail(usage, 2);
  }
  const root = positionals[1] ?? process.cwd();
  try {
    const report = values.undo ? undo(root, values.yes) : adopt(root, values.package ?? specFor(), values.yes);
    process.stdout.write(report);
  } catch (e) {
    fail(`cantle-memory-server adopt: ${e.message}\n`, 1);
  }
}

function fail(text, status) {
  process.stderr.write(text);
  process.exitCode = status;
}

main();
