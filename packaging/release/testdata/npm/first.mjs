import { MongoMemoryServer } from "cantle-memory-server"
import { MongoClient } from "mongodb"

const server = await MongoMemoryServer.create()
const client = new MongoClient(server.getUri())
console.log(await client.db("shop").collection("orders").insertOne({ total: 3 }))
await client.close()
await server.stop()
