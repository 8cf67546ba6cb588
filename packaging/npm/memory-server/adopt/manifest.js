"use strict";
const fs = require("node:fs");

/** A package.json, or another JSON file, that keeps its indentation and its last line break when it is written. */
class Manifest {
  #file;
  #indent;
  #end;

  constructor(file, text) {
    this.#file = file;
    this.#indent = /^[{[]\r?\n([ \t]+)/.exec(text)?.[1] ?? "  ";
    this.#end = /\r?\n?$/.exec(text)[0];
    try {
      this.value = JSON.parse(text);
    } catch (e) {
      throw new Error(`${file}: ${e.message}`);
    }
  }

  static read(file) {
    return new Manifest(file, fs.readFileSync(file, "utf8"));
  }

  /** The value at a path of keys; undefined if there is none. */
  get(keys) {
    return keys.reduce((at, key) => at?.[key], this.value);
  }

  /** Sets the value at a path, and makes the objects above it; undefined removes it, and the objects that become empty. */
  set(keys, value) {
    set(this.value, keys, value);
  }

  write() {
    fs.writeFileSync(this.#file, JSON.stringify(this.value, null, this.#indent) + this.#end);
  }
}

function set(object, [key, ...below], value) {
  if (below.length > 0) {
    if (value === undefined && !(key in object)) return;
    set((object[key] ??= {}), below, value);
    if (value === undefined && Object.keys(object[key]).length === 0) delete object[key];
  } else if (value === undefined) {
    delete object[key];
  } else {
    object[key] = value;
  }
}

module.exports = { Manifest };
