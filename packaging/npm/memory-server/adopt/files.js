"use strict";
const fs = require("node:fs");
const path = require("node:path");

// What a search of a project may cost.
const depthMax = 8;
const filesMax = 20_000;
const sourceMax = 1 << 20; // bytes

const ignored = new Set(["node_modules", "dist", "build", "coverage", "out"]);

/** The files of a project below a folder for which choose(name) is true, without those that are installed or built. */
function filesOf(root, choose) {
  const found = [];
  let seen = 0;
  function walk(dir, depth) {
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
      if (++seen > filesMax) return;
      const file = path.join(dir, entry.name);
      if (entry.isDirectory() && depth < depthMax && !ignored.has(entry.name) && !entry.name.startsWith(".")) {
        walk(file, depth + 1);
      } else if (entry.isFile() && choose(entry.name)) {
        found.push(file);
      }
    }
  }
  walk(root, 0);
  return found.sort();
}

/** The paths inside mongodb-memory-server that sources import and that this package does not have, with their files. */
function unknownImports(root) {
  const has = Object.keys(require("../package.json").exports);
  const unknown = [];
  for (const file of filesOf(root, (name) => /\.[cm]?[jt]sx?$/.test(name))) {
    if (fs.statSync(file).size > sourceMax) continue;
    for (const [, below] of fs.readFileSync(file, "utf8").matchAll(/["']mongodb-memory-server(?:-core|-global(?:-[\d.]+)?)?\/([^"']+)["']/g)) {
      if (!has.includes(`./${below}`)) unknown.push(`${path.relative(root, file)} imports ${below}`);
    }
  }
  return unknown;
}

/** The installed packages that depend on mongodb-memory-server, such as presets for Jest and Vitest. */
function dependents(root, isReplaced) {
  const modules = path.join(root, "node_modules");
  const found = [];
  for (const dir of folders(modules).flatMap((name) => (name.startsWith("@") ? folders(path.join(modules, name)).map((below) => `${name}/${below}`) : [name]))) {
    try {
      const { dependencies, peerDependencies } = JSON.parse(fs.readFileSync(path.join(modules, dir, "package.json"), "utf8"));
      if (!isReplaced(dir) && Object.keys({ ...dependencies, ...peerDependencies }).some(isReplaced)) found.push(dir);
    } catch {
      // no package
    }
  }
  return found;
}

function folders(dir) {
  return fs.existsSync(dir) ? fs.readdirSync(dir).filter((name) => name !== ".bin") : [];
}

module.exports = { filesOf, unknownImports, dependents };
