// Create, read, update, delete with the shell's helpers.
show(db.c.insertOne({_id: 1, name: "one", tags: ["a", "b"]}));
show(db.c.insertOne({name: "generated"}).acknowledged);
show(db.c.insertMany([{_id: 2, n: 2}, {_id: 3, n: 3}]));
fails(() => db.c.insertOne({_id: 1}));
show(db.c.findOne({_id: 1}));
show(db.c.find({n: {$gt: 1}}, {_id: 0}).sort({n: -1}).toArray());
show(db.c.updateOne({_id: 2}, {$set: {n: 20}, $push: {log: "changed"}}));
show(db.c.updateMany({n: {$exists: true}}, {$inc: {n: 1}}));
show(db.c.updateOne({_id: 9}, {$set: {made: true}}, {upsert: true}));
show(db.c.replaceOne({_id: 3}, {whole: "new"}));
show(db.c.findOneAndUpdate({_id: 2}, {$set: {n: 0}}, {returnDocument: "after"}));
show(db.c.findOneAndDelete({_id: 9}));
show(db.c.deleteOne({_id: 3}));
show(db.c.deleteMany({name: "generated"}));
show(db.c.bulkWrite([
  {insertOne: {document: {_id: 100}}},
  {updateOne: {filter: {_id: 100}, update: {$set: {x: 1}}}},
  {deleteOne: {filter: {_id: 1}}},
]));
show(db.c.find().sort({_id: 1}).toArray());
show(db.c.distinct("_id"));
show(db.c.estimatedDocumentCount());
show(db.c.drop());
show(db.c.find().toArray());
fails(() => db.c.updateOne({}, {$nope: {a: 1}}));
fails(() => db.c.find({a: {$nope: 1}}).toArray());
