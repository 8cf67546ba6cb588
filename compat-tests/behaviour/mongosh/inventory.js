// Stock by warehouse: reshaping, joining and grouping, in eight partitions.
// Manual: core/aggregation-pipeline, reference/operator/aggregation/{unwind,lookup,facet,bucket,graphLookup,redact}
// What can be computed in plain JavaScript is, and compared.
const random = numbers(7);
const kinds = ["bolt", "cable", "drill", "glue", "hammer", "lamp", "nail", "rope"];
const stock = [];
for (let i = 0; i < 120; i++) {
  const item = {_id: i, item: kinds[random(kinds.length)], warehouse: "W" + (1 + random(4)), qty: random(200), price: 1 + random(400) / 4};
  if (random(3) > 0) item.sizes = ["S", "M", "L"].slice(0, 1 + random(3));
  if (random(6) === 0) item.retired = true;
  stock.push(item);
}
db.adminCommand({shardCollection: "test.inventory", key: {_id: "hashed"}, numInitialChunks: 8});
db.inventory.insertMany(stock);
db.warehouses.insertMany([{_id: "W1", town: "Ulm", under: null}, {_id: "W2", town: "Graz", under: "W1"}, {_id: "W3", town: "Bern", under: "W1"}, {_id: "W4", town: "Linz", under: "W2"}]);

print("value per item");
const perItem = db.inventory.aggregate([
  {$match: {retired: {$ne: true}}},
  {$group: {_id: "$item", value: {$sum: {$multiply: ["$qty", "$price"]}}, pieces: {$sum: "$qty"}, dearest: {$max: "$price"}}},
  {$sort: {value: -1}},
]).toArray();
show(perItem);
const wanted = {};
for (const s of stock.filter((s) => !s.retired)) {
  const w = (wanted[s.item] ??= {_id: s.item, value: 0, pieces: 0, dearest: 0});
  w.value += s.qty * s.price;
  w.pieces += s.qty;
  w.dearest = Math.max(w.dearest, s.price);
}
agrees(perItem, Object.values(wanted).sort((a, b) => b.value - a.value));

print("articles per size, those without a size too");
const perSize = db.inventory.aggregate([{$unwind: {path: "$sizes", preserveNullAndEmptyArrays: true}}, {$sortByCount: "$sizes"}, {$sort: {count: -1, _id: 1}}]).toArray();
show(perSize);
agrees(perSize.map((s) => s.count).reduce((a, b) => a + b), stock.map((s) => s.sizes?.length ?? 1).reduce((a, b) => a + b));

print("the fullest shelf of each warehouse, with its town");
show(db.inventory.aggregate([
  {$sort: {qty: -1, _id: 1}},
  {$group: {_id: "$warehouse", top: {$first: {id: "$_id", item: "$item", qty: "$qty"}}, low: {$bottomN: {n: 2, sortBy: {qty: -1, _id: 1}, output: "$qty"}}}},
  {$lookup: {from: "warehouses", localField: "_id", foreignField: "_id", as: "where"}},
  {$set: {town: {$first: "$where.town"}}},
  {$unset: "where"},
  {$sort: {_id: 1}},
]).toArray());

print("a join the other way, with a pipeline and a variable");
const shelves = db.warehouses.aggregate([
  {$lookup: {from: "inventory", let: {w: "$_id"}, pipeline: [{$match: {$expr: {$and: [{$eq: ["$warehouse", "$$w"]}, {$gte: ["$qty", 150]}]}}}, {$sort: {_id: 1}}, {$project: {_id: 1}}], as: "many"}},
  {$project: {town: 1, ids: "$many._id"}},
  {$sort: {_id: 1}},
]).toArray();
show(shelves.map((s) => [s.town, s.ids.length]));
agrees(shelves.map((s) => s.ids), shelves.map((w) => stock.filter((s) => s.warehouse === w._id && s.qty >= 150).map((s) => s._id)));

print("several questions at once");
show(db.inventory.aggregate([{$facet: {
  prices: [{$bucket: {groupBy: "$price", boundaries: [0, 25, 50, 75], default: "more", output: {n: {$sum: 1}, items: {$addToSet: "$item"}}}}, {$set: {items: {$size: "$items"}}}, {$sort: {_id: 1}}],
  thirds: [{$bucketAuto: {groupBy: "$qty", buckets: 3}}],
  retired: [{$match: {retired: true}}, {$count: "n"}],
}}]).toArray());

print("who answers to whom");
show(db.warehouses.aggregate([
  {$graphLookup: {from: "warehouses", startWith: "$under", connectFromField: "under", connectToField: "_id", as: "above", depthField: "steps"}},
  {$project: {town: 1, above: {$map: {input: {$sortArray: {input: "$above", sortBy: {steps: 1}}}, in: "$$this.town"}}}},
  {$sort: {_id: 1}},
]).toArray());

print("labels");
show(db.inventory.aggregate([
  {$match: {item: /^(bolt|rope)$/, qty: {$lt: 60}}},
  {$sort: {_id: 1}},
  {$project: {_id: 0, label: {$concat: [{$toUpper: {$substrCP: ["$item", 0, 1]}}, {$substrCP: ["$item", 1, 9]}, " #", {$toString: "$_id"}, {$cond: [{$isArray: "$sizes"}, {$concat: [" ", {$reduce: {input: "$sizes", initialValue: "", in: {$concat: ["$$value", "$$this"]}}}]}, ""]}]}, class: {$switch: {branches: [{case: {$lt: ["$qty", 10]}, then: "out"}, {case: {$lt: ["$qty", 30]}, then: "low"}], default: "fine"}}}},
  {$limit: 8},
]).toArray());

print("what is wrong is said so");
fails(() => db.inventory.aggregate([{$lookup: {from: "warehouses"}}]).toArray());
fails(() => db.inventory.aggregate([{$group: {n: {$sum: 1}}}]).toArray());
fails(() => db.inventory.aggregate([{$unwind: "sizes"}]).toArray());
fails(() => db.inventory.aggregate([{$project: {x: {$divide: [1, 0]}}}]).toArray());
