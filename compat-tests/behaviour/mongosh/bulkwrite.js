// What the shell offers to a server that says 8.0: one bulk over several collections, and a
// sort of updates.
const ns = name => `${db.getName()}.${name}`;
show(db.version());
show(db.getMongo().bulkWrite([
  { namespace: ns("a"), name: "insertOne", document: { _id: 1, n: 1 } },
  { namespace: ns("a"), name: "insertOne", document: { _id: 2, n: 2 } },
  { namespace: ns("b"), name: "insertOne", document: { _id: 1 } },
  { namespace: ns("a"), name: "updateMany", filter: {}, update: { $inc: { n: 10 } } },
  { namespace: ns("b"), name: "replaceOne", filter: { _id: 9 }, replacement: { n: 9 }, upsert: true },
  { namespace: ns("a"), name: "deleteOne", filter: { _id: 1 } },
]));
show(db.a.find().toArray());
show(db.b.updateOne({}, { $set: { last: true } }, { sort: { _id: -1 } }));
show(db.b.find().sort({ _id: 1 }).toArray());
