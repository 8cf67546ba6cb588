// Splitting partitions while documents come in: nothing is lost, nothing doubled.
db.adminCommand({shardCollection: "test.c", key: {_id: "hashed"}, numInitialChunks: 2});
show(db.c.createIndex({k: 1}));
const chunks = () => db.getSiblingDB("config").chunks.countDocuments({});
const before = chunks();
for (let round = 0; round < 4; round++) {
  const docs = [];
  for (let i = 0; i < 250; i++) {
    docs.push({_id: round * 250 + i, k: i});
  }
  db.c.insertMany(docs, {ordered: false});
  show(sh.splitFind("test.c", {_id: round * 250}).ok);
}
show(chunks() - before);
show(db.c.countDocuments({}));
show(db.c.find({k: 17}).sort({_id: 1}).map((d) => d._id).toArray());
const ids = db.c.find().sort({_id: 1}).map((d) => d._id).toArray();
show(ids.every((id, i) => id === i));
show(db.c.validate({full: true}).valid);
