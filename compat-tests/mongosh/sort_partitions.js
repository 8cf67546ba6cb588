// A sort over several partitions is one order, in every batch size, up and down.
db.adminCommand({shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 7});
const docs = [];
for (let i = 0; i < 500; i++) {
  docs.push({_id: i, k: (i * 7919) % 500, g: i % 5});
}
db.c.insertMany(docs);
const inOrder = (list, less) => list.every((d, i) => i === 0 || less(list[i - 1], d));
show(inOrder(db.c.find().sort({k: 1}).batchSize(7).toArray(), (a, b) => a.k < b.k));
show(inOrder(db.c.find().sort({k: -1}).batchSize(100).toArray(), (a, b) => a.k > b.k));
show(inOrder(db.c.find().sort({g: 1, k: -1}).toArray(), (a, b) => a.g < b.g || (a.g === b.g && a.k > b.k)));
show(db.c.find().sort({k: 1}).skip(100).limit(3).map((d) => d.k).toArray());
show(db.c.createIndex({k: 1}));
show(inOrder(db.c.find().sort({k: 1}).batchSize(7).toArray(), (a, b) => a.k < b.k));
show(db.c.find({k: {$gte: 490}}).sort({k: -1}).map((d) => d.k).toArray());
show(db.c.find().sort({k: 1}).toArray().length);
show(db.c.aggregate([{$group: {_id: "$g", n: {$sum: 1}, top: {$max: "$k"}}}, {$sort: {_id: 1}}]).toArray());
