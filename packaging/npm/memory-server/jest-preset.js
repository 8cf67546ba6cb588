"use strict";
// One server for all test files, a database of its own for each: process.env.MONGO_URI and
// __MONGO_URI__ have it, MONGO_DB_NAME and __MONGO_DB_NAME__ its name.
module.exports = {
  globalSetup: require.resolve("./jest/setup.js"),
  globalTeardown: require.resolve("./jest/teardown.js"),
  setupFiles: [require.resolve("./jest/file.js")],
};
