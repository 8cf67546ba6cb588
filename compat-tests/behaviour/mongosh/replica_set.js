// The rs helpers of a server that is shown as a replica set, and its change log as
// tools read it. Manual: reference/method/js-replication.
// server: --replica-set rs0
const hello = rs.hello();
show([hello.setName, hello.hosts, hello.primary, hello.isWritablePrimary, hello.secondary, hello.msg]);
const status = rs.status();
show([status.set, status.myState, status.members.length, status.members[0].name, status.members[0].stateStr]);
show(rs.conf().members[0]);
for (const refused of [() => rs.initiate(), () => rs.stepDown(), () => rs.add("other:27017")]) {
  try {
    refused();
  } catch (error) {
    show([error.code, error.codeName]);
  }
}
show(db.getSiblingDB("local").getCollectionNames());
db.c.insertOne({_id: 1, list: [{n: 1}, {n: 2}], text: "so long that a change below it is worth telling"});
db.c.updateOne({_id: 1}, {$set: {"list.1.n": 3}});
const log = db.getSiblingDB("local").oplog.rs;
const newest = log.find({op: "i"}).sort({$natural: -1}).limit(1).next();
show([newest.ns, newest.o._id]);
const tail = log.find({ts: {$gt: newest.ts}}).tailable({awaitData: true});
const next = () => {
  for (;;) {
    const entry = tail.tryNext();
    if (entry) return entry;
  }
};
show(next().o);
db.c.deleteOne({_id: 1});
show(next().o);
show(Object.keys(db.getReplicationInfo()));
const session = db.getMongo().startSession();
session.startTransaction();
session.getDatabase("test").c.insertOne({_id: 2});
session.commitTransaction();
show(db.c.find().readPref("secondaryPreferred").toArray());
