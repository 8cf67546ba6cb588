import { fileURLToPath } from "node:url";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** A plugin for vitest.config: one server for all test files, a database of its own for each. */
export default function cantle() {
  return {
    name: "cantle-memory-server",
    config: () => ({ test: { globalSetup: [here("./setup.mjs")], setupFiles: [here("./file.mjs")] } }),
  };
}
