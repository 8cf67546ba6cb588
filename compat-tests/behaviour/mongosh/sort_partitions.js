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
// The order over partitions is the serial one: that of the same documents in one.
db.adminCommand({shardCollection: "test.ranged", key: {k: 1}});
const mixed = docs.map((d) => ({...d, m: [d._id % 17, "t" + (d._id % 13), null, {a: d._id % 3}, [d._id % 4, 5], true][d._id % 6], t: {v: d._id % 29}}));
for (const name of ["many", "ranged", "one"]) {
  if (name === "many") {
    db.adminCommand({shardCollection: "test.many", key: {_id: "hashed"}, numInitialChunks: 7});
  }
  db.getCollection(name).insertMany(mixed);
}
[100, 200, 350, 420].forEach((k) => sh.splitAt("test.ranged", {k}));
const next = numbers(11);
let same = 0;
for (let round = 0; round < 40; round++) {
  const sort = {};
  for (const field of ["g", "m", "t.v", "k"].sort(() => next(3) - 1).slice(0, 1 + next(3))) {
    sort[field] = next(2) === 0 ? 1 : -1;
  }
  sort._id = next(2) === 0 ? 1 : -1; // so that there is one order
  const skip = next(30);
  const limit = 1 + next(200);
  const filter = next(2) === 0 ? {} : {k: {$gte: next(300)}};
  const read = (name) => EJSON.stringify(db.getCollection(name).find(filter).sort(sort).skip(skip).limit(limit).batchSize(7 + next(50)).map((d) => d._id).toArray());
  const piped = (name) => EJSON.stringify(db.getCollection(name).aggregate([{$match: filter}, {$sort: sort}, {$skip: skip}, {$limit: limit}]).toArray().map((d) => d._id));
  const want = read("one");
  const got = [read("many"), read("ranged"), piped("many"), piped("ranged"), piped("one")];
  if (got.every((text) => text === want)) {
    same++;
  } else {
    print(`${EJSON.stringify({filter, sort, skip, limit})}: ${want}\n${got.join("\n")}`);
  }
}
show(same);
