"use strict";
const errors = require("./lib/errors.js");
const server = require("./lib/server.js");
const replset = require("./lib/replset.js");
const { MongoInstance, MongoInstanceEvents } = require("./lib/instance.js");
const { MongoBinary, DryMongoBinary } = require("./lib/binary.js");

// Without this mark, compiled TypeScript takes all exports for the default import.
Object.defineProperty(exports, "__esModule", { value: true });
exports.MongoMemoryServer = server.MongoMemoryServer;
exports.MongoMemoryServerStates = server.MongoMemoryServerStates;
exports.MongoMemoryServerEvents = server.MongoMemoryServerEvents;
exports.MongoMemoryReplSet = replset.MongoMemoryReplSet;
exports.MongoMemoryReplSetStates = replset.MongoMemoryReplSetStates;
exports.MongoMemoryReplSetEvents = replset.MongoMemoryReplSetEvents;
exports.MongoInstance = MongoInstance;
exports.MongoInstanceEvents = MongoInstanceEvents;
exports.MongoBinary = MongoBinary;
exports.DryMongoBinary = DryMongoBinary;
exports.errors = errors;
exports.default = server.MongoMemoryServer;
