import { MongoMemoryServer } from "cantle-memory-server"
import mongoose from "mongoose"

const server = await MongoMemoryServer.create()
await mongoose.connect(server.getUri())

const Order = mongoose.model("Order", new mongoose.Schema({ customer: String, total: Number }))
await Order.create({ customer: "c7", total: 3 })
console.log(await Order.countDocuments({ customer: "c7" }))

await mongoose.disconnect()
await server.stop()
