"use strict";
const { spawn } = require("node:child_process");

// What a server may take to start, and to stop once it was told to, in milliseconds.
const startLimit = 30_000;
const stopLimit = 20_000;

// How much of a server's log is kept to say why it did not start.
const logKept = 16 << 10;

/** The path of the binary for this machine. Throws an Error that says what to install if it is not there. */
function binary() {
  if (process.env.CANTLE_BINARY) {
    return process.env.CANTLE_BINARY;
  }
  const name = `@cantledb/${process.platform}-${process.arch}`;
  const known = Object.keys(require("./package.json").optionalDependencies);
  if (!known.includes(name)) {
    throw new Error(`cantle: there is no binary for ${process.platform} on ${process.arch}; there are ${known.join(", ")}`);
  }
  try {
    return require.resolve(`${name}/bin/cantle${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    throw new Error(`cantle: the package ${name}, which holds the binary, is not installed. It is an optional dependency of cantle: ` +
      "install again without --omit=optional or --no-optional, and on this platform, not on another one whose node_modules are copied; or set CANTLE_BINARY to the path of a cantle that you have built");
  }
}

/** A server that runs in a process of its own. */
class Server {
  #child;
  #closed;

  constructor(child, uris, closed) {
    this.#child = child;
    this.#closed = closed;
    /** Connection strings, one for each address; the one of the Cosmos address is the last. */
    this.uris = uris;
  }

  /** Connection string of the first address. */
  get uri() {
    return this.uris[0];
  }

  /** The process: a ChildProcess of Node. */
  get process() {
    return this.#child;
  }

  /** Whether the server has ended, by itself or because it was told to. */
  get ended() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves when the server has ended and nothing of it is left. */
  get closed() {
    return this.#closed;
  }

  /** Ends the server: running commands may finish within the server's --drain. */
  async stop() {
    this.#child.stdin.end();
    const impatient = setTimeout(() => this.#child.kill("SIGKILL"), stopLimit);
    await this.#closed;
    clearTimeout(impatient);
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.stop();
  }
}

/**
 * Starts `cantle serve` with arguments, and resolves when it serves. The server ends when
 * stop is called or this process ends, also when that is killed.
 */
function serve(args = [], options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(options.binary || binary(), ["serve", "--until-stdin-ends", ...args],
      { windowsHide: true, ...options.spawn, stdio: ["pipe", "pipe", "pipe"], detached: false });
    const closed = new Promise((ended) => {
      child.once("close", ended);
      child.once("error", () => { if (child.pid === undefined) ended(); });
    });
    let said = "", log = "";
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      reject(failure(args, `it does not serve after ${options.timeout || startLimit} ms`, log));
    }, options.timeout || startLimit);
    child.stdin.on("error", () => {}); // the server has ended before it was told to
    child.stderr.setEncoding("utf8").on("data", (text) => {
      log = (log + text).slice(-logKept);
      options.log?.(text);
    });
    child.stdout.setEncoding("utf8").on("data", function listen(text) {
      said += text;
      const uris = ready(said, args);
      if (uris) {
        child.stdout.off("data", listen);
        child.stdout.resume();
        clearTimeout(limit);
        resolve(new Server(child, uris, closed));
      }
    });
    child.once("error", (e) => {
      clearTimeout(limit);
      reject(failure(args, e.message, log));
    });
    child.once("close", (status, signal) => {
      clearTimeout(limit);
      reject(failure(args, `it ended with ${signal || `status ${status}`}`, log)); // of no effect if it was ready
    });
  });
}

// ready returns the connection strings when the server has printed all of them.
function ready(said, args) {
  const lines = said.split("\n").slice(0, -1).filter((line) => line.startsWith("cantle ready "));
  const cosmos = args.some((a) => a.startsWith("--cosmos-listen"));
  if (lines.length < (cosmos ? 2 : 1)) {
    return null;
  }
  return lines.flatMap((line) => line.split(" ").slice(2).filter((word) => word.startsWith("mongodb://")));
}

// failure is the Error of a server that did not start; log is what it said last.
function failure(args, what, log) {
  const said = log.trim().split("\n").filter((line) => line.startsWith("cantle serve:")).map((line) => line.slice("cantle serve: ".length));
  const why = said.length > 0 ? said.join("\n") : `${what}\n${log}`.trim();
  const error = new Error(`cantle serve ${args.join(" ")}: ${why}`);
  if (why.includes("another program listens on")) {
    error.code = "EADDRINUSE";
  }
  return error;
}

exports.binary = binary;
exports.serve = serve;
exports.Server = Server;
