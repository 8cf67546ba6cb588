import { afterAll, beforeAll, expect, test } from "bun:test";
import { MongoMemoryServer } from "mongodb-memory-server";
import { MongoClient } from "mongodb";

let server: MongoMemoryServer;

beforeAll(async () => {
  server = await MongoMemoryServer.create();
});
afterAll(() => server.stop());

test("orders", async () => {
  const client = await MongoClient.connect(server.getUri("shop"));
  await client.db().collection("orders").insertOne({ total: 3 });
  expect(await client.db().collection("orders").countDocuments()).toBe(1);
  await client.close();
});
