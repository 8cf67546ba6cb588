"use strict";
const { EventEmitter } = require("node:events");
const { serve } = require("cantle");
const { argumentsOf } = require("./options.js");
const { enabled } = require("./settings.js");
const { StdoutInstanceError, UnexpectedCloseError } = require("./errors.js");
const { asyncDispose } = require("./dispose.js");

const MongoInstanceEvents = Object.freeze(Object.fromEntries(["instanceReplState", "instancePrimary", "instanceReady", "instanceSTDOUT", "instanceSTDERR",
  "instanceClosed", "instanceRawError", "instanceError", "killerLaunched", "instanceLaunched", "instanceStarted"].map((name) => [name, name])));
const Events = MongoInstanceEvents;

/** One server process. Most users want MongoMemoryServer. */
class MongoInstance extends EventEmitter {
  constructor(opts = {}) {
    super();
    this.instanceOpts = { ...opts.instance };
    this.binaryOpts = { ...opts.binary };
    this.spawnOpts = { ...opts.spawn };
    this.server = undefined;
  }

  static async create(opts) {
    const instance = new this(opts);
    await instance.start();
    return instance;
  }

  /** The process, undefined while there is none. */
  get mongodProcess() {
    return this.server && !this.server.ended ? this.server.process : undefined;
  }
  get isInstanceReady() {
    return this.mongodProcess !== undefined;
  }
  get isInstancePrimary() {
    return this.isReplSet && this.isInstanceReady;
  }
  get isReplSet() {
    return Boolean(this.instanceOpts.replSet);
  }

  prepareCommandArgs() {
    return ["serve", ...this.#args(this.instanceOpts.port || 0)];
  }

  #args(port) {
    return argumentsOf(this.instanceOpts, { port, auth: this.instanceOpts.auth, version: this.binaryOpts.version });
  }

  /** Starts the process; resolves when it serves. Sets instanceOpts.port. */
  async start() {
    const options = { spawn: this.spawnOpts, timeout: this.instanceOpts.launchTimeout, log: (text) => this.#log(text) };
    try {
      this.server = await this.#serve(options);
    } catch (e) {
      const error = new StdoutInstanceError(e.message, { cause: e });
      this.emit(Events.instanceError, error);
      throw error;
    }
    const { server } = this;
    this.instanceOpts.port = Number(new URL(server.uri).port);
    server.closed.then(() => this.#ended(server));
    for (const event of [Events.instanceLaunched, Events.instanceReady, ...(this.isReplSet ? [Events.instancePrimary] : []), Events.instanceStarted]) {
      this.emit(event);
    }
  }

  async #serve(options) {
    const wanted = this.instanceOpts.port || 0;
    try {
      return await serve(this.#args(wanted), options);
    } catch (e) {
      if (e.code !== "EADDRINUSE" || !this.instanceOpts.portGeneration) throw e;
      return serve(this.#args(0), options);
    }
  }

  #log(text) {
    this.emit(Events.instanceSTDERR, text);
    if (enabled("DEBUG")) process.stderr.write(text);
  }

  #ended(server) {
    const { exitCode, signalCode } = server.process;
    if (this.server === server && exitCode !== 0) { // nothing has stopped it
      this.emit(Events.instanceError, new UnexpectedCloseError(exitCode, signalCode));
    }
    this.emit(Events.instanceClosed, exitCode, signalCode);
  }

  /** Ends the process; resolves with false if there was none. */
  async stop() {
    if (!this.server) {
      return false;
    }
    const server = this.server;
    this.server = undefined;
    await server.stop();
    return true;
  }

  async [asyncDispose]() {
    await this.stop();
  }
}

// Without this mark, compiled TypeScript takes all exports for the default import.
Object.defineProperty(exports, "__esModule", { value: true });
exports.MongoInstance = MongoInstance;
exports.MongoInstanceEvents = MongoInstanceEvents;
exports.default = MongoInstance;
