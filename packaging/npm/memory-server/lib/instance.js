"use strict";
const { EventEmitter } = require("node:events");
const { serve } = require("cantle");
const { argumentsOf } = require("./options.js");

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
    const options = { spawn: this.spawnOpts, timeout: this.instanceOpts.launchTimeout };
    if (process.env.MONGOMS_DEBUG && process.env.MONGOMS_DEBUG !== "0") {
      options.log = (text) => process.stderr.write(text);
    }
    const wanted = this.instanceOpts.port || 0;
    try {
      this.server = await serve(this.#args(wanted), options);
    } catch (e) {
      if (e.code !== "EADDRINUSE" || !this.instanceOpts.portGeneration) throw e;
      this.server = await serve(this.#args(0), options);
    }
    this.instanceOpts.port = Number(new URL(this.server.uri).port);
    this.server.closed.then(() => this.emit("instanceClosed"));
    this.emit("instanceReady");
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
}

module.exports = { MongoInstance };
