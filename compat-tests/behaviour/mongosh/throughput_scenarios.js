// server: --partition-ru 10000
// The seeds' cases of partitioned throughput: profiles, telemetry, a hot date, tenants.
const partitions = (coll) => db.runCommand({customAction: "GetPartitions", collection: coll}).partitions;
const cost = () => db.runCommand({getLastRequestStatistics: 1}).RequestCharge;
const visited = (cursor) => cursor.explain("executionStats").shardInformation.length;
const many = (n, doc) => Array.from({length: n}, (_, i) => doc(i));

// User profiles by user: reads and writes by key cost 1 and 5 RU for a small document.
show(db.runCommand({customAction: "CreateCollection", collection: "profiles", shardKey: "userId", offerThroughput: 20000}));
show(partitions("profiles").length);
show(db.profiles.insertMany(many(200, (i) => ({_id: i, userId: "u" + i, country: ["de", "us"][i % 2]}))).acknowledged);
show(db.profiles.findOne({_id: 7, userId: "u7"}).country);
show(cost());
show([visited(db.profiles.find({userId: "u7"})), visited(db.profiles.find({country: "de"}))]);

// Device telemetry: 20,000 RU/s on deviceId are two partitions of 10,000 each.
show(db.runCommand({customAction: "CreateCollection", collection: "telemetry", shardKey: "deviceId", offerThroughput: 20000}));
show(partitions("telemetry").map((p) => p.throughput));
show(db.telemetry.insertMany(many(500, (i) => ({deviceId: "d" + (i % 50), at: i, value: i % 7}))).acknowledged);
show(partitions("telemetry").every((p) => p.documents > 100));
show(visited(db.telemetry.find({deviceId: "d1", at: {$gt: 100}}).sort({at: -1})));
// The order over all partitions is that of one.
show(db.telemetry.find().sort({at: 1}).map((d) => d.at).toArray().every((at, i) => at === i));

// Time series by day: all of today's writes meet in one partition, and half of the
// throughput is of no use.
show(db.runCommand({customAction: "CreateCollection", collection: "series", shardKey: "day", offerThroughput: 20000}));
show(db.series.insertMany(many(300, (i) => ({day: "2026-11-22", at: i})), {ordered: false}).acknowledged);
const busy = partitions("series").filter((p) => p.ruLastMinute > 0);
show([busy.length, busy[0].documents]);
show(busy[0].hottestByRU.map((h) => h.key));
// A hierarchical key of day and device spreads them; a day is still one query.
show(db.adminCommand({shardCollection: "test.spread", key: {day: "hashed", deviceId: "hashed"}, numInitialChunks: 4}).ok);
show(db.spread.insertMany(many(300, (i) => ({day: "2026-11-" + (10 + i % 12), deviceId: "d" + i, at: i}))).acknowledged);
show(visited(db.spread.find({day: "2026-11-11"})) < 4);

// Tenants by collection: each has its own RU/s, and one that uses up its own does
// not concern the other.
show(db.runCommand({customAction: "CreateCollection", collection: "small", shardKey: "k", offerThroughput: 400}));
show(db.runCommand({customAction: "CreateCollection", collection: "large", shardKey: "k", offerThroughput: 10000}));
let refused = 0;
try {
  db.small.insertMany(many(1000, (i) => ({_id: i, k: 1})), {ordered: false});
} catch (error) {
  refused = error.writeErrors.length;
}
show([refused > 0, refused + db.large.insertMany(many(100, (i) => ({_id: i, k: 1}))).insertedIds[99] > 99]);
// What was refused is not there, and the rest is.
sleep(3000);
show(db.small.countDocuments({k: 1}) + refused);

// Tenants by key: a database's throughput shared by its collections.
const other = db.getSiblingDB("shared");
show(other.runCommand({customAction: "CreateDatabase", offerThroughput: 1000}));
show(other.runCommand({customAction: "CreateCollection", collection: "a", shardKey: "tenant"}));
show(other.runCommand({customAction: "GetDatabase"}));
show(other.runCommand({customAction: "CreateCollection", collection: "b"}));

// What profiles have cost, by shape: the query without the shard key fans out.
show(db.profiles.find({country: "de"}).toArray().length);
const report = db.runCommand({customAction: "GetRequestReport", collection: "profiles"});
show(report.requests.filter((r) => r.fanOuts > 0).map((r) => [r.command, r.filter]));
