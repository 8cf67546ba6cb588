// Inserting and querying, in the order of the manual's CRUD tutorials.
// Manual: tutorial/insert-documents, query-documents, query-embedded-documents, query-arrays,
// query-array-of-documents, project-fields-from-query-results, query-for-null-fields, iterate-a-cursor.
const ids = (cursor) => show(cursor.sort({_id: 1}).toArray().map((d) => d._id).join(" "));

// Insert one, insert many; an _id is made where there is none.
show(db.tools.insertOne({_id: "saw", price: 12, tags: ["wood"], size: {h: 14, w: 21, unit: "cm"}, status: "A"}));
show(db.tools.insertOne({price: 1}).insertedId instanceof ObjectId);
show(db.tools.deleteOne({price: 1}).deletedCount);
show(db.tools.insertMany([
  {_id: "axe", price: 30, tags: ["wood", "garden"], size: {h: 70, w: 20, unit: "cm"}, status: "A"},
  {_id: "nut", price: 0.5, tags: ["metal", "small"], size: {h: 0.5, w: 0.5, unit: "in"}, status: "D"},
  {_id: "rope", price: 8, tags: [], size: {h: 1, w: 2000, unit: "cm"}, status: "D"},
  {_id: "tape", price: 3, tags: ["small"], size: {h: 10, w: 10, unit: "cm"}, status: "P"},
]).insertedIds);

// Equality, operators, and, or.
ids(db.tools.find());
ids(db.tools.find({status: "D"}));
ids(db.tools.find({status: {$in: ["A", "P"]}}));
ids(db.tools.find({status: "A", price: {$lt: 20}}));
ids(db.tools.find({$or: [{status: "D"}, {price: {$gte: 30}}]}));
ids(db.tools.find({status: "A", $or: [{price: {$lt: 20}}, {_id: /^a/}]}));
show(db.tools.findOne({status: "P"}));
show(db.tools.findOne({status: "none"}));

// Embedded documents: whole, in their order; by a nested field.
ids(db.tools.find({size: {h: 14, w: 21, unit: "cm"}}));
ids(db.tools.find({size: {w: 21, h: 14, unit: "cm"}}));
ids(db.tools.find({"size.unit": "in"}));
ids(db.tools.find({"size.h": {$lt: 15}, "size.unit": "cm", status: "D"}));

// Arrays: whole, by element, several conditions, position, length.
ids(db.tools.find({tags: ["wood", "garden"]}));
ids(db.tools.find({tags: {$all: ["garden", "wood"]}}));
ids(db.tools.find({tags: "small"}));
ids(db.tools.find({"tags.1": "garden"}));
ids(db.tools.find({tags: {$size: 0}}));
db.marks.insertMany([{_id: 1, of: [82, 85, 88]}, {_id: 2, of: [75, 88, 89]}, {_id: 3, of: [10, 99]}]);
ids(db.marks.find({of: {$gt: 85, $lt: 80}}));
ids(db.marks.find({of: {$elemMatch: {$gte: 80, $lt: 85}}}));

// Arrays of documents.
db.stock.insertMany([
  {_id: "saw", in: [{at: "A", n: 5}, {at: "C", n: 15}]},
  {_id: "axe", in: [{at: "C", n: 5}]},
  {_id: "nut", in: [{at: "A", n: 60}, {at: "B", n: 15}]},
]);
ids(db.stock.find({in: {at: "A", n: 5}}));
ids(db.stock.find({in: {n: 5, at: "A"}}));
ids(db.stock.find({"in.n": {$lte: 20}}));
ids(db.stock.find({"in.0.n": {$lte: 20}}));
ids(db.stock.find({in: {$elemMatch: {n: 5, at: "A"}}}));
ids(db.stock.find({"in.n": 5, "in.at": "A"}));
ids(db.stock.find({"in.n": {$gt: 10, $lte: 20}}));

// Projections.
show(db.tools.find({_id: "saw"}, {price: 1, status: 1}).toArray());
show(db.tools.find({_id: "saw"}, {price: 1, _id: 0}).toArray());
show(db.tools.find({_id: "saw"}, {size: 0, tags: 0}).toArray());
show(db.tools.find({_id: "saw"}, {"size.unit": 1}).toArray());
show(db.tools.find({_id: "saw"}, {"size.unit": 0, tags: 0}).toArray());
show(db.stock.find({_id: "saw"}, {"in.n": 1}).toArray());
show(db.stock.find({}, {in: {$slice: -1}}).sort({_id: 1}).toArray());
show(db.stock.find({in: {$elemMatch: {n: 15}}}, {"in.$": 1}).sort({_id: 1}).toArray());
show(db.tools.find({status: "A"}, {area: {$multiply: ["$size.h", "$size.w"]}, name: {$toUpper: "$_id"}}).sort({_id: 1}).toArray());
fails(() => db.tools.find({}, {price: 1, tags: 0}).toArray());

// Null and missing fields.
db.gaps.insertMany([{_id: 1, x: null}, {_id: 2}, {_id: 3, x: 0}]);
ids(db.gaps.find({x: null}));
ids(db.gaps.find({x: {$type: 10}}));
ids(db.gaps.find({x: {$exists: false}}));
ids(db.gaps.find({x: {$ne: null}}));

// Cursors: sort, skip, limit, batches, iteration.
show(db.tools.find().sort({price: -1}).limit(2).toArray().map((d) => d._id));
show(db.tools.find().sort({price: 1}).skip(1).limit(2).toArray().map((d) => d._id));
const cursor = db.tools.find().sort({_id: 1}).batchSize(2);
show([cursor.hasNext(), cursor.next()._id, cursor.next()._id, cursor.next()._id, cursor.objsLeftInBatch()]);
show(cursor.map((d) => d._id).toArray());
show(db.tools.countDocuments({price: {$lt: 10}}));
show(db.tools.distinct("tags"));
show(db.tools.distinct("size.unit", {status: "D"}));
show(db.tools.find({$expr: {$gt: ["$size.h", "$size.w"]}}).toArray().map((d) => d._id));
show(db.tools.find({_id: "AXE"}).collation({locale: "en", strength: 2}).toArray().length);
show(db.tools.find().sort({price: 1}).min({_id: "nut"}).hint({_id: 1}).toArray().map((d) => d._id));
show(db.tools.aggregate([{$match: {status: "A"}}, {$group: {_id: "$status", sum: {$sum: "$price"}}}]).toArray());
