import { MongoClient } from "mongodb";
import { afterAll, expect, inject, test } from "vitest";

const client = new MongoClient(process.env.MONGO_URI);
afterAll(() => client.close());

test("a database of its own on the server of the run", async () => {
  expect(inject("MONGO_URI")).toMatch(/^mongodb:\/\/127.0.0.1:\d+\/\?replicaSet=rs0$/);
  const orders = client.db().collection("orders");
  expect(orders.dbName).toBe(process.env.MONGO_DB_NAME);
  expect(await orders.countDocuments()).toBe(0);
  await orders.insertMany([{ total: 1 }, { total: 2 }]);
  expect(await orders.aggregate([{ $group: { _id: null, sum: { $sum: "$total" } } }]).toArray()).toEqual([{ _id: null, sum: 3 }]);
});
