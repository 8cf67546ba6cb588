// Change streams: what a shell sees of documents, commands and transactions, how
// it resumes, and what ends a stream.
const seen = [];
const read = (stream, n) => {
  const out = [];
  for (let tries = 0; out.length < n && tries < 2000; tries++) {
    const event = stream.tryNext();
    if (event) {
      seen.push(event._id);
      delete event._id;
      if (event.txnNumber) {
        event.txnNumber = "a number";
      }
      for (const name of ["clusterTime", "wallTime", "collectionUUID", "lsid"]) {
        if (!(name in event) && name !== "collectionUUID" && name !== "lsid") {
          print("missing " + name);
        }
        delete event[name];
      }
      if (event.stateBeforeChange) {
        delete event.stateBeforeChange.collectionOptions.uuid;
      }
      out.push(event);
      if (event.operationType === "invalidate") {
        break;
      }
    }
  }
  return out;
};
db.createCollection("images", {changeStreamPreAndPostImages: {enabled: true}});
let stream = db.images.watch([], {fullDocument: "whenAvailable", fullDocumentBeforeChange: "whenAvailable"});
db.images.insertOne({_id: 1, a: [1, 2, 3], n: {x: 1}});
db.images.updateOne({_id: 1}, {$set: {"n.x": 2}, $unset: {a: 1}});
db.images.replaceOne({_id: 1}, {b: 1});
db.images.deleteOne({_id: 1});
read(stream, 4).forEach(show);
// Going on after the second event, and from a time.
show(read(db.images.watch([], {resumeAfter: seen[1]}), 2).map((e) => e.operationType));
show(read(db.images.watch([{$match: {operationType: "delete"}}], {startAtOperationTime: Timestamp(1, 1)}), 1).map((e) => e.documentKey));
// DDL is shown when asked for.
stream = db.watch([], {showExpandedEvents: true});
db.c.insertOne({_id: 1});
db.c.createIndex({k: 1});
db.c.dropIndex("k_1");
db.runCommand({collMod: "c", validationLevel: "moderate"});
db.c.updateOne({_id: 1}, {$set: {"odd": {"0": 1}}});
db.c.updateOne({_id: 1}, {$set: {"odd.0": 2}});
db.c.renameCollection("d");
db.adminCommand({shardCollection: "test.d", key: {k: "hashed"}});
db.d.insertOne({_id: 2, k: 5});
db.d.drop();
read(stream, 11).forEach(show);
// A transaction's changes come together.
const session = db.getMongo().startSession();
db.t.insertOne({_id: 0});
stream = db.t.watch();
session.startTransaction();
session.getDatabase("test").t.insertOne({_id: 1});
session.getDatabase("test").t.updateOne({_id: 0}, {$set: {a: 1}});
session.commitTransaction();
db.t.drop();
read(stream, 4).forEach(show);
show(stream.isClosed());
const opens = (...pipeline) => fails(() => db.runCommand({aggregate: "t", pipeline, cursor: {}}).ok);
opens({$changeStream: {resumeAfter: seen[seen.length - 1]}});
opens({$changeStream: {startAfter: seen[seen.length - 1]}});
opens({$changeStream: {resumeAfter: {_data: "zz"}}});
opens({$changeStream: {}}, {$group: {_id: 1}});
opens({$changeStream: {allChangesForCluster: true}});
opens({$match: {}}, {$changeStream: {}});
