"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { Manifest } = require("./manifest.js");
const { PnpmWorkspace } = require("./pnpm.js");
const { managerOf } = require("./manager.js");
const { filesOf, unknownImports, dependents } = require("./files.js");
const { names, isReplaced } = require("./spec.js");

// The file that keeps the earlier values, for undo.
const recordName = "cantle-adopt.json";

// Presets that bring mongodb-memory-server with them; others are found where they are installed.
const presets = ["@shelf/jest-mongodb", "vitest-mongodb"];

const sections = ["dependencies", "devDependencies", "optionalDependencies"];

/** Makes aliases to this package in a project, if really is true, and returns a text that lists the changes. */
function adopt(root, spec, really) {
  const { manifest, manager } = open(root);
  const changes = new Changes(root, manifest);
  for (const file of filesOf(root, (name) => name === "package.json")) {
    for (const section of sections) {
      for (const name of Object.keys(changes.of(file).get([section]) ?? {}).filter(isReplaced)) changes.set(file, [section, name], spec);
    }
  }
  const through = [...new Set([...presetsOf(changes), ...dependents(root, isReplaced)])];
  if (changes.found === 0 && through.length === 0) {
    throw new Error(`${path.join(root, "package.json")} and the packages below depend neither on mongodb-memory-server nor on a package that uses it`);
  }
  for (const name of names) changes.set(path.join(root, manager.where), [...manager.overrides, name], spec);
  const out = changes.lines();
  if (through.length > 0) out.push(`Through the ${manager.overrides.join(".")} these use it, too: ${through.join(", ")}`);
  for (const line of unknownImports(root)) out.push(`To change by hand: ${line}, which cantle-memory-server does not have`);
  return finish(out, changes, manager, really, { kept: true });
}

/** Takes the changes of adopt back, if really is true, and returns a text that lists the changes. */
function undo(root, really) {
  const { manifest, manager } = open(root);
  const changes = new Changes(root, manifest);
  if (changes.record.length === 0) {
    throw new Error(`there is nothing to undo: ${path.join(root, recordName)} does not exist`);
  }
  const out = [];
  for (const { file, keys, before, after } of changes.record) {
    const at = path.join(root, file);
    if (!fs.existsSync(at) || changes.of(at).get(keys) !== after) out.push(`Left as it is, since it was changed after adopt: ${file} ${keys.join(".")}`);
    else changes.set(at, keys, before ?? undefined);
  }
  return finish([...changes.lines(), ...out], changes, manager, really, { kept: false });
}

function open(root) {
  const file = path.join(root, "package.json");
  if (!fs.existsSync(file)) {
    throw new Error(`there is no ${file}: name the folder of a project`);
  }
  const manifest = Manifest.read(file);
  return { manifest, manager: managerOf(root, manifest) };
}

function presetsOf(changes) {
  return presets.filter((name) => changes.manifests().some((m) => sections.some((section) => m.get([section, name]))));
}

/** Changes of values in the manifests of a project. */
class Changes {
  #root;
  #manifests = new Map();
  #made = [];
  /** How many dependencies were found, changed or not. */
  found = 0;

  constructor(root, manifest) {
    this.#root = root;
    this.#manifests.set(path.join(root, "package.json"), manifest);
    const record = path.join(root, recordName);
    /** The earlier changes: {file, keys, before, after}. */
    this.record = fs.existsSync(record) ? Manifest.read(record).value : [];
  }

  of(file) {
    if (!this.#manifests.has(file)) this.#manifests.set(file, file.endsWith(".yaml") ? new PnpmWorkspace(file) : Manifest.read(file));
    return this.#manifests.get(file);
  }

  manifests() {
    return [...this.#manifests.values()];
  }

  set(file, keys, after) {
    this.found++;
    const before = this.of(file).get(keys);
    if (before === after) return;
    this.of(file).set(keys, after);
    this.#made.push({ file: path.relative(this.#root, file), keys, before, after });
  }

  get none() {
    return this.#made.length === 0;
  }

  /** A line for each change. */
  lines() {
    return this.#made.map(({ file, keys, before, after }) => `${file}: ${keys.join(".")}: ${show(before)} -> ${show(after)}`);
  }

  /** Writes the manifests and, if it is kept, the record. */
  write(kept) {
    for (const file of new Set(this.#made.map((c) => c.file))) this.of(path.join(this.#root, file)).write();
    const record = path.join(this.#root, recordName);
    if (!kept) {
      fs.rmSync(record, { force: true });
      return;
    }
    const same = (a, b) => a.file === b.file && a.keys.join() === b.keys.join();
    const all = this.#made.map((c) => ({ ...c, before: (this.record.find((r) => same(r, c)) ?? c).before ?? null }));
    all.push(...this.record.filter((r) => !all.some((c) => same(r, c))));
    fs.writeFileSync(record, JSON.stringify(all, null, 2) + "\n");
  }
}

const show = (value) => (value === undefined ? "nothing" : JSON.stringify(value));

function finish(lines, changes, manager, really, { kept }) {
  if (changes.none && kept) {
    lines.push("Nothing is to be changed.");
  } else if (really) {
    changes.write(kept);
    lines.push(`Changed. Next: ${manager.install}`);
  } else {
    lines.push("Nothing is changed yet: --yes makes these changes.");
  }
  return lines.join("\n") + "\n";
}

module.exports = { adopt, undo };
