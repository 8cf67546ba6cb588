// Two clients of the Node driver write until the standard input ends. Each acknowledged write is a line of output: client,
// number, operation time of the reply, and the time of its arrival in milliseconds. There is no code for errors but a line that begins with "error".
import { MongoClient } from 'mongodb';

const perDoc = 50;
const client = new MongoClient(process.env.CANTLE_URI);
await client.connect();
const coll = client.db('shop').collection('load');
let ended = false;
process.stdin.on('end', () => { ended = true; }).resume();

await Promise.all([0, 1].map((w) => client.withSession(async (session) => {
  const name = `node${w}`;
  for (let n = 0; !ended; n++) {
    try {
      await coll.updateOne({ _id: { w: name, part: Math.floor(n / perDoc) } }, { $push: { n } }, { upsert: true, session });
      console.log(`${name} ${n} ${session.operationTime.getHighBits()} ${session.operationTime.getLowBits()} ${Date.now()}`);
    } catch (error) {
      console.log(`error ${name} ${n} ${error}`);
    }
    await new Promise((done) => setTimeout(done, 5));
  }
})));
await client.close();
