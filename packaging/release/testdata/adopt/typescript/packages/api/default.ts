import assert from "node:assert/strict";
import MongoMemoryServer from "mongodb-memory-server-core";
import * as everything from "mongodb-memory-server-core";
import MongoMemoryReplSet from "mongodb-memory-server-core/lib/MongoMemoryReplSet";
import { StateError, UnknownPlatformError } from "mongodb-memory-server-core/lib/util/errors";
import { DryMongoBinary } from "mongodb-memory-server-global-4.4";
import { MongoClient } from "mongodb";

// Compiled to CommonJS: each way to import gives the same classes.
async function main(): Promise<void> {
  assert.equal(MongoMemoryServer, everything.MongoMemoryServer);
  assert.equal(MongoMemoryServer, everything.default);
  assert.equal(MongoMemoryReplSet, everything.MongoMemoryReplSet);
  assert.ok(!(new StateError([], "") instanceof UnknownPlatformError));

  const server: MongoMemoryServer = await MongoMemoryServer.create({ instance: { dbName: "shop" } });
  assert.ok(server.instanceInfo?.instance instanceof everything.MongoInstance);
  assert.ok(await DryMongoBinary.locateBinary({}));
  const client = await MongoClient.connect(server.getUri());
  assert.match((await client.db().admin().buildInfo()).version, /^7\.0\./);
  await client.close();
  await server.stop();
  console.log("default import:", server.state);
}

void main();
