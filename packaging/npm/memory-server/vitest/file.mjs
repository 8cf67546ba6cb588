import suite from "../lib/suite.js";

suite.startFile(globalThis);
