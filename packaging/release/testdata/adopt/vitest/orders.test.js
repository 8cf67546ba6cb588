import { MongoClient } from "mongodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import { setup, teardown } from "vitest-mongodb";

beforeAll(() => setup({ type: "replSet", serverOptions: { replSet: { count: 1, storageEngine: "wiredTiger" } } }));
afterAll(teardown);

test("orders", async () => {
  const client = await MongoClient.connect(globalThis.__MONGO_URI__);
  await client.db("shop").collection("orders").insertOne({ total: 3 });
  expect(await client.db("shop").collection("orders").countDocuments()).toBe(1);
  await client.close();
});
