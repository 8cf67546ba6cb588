import suite from "../lib/suite.js";

/** A global setup: starts the server, provides MONGO_URI, and returns what stops it. */
export default async function setup({ provide }) {
  const set = await suite.startSuite();
  provide("MONGO_URI", set.getUri());
  return async () => {
    await set.stop();
  };
}
