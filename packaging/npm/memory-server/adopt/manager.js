"use strict";
const fs = require("node:fs");
const path = require("node:path");

// Package managers, by the files that show them, with the file and the path of the versions that they enforce in
// dependencies of dependencies. pnpm 10 and newer have theirs in a file of their own.
const managers = [
  { name: "pnpm", files: ["pnpm-lock.yaml", "pnpm-workspace.yaml"], where: "pnpm-workspace.yaml", overrides: ["overrides"], install: "pnpm install --no-frozen-lockfile" },
  { name: "yarn", files: ["yarn.lock", ".yarnrc.yml"], where: "package.json", overrides: ["resolutions"], install: "yarn install" },
  { name: "bun", files: ["bun.lock", "bun.lockb"], where: "package.json", overrides: ["overrides"], install: "bun install" },
  { name: "npm", files: [], where: "package.json", overrides: ["overrides"], install: "npm install" },
];

/** The package manager of the project in a folder with a package.json. */
function managerOf(root, manifest) {
  const named = /^[a-z]+/.exec(manifest.get(["packageManager"]) ?? "")?.[0];
  return managers.find((m) => m.name === named) ??
    managers.find((m) => m.files.some((name) => fs.existsSync(path.join(root, name)))) ?? managers.at(-1);
}

module.exports = { managerOf };
