"use strict";
const { EventEmitter } = require("node:events");
const { rm } = require("node:fs/promises");
const { MongoInstance } = require("./instance.js");
const { createUsers } = require("./users.js");
const { asyncDispose } = require("./dispose.js");
const { StateError, InstanceInfoError, AuthNotObjectError } = require("./errors.js");

const MongoMemoryServerStates = Object.freeze({ new: "new", starting: "starting", running: "running", stopped: "stopped" });
const MongoMemoryServerEvents = Object.freeze({ stateChange: "stateChange" });
const States = MongoMemoryServerStates;

/** The option auth with all fields; undefined if it is absent or disabled. */
function completeAuth(auth) {
  if (auth !== undefined && auth !== null && typeof auth !== "object") {
    throw new AuthNotObjectError();
  }
  if (!auth || auth.enable === false) {
    return undefined;
  }
  return { disable: false, enable: true, customRootName: "mongodb-memory-server-root", customRootPwd: "rootuser", extraUsers: [], force: false, keyfileContent: "", ...auth };
}

/** The path of a URI: the database, if any. */
const pathOf = (database) => (database ? encodeURIComponent(database) : "");

/** What stop and cleanup do with folders. */
function cleanupOf(options) {
  if (typeof options === "boolean") {
    return { doCleanup: options, force: false };
  }
  return { doCleanup: true, force: false, ...options };
}

/** One server for tests. */
class MongoMemoryServer extends EventEmitter {
  constructor(opts) {
    super();
    this.opts = { ...opts };
    this.auth = completeAuth(this.opts.auth);
    this._state = States.new;
    this._instanceInfo = undefined;
  }

  /** Makes a server and starts it. */
  static async create(opts) {
    const server = new this(opts);
    await server.start();
    return server;
  }

  get state() {
    return this._state;
  }

  /** What there is to know of the server that runs; undefined without one. */
  get instanceInfo() {
    return this._instanceInfo;
  }

  stateChange(state) {
    this._state = state;
    this.emit(MongoMemoryServerEvents.stateChange, state);
  }

  /** Starts the server, or starts it again; with forceSamePort on the port of opts.instance or of before. */
  async start(forceSamePort) {
    if (this._state !== States.new && this._state !== States.stopped) {
      throw new StateError([States.new, States.stopped], this._state);
    }
    this.stateChange(States.starting);
    try {
      await this._startUpInstance(forceSamePort ?? this.opts.instance?.portGeneration === false);
    } catch (e) {
      this._instanceInfo = undefined;
      this.stateChange(States.stopped);
      throw e;
    }
    this.stateChange(States.running);
  }

  async _startUpInstance(samePort) {
    const asked = this.opts.instance ?? {};
    const before = this._instanceInfo;
    const port = (samePort && before?.port) || asked.port;
    const instance = new MongoInstance({
      instance: { ...asked, port, portGeneration: !samePort, auth: Boolean(this.auth) },
      binary: this.opts.binary,
      spawn: this.opts.spawn,
    });
    await instance.start();
    this._instanceInfo = {
      port: instance.instanceOpts.port,
      dbName: asked.dbName ?? "",
      dbPath: asked.dbPath ?? "",
      ip: asked.ip ?? "127.0.0.1",
      storageEngine: asked.storageEngine ?? "ephemeralForTest",
      replSet: asked.replSet,
      tmpDir: undefined,
      instance,
    };
    if (this.auth && (this.auth.force || !before || !asked.dbPath)) {
      try {
        await this.createAuth(this._instanceInfo);
      } catch (e) {
        await instance.stop();
        throw e;
      }
    }
  }

  /** Creates the users of the option auth on a server that has none. */
  async createAuth(data) {
    await createUsers(data.port, this.auth);
  }

  /** Ends the server; resolves with false if it was never started. Does what cleanup does, too, unless told not to. */
  async stop(cleanupOptions) {
    const cleanup = cleanupOf(cleanupOptions);
    if (!this._instanceInfo) {
      return false;
    }
    await this._instanceInfo.instance.stop();
    this.stateChange(States.stopped);
    if (cleanup.doCleanup) {
      await this.cleanup(cleanup);
    }
    return true;
  }

  /** Forgets the server that was stopped, and with force: true removes its dbPath. */
  async cleanup(options) {
    const cleanup = cleanupOf(options);
    if (this._state !== States.stopped) {
      throw new StateError([States.stopped], this._state);
    }
    if (!cleanup.doCleanup || !this._instanceInfo) {
      return;
    }
    if (cleanup.force && this._instanceInfo.dbPath) {
      await rm(this._instanceInfo.dbPath, { recursive: true, force: true });
    }
    this._instanceInfo = undefined;
    this.stateChange(States.new);
  }

  /** Starts the server if it does not run, waits if it is about to. */
  async ensureInstance() {
    if (this._state === States.starting) {
      await new Promise((changed) => this.once(MongoMemoryServerEvents.stateChange, changed));
    } else if (this._state !== States.running) {
      await this.start();
    }
    if (!this._instanceInfo) {
      throw new InstanceInfoError("ensureInstance");
    }
    return this._instanceInfo;
  }

  /** The connection string, of a database if one is named. */
  getUri(otherDb, otherIp) {
    if (!this._instanceInfo || (this._state !== States.running && this._state !== States.starting)) {
      throw new StateError([States.running, States.starting], this._state);
    }
    return `mongodb://${otherIp || "127.0.0.1"}:${this._instanceInfo.port}/${pathOf(otherDb)}`;
  }

  async [asyncDispose]() {
    if (this.opts.dispose?.enabled ?? true) {
      await this.stop(this.opts.dispose?.cleanup);
    }
  }
}

module.exports = { MongoMemoryServer, MongoMemoryServerStates, MongoMemoryServerEvents, completeAuth, cleanupOf, pathOf };
