/// <reference types="node" />
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { EventEmitter } from "node:events";

export type StorageEngine = "ephemeralForTest" | "wiredTiger" | (string & {});

/** Taken as they come; what says nothing to this server is ignored. */
export interface MongoBinaryOpts {
  /** The release of MongoDB that the server shows itself as: 7.0, 8.0, 8.3 or 9.0, whichever is near. */
  version?: string;
  downloadDir?: string;
  os?: unknown;
  arch?: string;
  platform?: string;
  checkMD5?: boolean;
  systemBinary?: string;
  archiveName?: string;
}

export interface MongoMemoryInstanceOptsBase {
  /** Settings of `cantle serve`, or of mongod as far as they have a meaning. */
  args?: string[];
  /** Any free one unless given; if it is taken, another one unless portGeneration is false. */
  port?: number;
  /** A folder that keeps the data; without one they are in memory. */
  dbPath?: string;
  /** Ignored: data are in memory unless there is a dbPath, and all of the server's features work in both. */
  storageEngine?: StorageEngine;
  /** Ignored: the one member is the primary. */
  replicaMemberConfig?: object;
  /** How long the server may take to start, in milliseconds. */
  launchTimeout?: number;
}

export interface MongoMemoryInstanceOpts extends MongoMemoryInstanceOptsBase {
  auth?: boolean;
  dbName?: string;
  /** Address to listen on; 127.0.0.1 unless given. */
  ip?: string;
  /** Name of a replica set whose primary the server is. */
  replSet?: string;
  keyfileLocation?: string;
  portGeneration?: boolean;
}

export interface CreateUser {
  createUser: string;
  pwd: string;
  roles: string | { role: string; db: string } | (string | { role: string; db: string })[];
  /** Where the user is made; admin unless given. */
  database?: string;
  customData?: Record<string, unknown>;
  mechanisms?: ("SCRAM-SHA-1" | "SCRAM-SHA-256")[];
  authenticationRestrictions?: { clientSource?: string[]; serverAddress?: string[] }[];
  digestPassword?: boolean;
}

export interface AutomaticAuth {
  enable?: boolean;
  extraUsers?: CreateUser[];
  customRootName?: string;
  customRootPwd?: string;
  force?: boolean;
  keyfileContent?: string;
}

export interface Cleanup {
  doCleanup?: boolean;
  /** Remove the dbPath, too. */
  force?: boolean;
}

export interface DisposeOptions {
  enabled?: boolean;
  cleanup?: Cleanup;
}

export interface MongoMemoryServerOpts {
  instance?: MongoMemoryInstanceOpts;
  binary?: MongoBinaryOpts;
  spawn?: SpawnOptions;
  auth?: AutomaticAuth;
  dispose?: DisposeOptions;
}

export interface MongoInstanceData {
  port: number;
  dbName: string;
  /** "" where the data are in memory. */
  dbPath: string;
  ip: string;
  storageEngine: StorageEngine;
  replSet?: string;
  tmpDir?: string;
  instance: MongoInstance;
}

export declare enum MongoMemoryServerStates {
  new = "new",
  starting = "starting",
  running = "running",
  stopped = "stopped",
}

export declare enum MongoMemoryServerEvents {
  stateChange = "stateChange",
}

/** One server for tests. */
export declare class MongoMemoryServer extends EventEmitter implements AsyncDisposable {
  opts: MongoMemoryServerOpts;
  readonly auth?: Required<AutomaticAuth>;
  constructor(opts?: MongoMemoryServerOpts);
  /** Makes a server and starts it. */
  static create(opts?: MongoMemoryServerOpts): Promise<MongoMemoryServer>;
  get state(): MongoMemoryServerStates;
  /** What there is to know of the server that runs; undefined without one. */
  get instanceInfo(): MongoInstanceData | undefined;
  /** Starts the server, or starts it again; with forceSamePort on the port of opts.instance or of before. */
  start(forceSamePort?: boolean): Promise<void>;
  /** Ends the server; resolves with false if it was never started. */
  stop(cleanupOptions?: Cleanup): Promise<boolean>;
  /** Forgets the server that was stopped, and with force: true removes its dbPath. */
  cleanup(options?: Cleanup): Promise<void>;
  /** Creates the users of opts.auth on a server that has none; start does. */
  createAuth(data: { port: number }): Promise<void>;
  /** Starts the server if it does not run, waits if it is about to. */
  ensureInstance(): Promise<MongoInstanceData>;
  /** The connection string, of a database if one is named. */
  getUri(otherDb?: string, otherIp?: string): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ReplSetOpts {
  auth?: AutomaticAuth;
  args?: string[];
  configSettings?: object;
  /** Taken as 1, with a warning: the set has one member. */
  count?: number;
  dbName?: string;
  ip?: string;
  name?: string;
  spawn?: SpawnOptions;
  storageEngine?: StorageEngine;
  dispose?: DisposeOptions;
}

export interface MongoMemoryReplSetOpts {
  instanceOpts: MongoMemoryInstanceOptsBase[];
  binary: MongoBinaryOpts;
  replSet: ReplSetOpts;
}

export declare enum MongoMemoryReplSetStates {
  init = "init",
  running = "running",
  stopped = "stopped",
}

export declare enum MongoMemoryReplSetEvents {
  stateChange = "stateChange",
}

/** The primary of a replica set of one member. */
export declare class MongoMemoryReplSet extends EventEmitter implements AsyncDisposable {
  servers: MongoMemoryServer[];
  constructor(opts?: Partial<MongoMemoryReplSetOpts>);
  /** Makes a replica set and starts it. */
  static create(opts?: Partial<MongoMemoryReplSetOpts>): Promise<MongoMemoryReplSet>;
  get state(): MongoMemoryReplSetStates;
  get instanceOpts(): MongoMemoryInstanceOptsBase[];
  set instanceOpts(opts: MongoMemoryInstanceOptsBase[]);
  get binaryOpts(): MongoBinaryOpts;
  set binaryOpts(opts: MongoBinaryOpts);
  get replSetOpts(): ReplSetOpts;
  set replSetOpts(opts: ReplSetOpts);
  start(): Promise<void>;
  stop(cleanupOptions?: Cleanup): Promise<boolean>;
  cleanup(options?: Cleanup): Promise<void>;
  /** Resolves when the set runs. */
  waitUntilRunning(): Promise<void>;
  getUri(otherDb?: string, otherIp?: string): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface MongodOpts {
  instance: MongoMemoryInstanceOpts;
  binary: MongoBinaryOpts;
  spawn: SpawnOptions;
}

export declare enum MongoInstanceEvents {
  /** Never emitted: the one member is the primary from the start. */
  instanceReplState = "instanceReplState",
  instancePrimary = "instancePrimary",
  instanceReady = "instanceReady",
  /** Never emitted: the log is in instanceSTDERR. */
  instanceSTDOUT = "instanceSTDOUT",
  instanceSTDERR = "instanceSTDERR",
  instanceClosed = "instanceClosed",
  /** Never emitted: errors are in instanceError. */
  instanceRawError = "instanceRawError",
  instanceError = "instanceError",
  /** Never emitted: the server ends with this process, and no third process watches them. */
  killerLaunched = "killerLaunched",
  instanceLaunched = "instanceLaunched",
  instanceStarted = "instanceStarted",
}

/** One server process. Most users want MongoMemoryServer. */
export declare class MongoInstance extends EventEmitter {
  constructor(opts?: Partial<MongodOpts>);
  static create(opts?: Partial<MongodOpts>): Promise<MongoInstance>;
  instanceOpts: MongoMemoryInstanceOpts;
  readonly mongodProcess?: ChildProcess;
  readonly isInstanceReady: boolean;
  readonly isInstancePrimary: boolean;
  readonly isReplSet: boolean;
  prepareCommandArgs(): string[];
  start(): Promise<void>;
  stop(): Promise<boolean>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The path of the program, which is installed already. */
export declare class MongoBinary {
  static getPath(opts?: MongoBinaryOpts): Promise<string>;
  static download(opts?: MongoBinaryOpts): Promise<string>;
}
/** The other methods of mongodb-memory-server's class throw errors.NoDownloadError. */
export declare class DryMongoBinary {
  static binaryCache: Map<string, string>;
  static locateBinary(opts?: MongoBinaryOpts): Promise<string | undefined>;
  static getSystemPath(systemBinary?: string): Promise<string | undefined>;
}

export declare namespace errors {
  class GenericMMSError extends Error {}
  class StateError extends GenericMMSError {
    wantedStates: string[];
    gotState: string;
    constructor(wantedStates: string[], gotState: string);
  }
  class ReplsetCountLowError extends GenericMMSError {
    count: number;
  }
  class InstanceInfoError extends GenericMMSError {
    where: string;
  }
  class AuthNotObjectError extends GenericMMSError {}
  class NoDriverError extends GenericMMSError {}
  /** The server did not start. */
  class StdoutInstanceError extends GenericMMSError {
    code?: string;
  }
  /** The server ended by itself. */
  class UnexpectedCloseError extends GenericMMSError {
    code: number | null;
    signal: string | null;
  }
  class NoDownloadError extends GenericMMSError {
    method: string;
  }
  // Never thrown.
  class AssertionFallbackError extends GenericMMSError {}
  class BinaryNotFoundError extends GenericMMSError {}
  class DownloadError extends GenericMMSError {}
  class InsufficientPermissionsError extends GenericMMSError {}
  class KeyFileMissingError extends GenericMMSError {}
  class KnownVersionIncompatibilityError extends GenericMMSError {}
  class Md5CheckFailedError extends GenericMMSError {}
  class NoRegexMatchError extends GenericMMSError {}
  class ParseArchiveRegexError extends GenericMMSError {}
  class StartBinaryFailedError extends GenericMMSError {}
  class UnableToUnlockLockfileError extends GenericMMSError {}
  class UnknownArchitectureError extends GenericMMSError {}
  class UnknownLinuxDistro extends GenericMMSError {}
  class UnknownLockfileStatusError extends GenericMMSError {}
  class UnknownPlatformError extends GenericMMSError {}
  class UnknownVersionError extends GenericMMSError {}
  class WaitForPrimaryTimeoutError extends GenericMMSError {}
}

export default MongoMemoryServer;
