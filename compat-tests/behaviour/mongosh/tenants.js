// A tenant gets a partition of its own with its own part of the throughput, and a
// collection that began on one partition gets many while it is used.
db.dropDatabase();
const ns = db.getName() + ".events";
show(db.runCommand({customAction: "CreateCollection", collection: "events", offerThroughput: 4000}).ok);
const docs = [];
for (let i = 0; i < 300; i++) {
  docs.push({_id: i, tenant: "t" + String(i % 6), at: i});
}
db.events.insertMany(docs);
// From one partition to a partitioned collection, with all its documents.
show(sh.shardCollection(ns, {tenant: 1, at: 1}).ok);
show(db.events.countDocuments({}));
// Tenant t2 for itself.
sh.addShardToZone("p0", "own");
show(sh.updateZoneKeyRange(ns, {tenant: "t2", at: MinKey()}, {tenant: "t3", at: MinKey()}, "own").ok);
const parts = () => db.runCommand({customAction: "GetPartitions", collection: "events"}).partitions;
const own = parts().find((p) => p.min.tenant === "t2" && p.max.tenant === "t3");
show([parts().length, own.documents]);
show(db.events.find({tenant: "t2"}).explain().queryPlanner.winningPlan.shards.length);
show(db.runCommand({customAction: "RedistributeThroughput", collection: "events", targets: [{id: own.id, throughput: 2000}],
  sources: parts().map((p) => p.id).filter((id) => id !== own.id)}).ok);
show(parts().map((p) => [p.min.tenant, p.max.tenant, p.throughput]));
// What is asked across partitions comes in the order that one partition gives.
const order = (filter, sort) => db.events.find(filter).sort(sort).toArray().map((d) => d._id).join();
const serial = (sort) => docs.slice().sort(sort).map((d) => d._id).join();
show(order({}, {at: -1}) === serial((a, b) => b.at - a.at));
show(order({}, {tenant: 1, at: -1}) === serial((a, b) => a.tenant < b.tenant ? -1 : a.tenant > b.tenant ? 1 : b.at - a.at));
sh.removeRangeFromZone(ns, {tenant: "t2", at: MinKey()}, {tenant: "t3", at: MinKey()});
sh.removeShardFromZone("p0", "own");
