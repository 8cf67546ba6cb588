import all from "./index.js";

export const { MongoMemoryServer, MongoMemoryReplSet, MongoInstance, MongoBinary, DryMongoBinary, errors } = all;
export const { MongoMemoryServerStates, MongoMemoryServerEvents, MongoMemoryReplSetStates, MongoMemoryReplSetEvents } = all;
export default all.MongoMemoryServer;
