// From one partition to many while the application goes on: in place, by another shard
// key, back to one, and by copying with a change stream.
const text = "y".repeat(100);
const make = (i) => ({_id: i, tenant: `t${i % 20}`, at: (i * 7919) % 100003, n: 0, text});

// meanwhile runs an action and writes until it has ended; model is what should be there.
let fresh = 100000;
function meanwhile(coll, model, action) {
  let done = false;
  let failed = null;
  const run = async () => {
    try {
      action();
    } catch (error) {
      failed = error;
    }
    done = true;
  };
  run();
  let writes = 0;
  for (; !done || writes < 30; writes++) {
    switch (writes % 3) {
      case 0:
        fresh++;
        coll.insertOne(make(fresh));
        model.set(fresh, 0);
        break;
      case 1: {
        const some = (writes * 31) % 3000;
        const r = coll.updateOne({_id: some}, {$inc: {n: 1}});
        if (r.modifiedCount === 1) {
          model.set(some, model.get(some) + 1);
        }
        break;
      }
      default: {
        const some = (writes * 17) % 3000;
        if (coll.deleteOne({_id: some}).deletedCount === 1) {
          model.delete(some);
        }
      }
    }
  }
  show(failed === null ? "done" : `failed: ${failed}`);
}

// check compares a collection with its model.
function check(coll, model) {
  const all = coll.find().toArray();
  const tenants = [...Array(20).keys()].map((i) => coll.countDocuments({tenant: `t${i}`})).reduce((a, b) => a + b);
  show([all.length === model.size, all.every((d) => model.get(d._id) === d.n), tenants === model.size, coll.validate({full: true}).valid]);
}
const partitions = (coll) => coll.aggregate([{$collStats: {count: {}}}]).toArray().filter((d) => d.count > 0).length;

db.orders.createIndex({at: 1});
const model = new Map();
for (let i = 0; i < 3000; i += 500) {
  const docs = [...Array(500).keys()].map((j) => make(i + j));
  db.orders.insertMany(docs);
  docs.forEach((d) => model.set(d._id, 0));
}
const early = db.orders.find().batchSize(100); // opened before everything
early.next();
show(partitions(db.orders));
meanwhile(db.orders, model, () => sh.shardCollection("test.orders", {tenant: "hashed"}, false, {numInitialChunks: 6}));
show(partitions(db.orders) > 2);
check(db.orders, model);
meanwhile(db.orders, model, () => sh.reshardCollection("test.orders", {tenant: 1, _id: 1}, false, {numInitialChunks: 4}));
show(partitions(db.orders));
check(db.orders, model);
meanwhile(db.orders, model, () => db.adminCommand({unshardCollection: "test.orders", toShard: "p0"}));
show(partitions(db.orders));
check(db.orders, model);
let left = 1;
for (; early.hasNext(); left++) {
  early.next();
}
show(left);

// By copying: the stream is opened first, so that it tells everything that the copy
// may miss; what it tells is done again until it has nothing more to say.
sh.shardCollection("test.copied", {tenant: "hashed"}, false, {numInitialChunks: 5});
const stream = db.orders.watch([], {fullDocument: "updateLookup"});
let applied = 0;
const apply = () => {
  for (let e = stream.tryNext(); e !== null; e = stream.tryNext(), applied++) {
    const filter = e.operationType === "delete" ? {_id: e.documentKey._id} : {_id: e.documentKey._id, tenant: `t${e.documentKey._id % 20}`};
    if (e.operationType === "delete" || e.fullDocument === null) { // null: gone meanwhile, and its end will be told
      db.copied.deleteMany(filter);
    } else {
      db.copied.replaceOne(filter, e.fullDocument, {upsert: true});
    }
  }
};
meanwhile(db.orders, model, () => {
  const source = db.orders.find().batchSize(200);
  let batch = [];
  while (source.hasNext()) {
    batch.push(source.next());
    if (batch.length === 200 || !source.hasNext()) {
      db.copied.bulkWrite(batch.map((d) => ({replaceOne: {filter: {_id: d._id, tenant: d.tenant}, replacement: d, upsert: true}})));
      batch = [];
    }
  }
});
const last = 999999; // writers have stopped; when this comes, all has come
db.orders.insertOne(make(last));
model.set(last, 0);
for (let i = 0; i < 600 && db.copied.countDocuments({_id: last}) === 0; i++) {
  apply();
}
stream.close();
show(applied > 0);
check(db.copied, model);
agrees(db.copied.find().sort({_id: 1}).toArray().map((d) => [d._id, d.n]), db.orders.find().sort({_id: 1}).toArray().map((d) => [d._id, d.n]));
