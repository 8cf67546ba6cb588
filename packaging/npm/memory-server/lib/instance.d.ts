export * from "../index.js";
export { MongoInstance as default } from "../index.js";
