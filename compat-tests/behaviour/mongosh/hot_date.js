// server: --partition-ru 400
// A synthetic key spreads a hot date: the same load twice, on a collection whose key is
// the day and on ones whose key has a suffix too.
// Azure Cosmos DB: synthetic-partition-keys
const today = "2026-11-22";
const partitions = (coll) => db.runCommand({customAction: "GetPartitions", collection: coll}).partitions;
const create = (coll, suffix) => db.runCommand({customAction: "CreateCollection", collection: coll, shardKey: "day", offerThroughput: 3200, ...suffix}).ok;
const trips = Array.from({length: 240}, (_, i) => ({_id: i, day: today, vin: "v" + i, km: i % 9}));
// What a second of the load does: how many partitions worked, and how many writes were refused.
const load = (coll) => {
  let refused = 0;
  try {
    db[coll].insertMany(trips, {ordered: false});
  } catch (error) {
    refused = error.writeErrors.length;
    show(error.writeErrors[0].err.code);
  }
  const throttled = partitions(coll).reduce((n, p) => n + Number(p.throttled), 0);
  show([partitions(coll).length, partitions(coll).filter((p) => p.ruTotal > 0).length, refused > 0, throttled > 0]);
  return refused;
};

print("by day: seven of eight partitions idle while writes are refused");
show(create("byDay"));
const refused = load("byDay");
// What was refused is not there, and the rest is. The server waits until it may read.
show(db.runCommand({customAction: "UpdateCollection", collection: "byDay", serverSideRetry: true}).ok);
show(db.byDay.countDocuments({day: today}) + refused === trips.length);

print("by day and a bucket of the vin: all eight share the day");
show(create("byBucket", {suffix: {from: "vin", buckets: 400}}));
load("byBucket");
const spread = partitions("byBucket").map((p) => Number(p.documents));
show([Math.min(...spread) > 5, Math.max(...spread) < 70, spread.reduce((a, b) => a + b)]);
show(partitions("byBucket").every((p) => p.hottestByRU.length > 0 && p.hottestByRU.every((h) => h.key.day === today && h.key.vin.bucket >= 0)));

print("by day and a bucket dealt by chance");
show(create("byChance", {suffix: {random: true, buckets: 400}}));
load("byChance");

print("the documents are what was written, and the day is one query still");
const spreadBy = (coll, suffix) => {
  show(db.adminCommand({shardCollection: "test." + coll, key: {day: "hashed"}, suffix, numInitialChunks: 8}).ok);
  db[coll].insertMany(trips);
};
const visited = (cursor) => cursor.explain().queryPlanner.winningPlan.shards?.length ?? 1;
spreadBy("trips", {from: "vin", buckets: 400});
show(db.trips.findOne({day: today, vin: "v7"}));
show([{day: today, vin: "v7"}, {day: today, vin: "v7", _id: 7}, {day: today}, {vin: "v7"}].map((filter) => visited(db.trips.find(filter))));
agrees(db.trips.aggregate([{$match: {day: today}}, {$group: {_id: "$km", n: {$sum: 1}}}, {$sort: {_id: 1}}]).toArray(),
  [...Array(9).keys()].map((km) => ({_id: km, n: trips.filter((t) => t.km === km).length})));
spreadBy("dealt", {random: true, buckets: 400});
show([{day: today, _id: 7}, {day: today}, {_id: 7}].map((filter) => visited(db.dealt.find(filter))));
agrees(db.dealt.find({day: today}).sort({km: -1, _id: 1}).limit(5).toArray(), trips.filter((t) => t.km === 8).slice(0, 5));

print("no more partitions hold a day than it has buckets");
spreadBy("few", {from: "vin", buckets: 3});
show(visited(db.few.find({day: today})));
show(db.few.find({day: today}).explain("executionStats").executionStats.nReturned);

print("a car with another number is in another bucket, and found there");
show(db.few.updateOne({day: today, vin: "v3"}, {$set: {vin: "new"}}).modifiedCount);
show([db.few.countDocuments({day: today, vin: "v3"}), db.few.countDocuments({day: today, vin: "new"}), db.few.countDocuments({day: today})]);

print("the key of a collection is changed while it is used");
show(sh.reshardCollection("test.few", {day: "hashed"}, {suffix: {random: true, buckets: 16}}).ok);
show(db.getSiblingDB("config").collections.findOne({_id: "test.few"}).key);
show(db.few.countDocuments({day: today}));
