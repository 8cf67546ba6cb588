"use strict";
const { randomUUID } = require("node:crypto");
const { MongoMemoryReplSet } = require("./replset.js");

/** Starts the server of a test run and tells the processes of the run where it is. */
async function startSuite(options) {
  const set = await MongoMemoryReplSet.create({ replSet: { name: "rs0" }, ...options });
  process.env.MONGO_URL = process.env.MONGO_URI = process.env.CANTLE_SUITE_URI = set.getUri();
  return set;
}

/** Gives a test file a database of its own, and tells its tests about it. */
function startFile(scope) {
  const uri = process.env.CANTLE_SUITE_URI;
  if (!uri) {
    throw new Error("cantle-memory-server: no server was started for this test run; its global setup is missing in the configuration");
  }
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const own = new URL(uri);
  own.pathname = name;
  process.env.MONGO_URL = process.env.MONGO_URI = scope.__MONGO_URI__ = own.href;
  process.env.MONGO_DB_NAME = scope.__MONGO_DB_NAME__ = name;
}

module.exports = { startSuite, startFile };
