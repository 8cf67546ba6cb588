"use strict";
const { startSuite } = require("../lib/suite.js");

// Settings are those of MongoMemoryReplSet.create, under cantleMemoryServer in globals.
module.exports = async (globalConfig, projectConfig) => {
  globalThis.__CANTLE_SUITE__ = await startSuite(projectConfig?.globals?.cantleMemoryServer);
};
