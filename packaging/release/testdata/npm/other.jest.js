const { MongoClient } = require("mongodb");

test("what another file has written is not here", async () => {
  const client = await MongoClient.connect(__MONGO_URI__);
  const orders = client.db().collection("orders");
  expect(await orders.countDocuments()).toBe(0);
  await orders.insertOne({ customer: "a" });
  await client.close();
});
