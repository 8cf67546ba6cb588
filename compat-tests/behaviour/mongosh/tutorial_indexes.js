// Kinds and properties of indexes, in the order of the manual.
// Manual: indexes, core/indexes/index-types, core/index-properties.
const ids = (cursor) => show(cursor.sort({_id: 1}).toArray().map((d) => d._id).join(" "));
const stage = (cursor) => {
  let s = cursor.explain().queryPlanner.winningPlan;
  while (s.inputStage) s = s.inputStage;
  show([s.stage, s.indexName]);
};
db.c.insertMany([
  {_id: 1, a: 1, b: "x", tags: ["p", "q"], at: {type: "Point", coordinates: [0, 0]}, text: "coffee and cake", more: {k: 1}},
  {_id: 2, a: 2, b: "X", tags: ["q"], at: {type: "Point", coordinates: [1, 1]}, text: "black tea", more: {l: {m: 5}}},
  {_id: 3, a: 2, b: "y", tags: [], at: {type: "Point", coordinates: [50, 50]}, text: "Coffee shop"},
  {_id: 4, b: "z", mail: "m@x"},
]);

// Single field and compound: equality, ranges, sorts, covered.
show(db.c.createIndex({a: 1}));
stage(db.c.find({a: 2}));
stage(db.c.find().sort({a: -1}));
show(db.c.createIndex({a: 1, b: -1}));
stage(db.c.find({a: 2, b: {$gt: "a"}}).hint({a: 1, b: -1}));
show(db.c.find({a: 2}, {_id: 0, a: 1, b: 1}).sort({a: 1, b: -1}).hint("a_1_b_-1").toArray());
show(db.c.find({a: 2}, {_id: 0, a: 1, b: 1}).hint("a_1_b_-1").explain("executionStats").executionStats.totalDocsExamined);

// Multikey.
show(db.c.createIndex({tags: 1}));
ids(db.c.find({tags: "q"}));
stage(db.c.find({tags: {$all: ["p", "q"]}}));
fails(() => {
  db.two.createIndex({x: 1, y: 1});
  return db.two.insertOne({x: [1], y: [2]});
});

// Text.
show(db.c.createIndex({text: "text"}, {weights: {text: 2}, name: "words"}));
ids(db.c.find({$text: {$search: "coffee"}}));
ids(db.c.find({$text: {$search: "coffee -shop"}}));
show(db.c.find({$text: {$search: "coffee cake"}}, {_id: 1, s: {$meta: "textScore"}}).sort({s: {$meta: "textScore"}}).toArray());

// Geospatial.
show(db.c.createIndex({at: "2dsphere"}));
ids(db.c.find({at: {$geoWithin: {$centerSphere: [[0, 0], 0.1]}}}));
show(db.c.find({at: {$near: {$geometry: {type: "Point", coordinates: [2, 2]}}}}).toArray().map((d) => d._id));

// Wildcard and hashed.
show(db.c.createIndex({"more.$**": 1}));
stage(db.c.find({"more.l.m": 5}));
show(db.c.createIndex({b: "hashed"}));
stage(db.c.find({b: "y"}));

// Unique, sparse, partial.
show(db.u.createIndex({k: 1}, {unique: true}));
db.u.insertMany([{_id: 1, k: 1}, {_id: 2}]);
fails(() => db.u.insertOne({_id: 3, k: 1}));
fails(() => db.u.insertOne({_id: 4}));
show(db.c.createIndex({mail: 1}, {unique: true, sparse: true}));
stage(db.c.find({mail: "m@x"}));
stage(db.c.find({mail: null}));
show(db.p.createIndex({n: 1}, {partialFilterExpression: {on: true}, unique: true}));
db.p.insertMany([{n: 1, on: true}, {n: 1}, {n: 1, on: false}]);
fails(() => db.p.insertOne({n: 1, on: true}));
stage(db.p.find({n: 1, on: true}));
stage(db.p.find({n: 1}));

// Hidden: kept, but not used.
show(db.c.hideIndex("a_1").ok);
stage(db.c.find({a: 2}).sort({a: 1}));
show(db.c.unhideIndex("a_1").ok);

// Collation.
show(db.c.createIndex({b: 1}, {collation: {locale: "en", strength: 2}, name: "caseless"}));
stage(db.c.find({b: "x"}).collation({locale: "en", strength: 2}));
ids(db.c.find({b: "x"}).collation({locale: "en", strength: 2}));

// Expiry.
show(db.t.createIndex({seen: 1}, {expireAfterSeconds: 3600}));
show(db.runCommand({collMod: "t", index: {name: "seen_1", expireAfterSeconds: 60}}).expireAfterSeconds_new);
fails(() => db.t.createIndex({seen: 1}, {expireAfterSeconds: 10}));
fails(() => db.t.createIndex({x: 1, y: 1}, {expireAfterSeconds: 10}));

// Listing, statistics, dropping.
show(db.c.getIndexes().map((i) => i.name));
show(db.t.getIndexes());
show(db.c.aggregate([{$indexStats: {}}]).toArray().map((i) => i.name).sort());
show(db.c.dropIndexes(["tags_1", "words"]).ok);
show(db.c.dropIndex({a: 1, b: -1}).ok);
show(db.c.dropIndexes().nIndexesWas);
show(db.c.getIndexes().length);
fails(() => db.c.createIndex({a: 0}));
fails(() => db.c.createIndex({}));
fails(() => db.c.createIndex({a: "nope"}));
fails(() => db.c.createIndexes([{a: 1}, {a: "text", b: "2d"}]));
