import * as module from "./index.js";

// The default import of a CommonJS module is its exports in Node, and its export named default in bundlers.
const all = module.default?.MongoMemoryServer ? module.default : module;

export const { MongoMemoryServer, MongoMemoryReplSet, MongoInstance, MongoBinary, DryMongoBinary, errors } = all;
export const { MongoMemoryServerStates, MongoMemoryServerEvents, MongoMemoryReplSetStates, MongoMemoryReplSetEvents } = all;
export default all.MongoMemoryServer;
