import assert from "node:assert/strict";
import MongoMemoryServer, { MongoMemoryReplSet } from "mongodb-memory-server";
import * as everything from "mongodb-memory-server";
import { MongoClient } from "mongodb";

assert.equal(MongoMemoryServer, everything.MongoMemoryServer);
const set: MongoMemoryReplSet = await MongoMemoryReplSet.create({ replSet: { count: 1 } });
const client = await MongoClient.connect(set.getUri());
await client.withSession((session) => session.withTransaction(() => client.db("shop").collection("orders").insertOne({ total: 3 }, { session })));
assert.equal(await client.db("shop").collection("orders").countDocuments(), 1);
await client.close();
await set.stop();
console.log("module:", set.state);
