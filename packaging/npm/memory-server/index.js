"use strict";
const errors = require("./lib/errors.js");
const server = require("./lib/server.js");
const replset = require("./lib/replset.js");
const { MongoInstance } = require("./lib/instance.js");
const { binary } = require("cantle");

// MongoBinary and DryMongoBinary are asked by those who fetch the binary ahead of the
// tests; it is there already.
class MongoBinary {
  static async getPath() {
    return binary();
  }
}
class DryMongoBinary {
  static async locateBinary() {
    return binary();
  }
}

// Without this mark, compiled TypeScript takes all exports for the default import.
Object.defineProperty(exports, '__esModule', { value: true });
exports.MongoMemoryServer = server.MongoMemoryServer;
exports.MongoMemoryServerStates = server.MongoMemoryServerStates;
exports.MongoMemoryServerEvents = server.MongoMemoryServerEvents;
exports.MongoMemoryReplSet = replset.MongoMemoryReplSet;
exports.MongoMemoryReplSetStates = replset.MongoMemoryReplSetStates;
exports.MongoMemoryReplSetEvents = replset.MongoMemoryReplSetEvents;
exports.MongoInstance = MongoInstance;
exports.MongoBinary = MongoBinary;
exports.DryMongoBinary = DryMongoBinary;
exports.errors = errors;
exports.default = server.MongoMemoryServer;
