// Changing and removing documents, in the order of the manual's CRUD tutorials.
// Manual: tutorial/update-documents, update-documents-with-aggregation-pipeline, remove-documents,
// core/bulk-write-operations, reference/method/db.collection.findAndModify.
const all = (coll) => show(coll.find().sort({_id: 1}).toArray());
db.c.insertMany([{_id: 1, n: 25, s: "A"}, {_id: 2, n: 50, s: "A", size: {h: 1, u: "cm"}}, {_id: 3, n: 75, s: "D", tags: ["x"]}]);

// One, many, whole.
show(db.c.updateOne({s: "A"}, {$set: {"size.u": "in", s: "P"}, $currentDate: {seen: true}}));
show(db.c.findOne({_id: 1}).seen instanceof Date);
show(db.c.updateMany({n: {$gte: 50}}, {$inc: {n: -1}, $unset: {size: ""}}));
show(db.c.updateMany({n: 1000}, {$set: {n: 0}}));
show(db.c.replaceOne({_id: 1}, {n: 1, of: [{k: 1, v: 10}, {k: 2, v: 20}]}));
show(db.c.updateOne({_id: 3}, {$set: {s: "D"}}));
all(db.c);

// Arrays.
db.c.updateOne({_id: 3}, {$push: {tags: {$each: ["z", "y"], $sort: 1, $slice: 3}}});
db.c.updateOne({_id: 3}, {$addToSet: {tags: "x"}});
db.c.updateOne({_id: 1, "of.k": 2}, {$set: {"of.$.v": 21}});
db.c.updateOne({_id: 1}, {$inc: {"of.$[e].v": 1}}, {arrayFilters: [{"e.k": {$lt: 2}}]});
db.c.updateOne({_id: 1}, {$mul: {"of.$[].v": 2}});
db.c.updateOne({_id: 3}, {$pull: {tags: {$in: ["y"]}}});
db.c.updateOne({_id: 3}, {$pop: {tags: -1}});
db.c.updateOne({_id: 2}, {$rename: {s: "status"}, $min: {n: 5}, $max: {top: 9}, $bit: {flags: {or: 6}}});
all(db.c);

// Upserts.
show(db.c.updateOne({_id: 4, s: "new"}, {$set: {n: 1}, $setOnInsert: {made: true}}, {upsert: true}));
show(db.c.updateOne({_id: 4}, {$set: {n: 2}, $setOnInsert: {made: false}}, {upsert: true}));
show(db.c.replaceOne({_id: 5}, {whole: true}, {upsert: true}));
show(db.c.find({_id: {$gte: 4}}).sort({_id: 1}).toArray());

// Pipelines.
db.m.insertMany([{_id: 1, a: 95, b: 92, c: 90}, {_id: 2, a: 55, c: 70}]);
show(db.m.updateMany({}, [{$set: {mean: {$round: [{$avg: ["$a", "$b", "$c"]}, 1]}}}, {$set: {grade: {$switch: {branches: [{case: {$gte: ["$mean", 90]}, then: "A"}], default: "B"}}}}]));
show(db.m.updateOne({_id: 2}, [{$replaceRoot: {newRoot: {$mergeObjects: [{b: 0}, "$$ROOT"]}}}, {$unset: "grade"}]));
show(db.m.updateOne({_id: 1}, [{$set: {top: {$max: ["$a", "$b", "$$given"]}}}], {let: {given: 99}}));
all(db.m);
fails(() => db.m.updateOne({_id: 1}, [{$group: {_id: 1}}]));

// Finding and changing at once.
show(db.m.findOneAndUpdate({_id: 1}, {$inc: {a: 1}}, {projection: {a: 1}}));
show(db.m.findOneAndUpdate({_id: 1}, {$inc: {a: 1}}, {projection: {a: 1}, returnDocument: "after"}));
show(db.m.findOneAndReplace({_id: 9}, {x: 1}, {upsert: true, returnDocument: "after"}));
show(db.m.findOneAndDelete({_id: {$gt: 0}}, {sort: {_id: -1}, projection: {x: 1}}));
show(db.m.findAndModify({query: {_id: 2}, update: {$set: {z: 1}}, new: true, fields: {z: 1}}));
show(db.m.findAndModify({query: {_id: 77}, remove: true}));

// Bulk: ordered stops at the first error, unordered goes on.
show(db.b.bulkWrite([
  {insertOne: {document: {_id: 1}}}, {insertOne: {document: {_id: 2}}},
  {updateOne: {filter: {_id: 1}, update: {$set: {x: 1}}}}, {updateMany: {filter: {}, update: {$inc: {n: 1}}}},
  {replaceOne: {filter: {_id: 3}, replacement: {y: 1}, upsert: true}}, {deleteOne: {filter: {_id: 2}}},
]));
try {
  db.b.bulkWrite([{insertOne: {document: {_id: 1}}}, {insertOne: {document: {_id: 8}}}]);
} catch (e) {
  show([e.code, e.result.insertedCount, e.writeErrors.length]);
}
try {
  db.b.insertMany([{_id: 1}, {_id: 9}, {_id: 3}], {ordered: false});
} catch (e) {
  show([e.code, e.result.insertedCount, e.writeErrors.length]);
}
all(db.b);

// What is refused.
fails(() => db.c.updateOne({_id: 1}, {$set: {_id: 2}}));
fails(() => db.c.updateOne({_id: 1}, {$set: {n: 1}, $inc: {n: 1}}));
fails(() => db.c.updateOne({_id: 1}, {$inc: {of: 1}}));
fails(() => db.c.updateOne({_id: 1}, {$push: {n: 1}}));
fails(() => db.c.replaceOne({_id: 1}, {_id: 7}));

// Deleting.
show(db.c.deleteOne({n: {$lt: 100}}).deletedCount);
show(db.c.deleteMany({s: "D"}).deletedCount);
show(db.c.deleteMany({}).deletedCount);
show(db.c.countDocuments());
show(db.getCollectionNames().sort());
