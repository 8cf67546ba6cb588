import cantle from "cantle-memory-server/vitest";

export default { plugins: [cantle()], test: { include: ["*.vitest.mjs"] } };
