import Default, { MongoMemoryReplSet, MongoMemoryServer, MongoMemoryServerStates, errors } from "cantle-memory-server";
import setup from "cantle-memory-server/vitest/setup";
import { serve, type Server } from "cantle";

// What users of mongodb-memory-server write, as the compiler sees it.
export async function use(): Promise<string> {
  await using one = await MongoMemoryServer.create({ instance: { port: 1, dbName: "x", storageEngine: "wiredTiger" }, binary: { version: "7.0.14" }, auth: { enable: true } });
  const set: MongoMemoryReplSet = await MongoMemoryReplSet.create({ replSet: { count: 1, name: "rs0" } });
  set.on("stateChange", () => {});
  const same: typeof Default = MongoMemoryServer;
  const port: number | undefined = one.instanceInfo?.port;
  const stopped: boolean = await one.stop({ doCleanup: true, force: false });
  const server: Server = await serve(["--memory"]);
  if (one.state === MongoMemoryServerStates.running || one instanceof errors.StateError) return set.servers[0].getUri("db");
  return `${same.name} ${port} ${stopped} ${server.uri} ${setup.name} ${set.getUri()}`;
}
