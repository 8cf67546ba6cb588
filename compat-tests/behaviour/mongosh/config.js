// What the shell and tools read about partitions.
show(sh.enableSharding("shop").ok);
show(sh.shardCollection("shop.orders", {customer: "hashed"}).ok);
const shop = db.getSiblingDB("shop");
const docs = [];
for (let i = 0; i < 300; i++) {
  docs.push({_id: i, customer: "c" + (i % 40)});
}
shop.orders.insertMany(docs);
const config = db.getSiblingDB("config");
const entry = config.collections.findOne({_id: "shop.orders"});
show([entry._id, entry.key, entry.unique]);
show(config.databases.findOne({_id: "shop"})._id);
show(config.shards.countDocuments({}) > 0);
const chunks = config.chunks.find({uuid: entry.uuid}).sort({min: 1}).toArray();
show(chunks.length > 0);
show([chunks[0].min, chunks[chunks.length - 1].max]);
show(chunks.every((c, i) => i === 0 || tojson(chunks[i - 1].max) === tojson(c.min)));
const status = sh.status();
show(status.value.shards.length === config.shards.countDocuments({}));
show(Object.keys(status.value.databases.find((d) => d.database._id === "shop").collections));
const distribution = shop.orders.getShardDistribution();
show(distribution.value ? distribution.value.Totals.docs : distribution.Totals.docs);
show(shop.orders.stats().sharded);
show(shop.orders.stats().count);
show(sh.getBalancerState());
show(db.adminCommand({listShards: 1}).ok);
show(db.hello().msg);
