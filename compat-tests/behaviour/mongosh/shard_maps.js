// The maps of tenants and ranges of elastic databases, made of zones: a list map gives each
// of some key values a partition of its own, a range map gives ranges to groups of tenants.
// Manual: core/zone-sharding, tutorial/sharding-segmenting-data-by-location
db.dropDatabase();
const config = db.getSiblingDB("config");
const parts = (coll) => db.runCommand({customAction: "GetPartitions", collection: coll}).partitions;
const visited = (cursor) => cursor.explain().queryPlanner.winningPlan.shards.length;
const zones = (ns) => config.tags.find({ns}).sort({min: 1}).toArray().map((t) => [t.tag, Object.values(t.min)[0], Object.values(t.max)[0]]);

print("list map: one value, one partition");
const list = db.getName() + ".byTenant";
for (const name of ["gold", "silver"]) show(sh.addShardToZone("p0", name).ok);
show(sh.shardCollection(list, {tenant: 1, order: 1}).ok);
// All orders of a tenant are the range from its number to the next.
const own = (tenant, zone) => sh.updateZoneKeyRange(list, {tenant, order: MinKey()}, {tenant: tenant + 1, order: MinKey()}, zone).ok;
show([own(7, "gold"), own(30, "silver")]);
show(zones(list));
const tenants = [7, 12, 18, 30];
db.byTenant.insertMany(Array.from({length: 400}, (_, i) => ({_id: i, tenant: tenants[i % 4], order: i, total: i % 10})));
show(parts("byTenant").map((p) => [p.min.tenant, p.max.tenant, Number(p.documents)]));
// Their queries stay with them; the small tenants share what is between.
show(tenants.map((tenant) => visited(db.byTenant.find({tenant, total: {$gt: 5}}))));
show(visited(db.byTenant.find({total: 5})));
show(db.byTenant.aggregate([{$match: {tenant: 7}}, {$group: {_id: null, n: {$sum: 1}}}]).toArray()[0].n);
// A tenant changes its group; half of one cannot be another's.
show(own(7, "silver"));
show(zones(list));
fails(() => sh.updateZoneKeyRange(list, {tenant: 7, order: 5}, {tenant: 9, order: MinKey()}, "gold"));

print("range map: ranges of customers on shards of their own");
const range = db.getName() + ".byCustomer";
const edges = [1, 1001, 2001, 3001];
show(sh.shardCollection(range, {customer: 1}).ok);
const groups = ["first", "second", "third"];
groups.forEach((zone, i) => {
  sh.addShardToZone("p0", zone);
  sh.updateZoneKeyRange(range, {customer: edges[i]}, {customer: edges[i + 1]}, zone);
});
show(zones(range));
db.byCustomer.insertMany(Array.from({length: 600}, (_, i) => ({_id: i, customer: 1 + i * 5, name: "c" + i})));
show(parts("byCustomer").map((p) => [p.min.customer, p.max.customer, Number(p.documents)]));
const within = (a, b) => visited(db.byCustomer.find({customer: {$gte: a, $lt: b}}));
show([within(1, 1001), within(1500, 1600), within(900, 1100), within(1, 3001), visited(db.byCustomer.find({customer: 7})), visited(db.byCustomer.find({name: "c7"}))]);
agrees(db.byCustomer.find({customer: {$gte: 990, $lte: 1010}}).sort({customer: 1}).toArray().map((d) => d.customer), [991, 996, 1001, 1006]);

print("a range is given to another group, and divided");
show(sh.removeRangeFromZone(range, {customer: 2001}, {customer: 3001}).ok);
show(sh.updateZoneKeyRange(range, {customer: 2001}, {customer: 2501}, "first").ok);
show(sh.updateZoneKeyRange(range, {customer: 2501}, {customer: 3001}, "third").ok);
show(zones(range));
show(parts("byCustomer").map((p) => [p.min.customer, p.max.customer, Number(p.documents)]));
show(db.byCustomer.countDocuments({}));
// A zone's bounds are partitions' bounds: what would join two of them is refused.
const chunk = (min) => config.chunks.findOne({uuid: config.collections.findOne({_id: range}).uuid, min});
fails(() => db.adminCommand({mergeChunks: range, bounds: [{customer: 1}, {customer: 2001}]}));
show([chunk({customer: 1001}).max, chunk({customer: 2501}).max]);
