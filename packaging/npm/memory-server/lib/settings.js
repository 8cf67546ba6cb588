"use strict";
const fs = require("node:fs");
const path = require("node:path");

/**
 * The value of a setting such as "VERSION": that of the environment variable MONGOMS_VERSION, or of the field
 * config.mongodbMemoryServer.version in the nearest package.json that has such a field; undefined if neither is set.
 */
function setting(name) {
  return process.env[`MONGOMS_${name}`] ?? configured()[name.toLowerCase().replace(/_(.)/g, (_, c) => c.toUpperCase())]?.toString();
}

/** Whether a setting is true. */
const enabled = (name) => ["1", "on", "yes", "true"].includes(setting(name)?.toLowerCase());

let found; // the field, read once

function configured() {
  return (found ??= find(process.cwd()));
}

function find(dir) {
  try {
    const field = JSON.parse(fs.readFileSync(path.join(dir, "package.json"), "utf8")).config?.mongodbMemoryServer;
    if (field && Object.keys(field).length > 0) return field;
  } catch {
    // no package.json, or one that npm would refuse, too
  }
  const above = path.dirname(dir);
  return above === dir ? {} : find(above);
}

module.exports = { setting, enabled };
