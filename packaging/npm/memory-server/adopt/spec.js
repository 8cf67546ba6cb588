"use strict";
const about = require("../package.json");

/** The names under which mongodb-memory-server is published and depended on. */
const names = ["mongodb-memory-server", "mongodb-memory-server-core", "mongodb-memory-server-global"];

/** Whether a package is mongodb-memory-server, also one for an old release such as mongodb-memory-server-global-4.4. */
const isReplaced = (name) => names.includes(name) || /^mongodb-memory-server-global-[\d.]+$/.test(name);

/** The alias to this version of this package. */
const specFor = () => `npm:${about.name}@${about.version.includes("-") ? "" : "^"}${about.version}`;

module.exports = { names, isReplaced, specFor };
