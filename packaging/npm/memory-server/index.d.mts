export * from "./index.js";
export { MongoMemoryServer as default } from "./index.js";
