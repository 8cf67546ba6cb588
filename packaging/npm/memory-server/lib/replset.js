"use strict";
const { EventEmitter } = require("node:events");
const { MongoMemoryServer, completeAuth, cleanupOf, pathOf } = require("./server.js");
const { asyncDispose } = require("./dispose.js");
const { StateError, ReplsetCountLowError } = require("./errors.js");

const MongoMemoryReplSetStates = Object.freeze({ init: "init", running: "running", stopped: "stopped" });
const MongoMemoryReplSetEvents = Object.freeze({ stateChange: "stateChange" });
const States = MongoMemoryReplSetStates;

// tellCount says once that a set has one member.
let tellCount = (count) => {
  tellCount = () => {};
  process.emitWarning(`Cantle's replica sets have one member: it is the primary, and transactions and change streams work. count: ${count} starts one server`,
    { code: "CANTLE_REPLSET_COUNT" });
};

/** The primary of a replica set of one member. */
class MongoMemoryReplSet extends EventEmitter {
  constructor(opts = {}) {
    super();
    this.servers = [];
    this._state = States.stopped;
    this.binaryOpts = { ...opts.binary };
    this.instanceOpts = [...(opts.instanceOpts ?? [])];
    this.replSetOpts = { ...opts.replSet };
  }

  /** Makes a replica set and starts it. */
  static async create(opts) {
    const set = new this(opts);
    await set.start();
    return set;
  }

  get state() {
    return this._state;
  }

  get instanceOpts() {
    return this._instanceOpts;
  }
  set instanceOpts(opts) {
    this.#expect(States.stopped);
    this._instanceOpts = opts;
  }

  get binaryOpts() {
    return this._binaryOpts;
  }
  set binaryOpts(opts) {
    this.#expect(States.stopped);
    this._binaryOpts = opts;
  }

  get replSetOpts() {
    return this._replSetOpts;
  }
  set replSetOpts(opts) {
    this.#expect(States.stopped);
    const count = opts.count ?? 1;
    if (!(count >= 1)) {
      throw new ReplsetCountLowError(count);
    }
    this._replSetOpts = { name: "testset", args: [], configSettings: {}, dbName: "", ip: "127.0.0.1", spawn: {}, storageEngine: "ephemeralForTest", dispose: {},
      ...opts, count, auth: completeAuth(opts.auth) ?? { enable: false } };
  }

  // expect throws unless the state is one of these.
  #expect(...states) {
    if (!states.includes(this._state)) {
      throw new StateError(states, this._state);
    }
  }

  stateChange(state, ...args) {
    this._state = state;
    this.emit(MongoMemoryReplSetEvents.stateChange, state, ...args);
  }

  /** Starts the replica set, or starts it again. */
  async start() {
    this.#expect(States.stopped);
    const members = Math.max(this._replSetOpts.count, this._instanceOpts.length);
    if (members > 1) {
      tellCount(members);
    }
    this.stateChange(States.init);
    try {
      if (this.servers.length > 0) {
        await this.servers[0].start(true);
      } else {
        this.servers = [await this.#startServer()];
      }
    } catch (e) {
      this.stateChange(States.stopped);
      throw e;
    }
    this.stateChange(States.running);
  }

  async #startServer() {
    const { name, args, dbName, ip, spawn, storageEngine, auth } = this._replSetOpts;
    const own = this._instanceOpts[0] ?? {};
    const server = new MongoMemoryServer({
      instance: { dbName, ip, storageEngine, ...own, args: [...args, ...(own.args ?? [])], replSet: name },
      binary: this._binaryOpts,
      spawn,
      auth,
    });
    await server.start();
    return server;
  }

  /** Ends the servers. Does what cleanup does, too, unless told not to. */
  async stop(cleanupOptions) {
    const cleanup = cleanupOf(cleanupOptions);
    for (const server of this.servers) {
      await server.stop({ doCleanup: false });
    }
    this.stateChange(States.stopped);
    if (cleanup.doCleanup) {
      await this.cleanup(cleanup);
    }
    return true;
  }

  /** Forgets the servers that were stopped, and with force: true removes their dbPath. */
  async cleanup(options) {
    const cleanup = cleanupOf(options);
    this.#expect(States.stopped);
    if (!cleanup.doCleanup) {
      return;
    }
    for (const server of this.servers) {
      if (server.state === "stopped") {
        await server.cleanup(cleanup);
      }
    }
    this.servers = [];
  }

  /** Resolves when the set runs. */
  async waitUntilRunning() {
    this.#expect(States.running, States.init);
    while (this._state === States.init) {
      await new Promise((changed) => this.once(MongoMemoryReplSetEvents.stateChange, changed));
    }
  }

  /** The connection string, of a database if one is named. */
  getUri(otherDb, otherIp) {
    this.#expect(States.running, States.init);
    const hosts = this.servers.map((s) => `${otherIp || "127.0.0.1"}:${s.instanceInfo.port}`).join(",");
    return `mongodb://${hosts}/${pathOf(otherDb)}?replicaSet=${encodeURIComponent(this._replSetOpts.name)}`;
  }

  async [asyncDispose]() {
    if (this._replSetOpts.dispose.enabled ?? true) {
      await this.stop(this._replSetOpts.dispose.cleanup);
    }
  }
}

// Without this mark, compiled TypeScript takes all exports for the default import.
Object.defineProperty(exports, "__esModule", { value: true });
Object.assign(exports, { MongoMemoryReplSet, MongoMemoryReplSetStates, MongoMemoryReplSetEvents, default: MongoMemoryReplSet });
