const { MongoClient } = require("mongodb");

let client;

beforeAll(async () => {
  client = await MongoClient.connect(globalThis.__MONGO_URI__);
});
afterAll(() => client.close());

test("a transaction", async () => {
  const orders = client.db(globalThis.__MONGO_DB_NAME__).collection("orders");
  await client.withSession((session) => session.withTransaction(() => orders.insertOne({ total: 3 }, { session })));
  expect(await orders.countDocuments()).toBe(1);
});

test("the release that the configuration names", async () => {
  expect((await client.db().admin().buildInfo()).version).toMatch(/^7\.0\./);
});
