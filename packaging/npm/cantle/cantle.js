#!/usr/bin/env node
"use strict";
// Runs the binary as if it had been called itself.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { binary } = require("./index.js");

function main(args) {
  let file;
  try {
    file = binary();
  } catch (e) {
    console.error(e.message);
    process.exit(1);
  }
  // A server does not read its input, so its input can tell it that this process has ended,
  // even if that was killed.
  const serves = args[0] === "serve";
  const env = serves ? { ...process.env, CANTLE_UNTIL_STDIN_ENDS: "true" } : process.env;
  const child = spawn(file, args, { stdio: [serves ? "pipe" : "inherit", "inherit", "inherit"], env });
  child.on("error", (e) => {
    console.error(`cantle: ${file} cannot be run: ${e.message}`);
    process.exit(1);
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("exit", (status, signal) => process.exit(signal ? 128 + (constants.signals[signal] || 0) : status));
}

main(process.argv.slice(2));
