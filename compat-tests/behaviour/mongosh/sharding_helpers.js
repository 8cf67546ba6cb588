// Every helper of sh that concerns keys, zones and partitions.
db.dropDatabase();
const name = db.getName();
const ns = name + ".readings";
show(sh.enableSharding(name).ok);
show(sh.shardCollection(ns, {site: 1, at: 1}).ok);
const docs = [];
for (let i = 0; i < 200; i++) {
  docs.push({_id: i, site: "s" + String(i % 10), at: i});
}
db.readings.insertMany(docs);
const config = db.getSiblingDB("config");
const bounds = () => {
  const entry = config.collections.findOne({_id: ns});
  return config.chunks.find({uuid: entry.uuid}).sort({min: 1}).toArray().map((c) => c.min.site);
};
show(sh.splitAt(ns, {site: "s5", at: MinKey()}).ok);
show(sh.splitFind(ns, {site: "s7", at: 7}).ok);
show(bounds());
// A query reads the partitions that hold its range.
const read = (filter) => db.readings.find(filter).explain().queryPlanner.winningPlan.shards.length;
show([read({site: "s1"}), read({site: {$gte: "s4", $lt: "s6"}}), read({at: 5})]);
// A site with a partition of its own.
show(sh.addShardToZone("p0", "busy").ok);
show(sh.updateZoneKeyRange(ns, {site: "s3", at: MinKey()}, {site: "s3", at: MaxKey()}, "busy").ok);
show(bounds());
show(config.tags.find({ns: ns}).toArray().map((t) => [t.min.site, t.max.site, t.tag]));
show(sh.removeRangeFromZone(ns, {site: "s3", at: MinKey()}, {site: "s3", at: MaxKey()}).ok);
show(sh.removeShardFromZone("p0", "busy").ok);
show(sh.addShardTag("p0", "busy").ok);
show(sh.removeShardTag("p0", "busy").ok);
// Merging, and moves to where a partition lies already.
const entry = config.collections.findOne({_id: ns});
const first = config.chunks.find({uuid: entry.uuid}).sort({min: 1}).next();
show(sh.moveChunk(ns, {site: "s0", at: 0}, first.shard).ok);
show(db.adminCommand({mergeChunks: ns, bounds: [first.min, {site: MaxKey(), at: MaxKey()}]}).ok);
show(bounds().length);
// The balancer.
show(sh.getBalancerState());
sh.stopBalancer();
show(sh.getBalancerState());
sh.setBalancerState(true);
show(sh.getBalancerState());
show(sh.balancerCollectionStatus(ns).balancerCompliant);
sh.disableBalancing(ns);
show(config.collections.findOne({_id: ns}).noBalance);
sh.enableBalancing(ns);
show(config.collections.findOne({_id: ns}).noBalance);
// Another key, and more of it.
show(sh.reshardCollection(ns, {at: "hashed"}).ok);
show(config.collections.findOne({_id: ns}).key);
show(db.adminCommand({refineCollectionShardKey: ns, key: {at: "hashed", site: 1}}).ok);
show(config.collections.findOne({_id: ns}).key);
show(db.readings.countDocuments({}));
show(db.readings.find({site: "s4"}).sort({at: 1}).toArray().map((d) => d._id).join() ===
  docs.filter((d) => d.site === "s4").map((d) => d._id).join());
show(sh.checkMetadataConsistency().toArray());
show(db.readings.analyzeShardKey({site: 1}, {readWriteDistribution: false}).keyCharacteristics.numDistinctValues);
show(db.readings.getShardDistribution().value.Totals.docs);
show(sh.status().value.databases.find((d) => d.database._id === name).collections[ns].shardKey);
// What is sampled, and what a key would make of it.
db.readings.configureQueryAnalyzer({mode: "full", samplesPerSecond: 50});
db.readings.findOne({site: "s1"});
db.readings.findOne({at: 3});
show(db.readings.analyzeShardKey({site: 1}, {keyCharacteristics: false}).readDistribution.percentageOfSingleShardReads);
show(db.readings.configureQueryAnalyzer({mode: "off"}).newConfiguration);
show(db.getSiblingDB("admin").aggregate([{$listSampledQueries: {namespace: ns}}, {$sort: {"cmd.filter.at": -1}}]).toArray().map((q) => [q.cmdName, q.cmd.filter]));
// Switches that are kept.
show([sh.disableAutoMerger(ns).modifiedCount, config.collections.findOne({_id: ns}).enableAutoMerge, sh.enableAutoMerger(ns).modifiedCount]);
sh.stopAutoMerger();
show(sh.isAutoMergerEnabled());
sh.startAutoMerger();
show(sh.isAutoMergerEnabled());
show([sh.disableMigrations(ns).ok, config.collections.findOne({_id: ns}).noBalance, sh.enableMigrations(ns).ok]);
show(sh.isBalancerRunning().mode);
show(sh.isConfigShardEnabled().enabled);
// Key and partitions go, the documents stay; a partition gets another number.
const ids = (list) => list.map((s) => s._id);
show(sh.shardAndDistributeCollection(name + ".spread", {_id: "hashed"}, false, {numInitialChunks: 3}).ok);
show(sh.getShardedDataDistribution().toArray().find((d) => d.ns === name + ".spread").shards.length);
show(["p0", "p1", "p2"].every((id) => ids(sh.listShards()).includes(id)));
show(sh.moveRange(name + ".spread", "p0", {_id: MinKey()}, undefined).ok);
show(sh.unshardCollection(ns, "p1").ok);
show(db.readings.aggregate([{$collStats: {count: {}}}]).toArray().map((d) => [d.shard, d.count]));
show(sh.moveCollection(ns, "p0").ok);
show(db.readings.aggregate([{$collStats: {count: {}}}]).toArray().map((d) => [d.shard, d.count]));
for (const abort of ["abortReshardCollection", "commitReshardCollection", "abortMoveCollection", "abortUnshardCollection"]) {
  fails(() => sh[abort](ns));
}
// Zones first, the collection later.
sh.addShardToZone("p0", "later");
show(sh.updateZoneKeyRange(name + ".planned", {site: "a"}, {site: "m"}, "later").ok);
sh.shardCollection(name + ".planned", {site: 1});
show(config.chunks.find({"min.site": {$exists: true}, "max.site": "m"}).toArray().map((c) => [c.min.site, c.max.site]));
show(sh.removeRangeFromZone(name + ".planned", {site: "a"}, {site: "m"}).ok);
show(sh.removeShardFromZone("p0", "later").ok);
