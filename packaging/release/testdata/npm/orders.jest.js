const mongoose = require("mongoose");

const Order = mongoose.model("Order", new mongoose.Schema({ customer: { type: String, unique: true }, total: Number }));

beforeAll(async () => {
  await mongoose.connect(process.env.MONGO_URI);
  await Order.init();
});
afterAll(() => mongoose.disconnect());

test("a database of its own, with indexes and validation", async () => {
  expect(mongoose.connection.name).toBe(__MONGO_DB_NAME__);
  expect(await Order.countDocuments()).toBe(0);
  await Order.create({ customer: "a", total: 3 });
  await expect(Order.create({ customer: "a" })).rejects.toMatchObject({ code: 11000 });
});

test("a transaction that is given up", async () => {
  await mongoose.connection.transaction(async (session) => {
    await Order.create([{ customer: "b", total: 4 }], { session });
    throw new Error("no");
  }).catch((e) => expect(e.message).toBe("no"));
  expect(await Order.distinct("customer")).toEqual(["a"]);
});

test("a change stream", async () => {
  const stream = Order.watch();
  await new Promise((ready) => stream.once("ready", ready));
  const change = new Promise((seen) => stream.once("change", seen));
  await Order.updateOne({ customer: "a" }, { $inc: { total: 1 } });
  expect((await change).updateDescription.updatedFields).toMatchObject({ total: 4 });
  await stream.close();
});
