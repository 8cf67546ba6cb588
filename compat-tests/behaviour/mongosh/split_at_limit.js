// server: --partition-size=1MB
// Partitions split by themselves when they reach their size, while writers and an open
// cursor go on: nothing is lost, doubled or found in the wrong place.
const config = db.getSiblingDB("config");
const chunksOf = (name) => {
  const entry = config.collections.findOne({_id: `test.${name}`});
  return config.chunks.find({uuid: entry.uuid}).sort({min: 1}).toArray();
};
const text = "x".repeat(900);
const most = 1.25 * 1024 * 1024;
const parts = (coll) => db.getSiblingDB("admin").aggregate([{$shardedDataDistribution: {}}, {$match: {ns: coll.getFullName()}}]).next().shards;

// fill writes until there are enough partitions; model is what should be there.
function fill(coll, enough) {
  const model = new Map();
  const next = numbers(7);
  let id = 0;
  let reader = null;
  let opened = 0;
  for (let round = 0; round < 400 && chunksOf(coll.getName()).length < enough; round++) {
    const docs = [];
    for (let i = 0; i < 100; i++, id++) {
      docs.push({_id: id, site: `s${String(id % 50).padStart(2, "0")}`, n: 0, text});
      model.set(id, 0);
    }
    coll.insertMany(docs, {ordered: false});
    for (let i = 0; i < 10; i++) {
      const some = next(id);
      const site = `s${String(some % 50).padStart(2, "0")}`;
      if (!model.has(some)) {
        continue;
      }
      if (i % 3 === 0) {
        coll.deleteOne({_id: some, site});
        model.delete(some);
      } else {
        coll.updateOne({_id: some, site}, {$inc: {n: 1}});
        model.set(some, model.get(some) + 1);
      }
    }
    if (reader === null && round === 2) { // its cursor stays open over all splits
      opened = model.size;
      reader = coll.find({}, {site: 1}).batchSize(20);
      reader.next();
    }
  }
  const seen = new Set([-1]);
  let read = 1;
  while (reader.hasNext()) {
    seen.add(reader.next()._id);
    read++;
  }
  show(["cursor", read === opened, seen.size === opened]);
  return model;
}

// check compares a collection with what should be there, by scan, by index, by key and
// partition by partition.
function check(coll, model) {
  const all = coll.find().hint({$natural: 1}).toArray();
  show(["scan", all.length === model.size, all.every((d) => model.get(d._id) === d.n), new Set(all.map((d) => d._id)).size === model.size]);
  show(["index", coll.find({n: {$gte: 0}}).hint({n: 1}).toArray().length === model.size, coll.countDocuments({}) === model.size]);
  let found = 0;
  for (let i = 0; i < 50; i++) {
    found += coll.find({site: `s${String(i).padStart(2, "0")}`}).toArray().length;
  }
  show(["key", found === model.size]);
  const chunks = chunksOf(coll.getName());
  show(["line", chunks.every((c, i) => i === 0 || EJSON.stringify(c.min) === EJSON.stringify(chunks[i - 1].max))]);
  const shards = parts(coll);
  show(["partitions", shards.length === chunks.length, shards.reduce((n, s) => n + s.numOwnedDocuments, 0) === model.size,
    shards.every((s) => s.ownedSizeBytes <= most)]);
  show(["valid", coll.validate({full: true}).valid]);
}

for (const [name, key] of [["hashed", {site: "hashed"}], ["ranged", {site: 1, _id: 1}]]) {
  const coll = db.getCollection(name);
  show(db.adminCommand({shardCollection: `test.${name}`, key, numInitialChunks: 1}).ok);
  show(coll.createIndex({n: 1}));
  const model = fill(coll, 4);
  show(chunksOf(name).length >= 4);
  for (let i = 0; i < 120 && parts(coll).some((s) => s.ownedSizeBytes > most); i++) {
    sleep(500); // splits under way end, and the balancer looks again every second
  }
  check(coll, model);
}
