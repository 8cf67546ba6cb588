export * from "../index.js";
export { MongoMemoryReplSet as default } from "../index.js";
