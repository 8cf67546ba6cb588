"use strict";
const fs = require("node:fs");

/**
 * The block "overrides" of pnpm-workspace.yaml, which is edited by lines, so that everything else stays as it is to
 * the byte. Its interface is that of Manifest; the paths are ["overrides", name].
 */
class PnpmWorkspace {
  #file;
  #lines;

  constructor(file) {
    this.#file = file;
    this.#lines = fs.existsSync(file) ? fs.readFileSync(file, "utf8").split("\n") : [];
    if (this.#lines.some((line) => /^overrides:\s*[^\s#]/.test(line))) {
      throw new Error(`${file}: write the overrides one a line, without braces; adopt adds lines to them`);
    }
  }

  get([, name]) {
    return entry(this.#lines[this.#find(name)] ?? "")?.value;
  }

  set([, name], value) {
    const at = this.#find(name);
    const line = `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`;
    if (at >= 0) {
      this.#lines.splice(at, 1, ...(value === undefined ? [] : [line]));
    } else if (value !== undefined) {
      this.#lines.splice(this.#head() + 1, 0, line);
    }
    const head = this.#lines.findIndex((l) => /^overrides:/.test(l));
    if (head >= 0 && !/^\s+\S/.test(this.#lines[head + 1] ?? "")) this.#lines.splice(head, 1);
  }

  write() {
    const text = this.#lines.join("\n");
    if (text === "") fs.rmSync(this.#file, { force: true });
    else fs.writeFileSync(this.#file, text);
  }

  // head returns the line of the block's beginning, which it adds where there is none.
  #head() {
    const at = this.#lines.findIndex((line) => /^overrides:/.test(line));
    if (at >= 0) return at;
    this.#lines.unshift("overrides:");
    if (this.#lines.length === 1) this.#lines.push("");
    return 0;
  }

  // find returns the line of a package in the block, -1 if it has none.
  #find(name) {
    const head = this.#lines.findIndex((line) => /^overrides:/.test(line));
    for (let i = head + 1; head >= 0 && i < this.#lines.length && !/^\S/.test(this.#lines[i]); i++) {
      if (entry(this.#lines[i])?.name === name) return i;
    }
    return -1;
  }
}

// entry reads a line such as `  "name": value # why`; undefined if the line is no entry.
function entry(line) {
  const [, name, value] = /^\s+("[^"]*"|'[^']*'|[^\s"'#:]+):\s+("[^"]*"|'[^']*'|[^\s#]+)/.exec(line) ?? [];
  const plain = (text) => text.replace(/^(["'])(.*)\1$/, "$2");
  return name && { name: plain(name), value: plain(value) };
}

module.exports = { PnpmWorkspace };
