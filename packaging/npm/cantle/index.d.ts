/// <reference types="node" />
import type { ChildProcess, SpawnOptions } from "node:child_process";

/** The path of the binary for this machine. Throws an Error that says what to install if it is not there. */
export function binary(): string;

export interface ServeOptions {
  /** What else to hand to child_process.spawn, such as env and cwd; stdio is ours. */
  spawn?: SpawnOptions;
  /** Path of the binary, instead of that for this machine. */
  binary?: string;
  /** Is told what the server logs. */
  log?: (text: string) => void;
  /** How long the server may take to start, in milliseconds; 30000 unless given. */
  timeout?: number;
}

/** A server that runs in a process of its own. */
export class Server implements AsyncDisposable {
  private constructor();
  /** Connection strings, one for each address; the one of the Cosmos address is the last. */
  readonly uris: string[];
  /** Connection string of the first address. */
  readonly uri: string;
  readonly process: ChildProcess;
  /** Whether the server has ended, by itself or because it was told to. */
  readonly ended: boolean;
  /** Resolves when the server has ended and nothing of it is left. */
  readonly closed: Promise<unknown>;
  /** Ends the server; running commands may finish. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts `cantle serve` with arguments, and resolves when it serves. The server ends when
 * stop is called or this process ends, also when that is killed.
 */
export function serve(args?: string[], options?: ServeOptions): Promise<Server>;
