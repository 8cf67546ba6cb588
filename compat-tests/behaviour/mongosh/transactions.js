// Transactions over several partitions: all or nothing.
db.adminCommand({shardCollection: "test.accounts", key: {_id: "hashed"}, numInitialChunks: 7});
db.accounts.insertMany([{_id: "a", balance: 100}, {_id: "b", balance: 0}]);
const session = db.getMongo().startSession();
const accounts = session.getDatabase("test").accounts;
session.startTransaction();
accounts.updateOne({_id: "a"}, {$inc: {balance: -40}});
accounts.updateOne({_id: "b"}, {$inc: {balance: 40}});
show(db.accounts.find().sort({_id: 1}).toArray());
session.commitTransaction();
show(db.accounts.find().sort({_id: 1}).toArray());
session.startTransaction();
accounts.deleteMany({});
show(accounts.countDocuments({}));
session.abortTransaction();
show(db.accounts.countDocuments({}));
session.startTransaction();
accounts.updateOne({_id: "a"}, {$set: {seen: 1}});
const other = db.getMongo().startSession();
other.startTransaction();
show(other.getDatabase("test").accounts.findOne({_id: "a"}));
// The first to commit wins; the other one learns of it when it writes or commits.
session.commitTransaction();
fails(() => {
  other.getDatabase("test").accounts.updateOne({_id: "a"}, {$set: {seen: 2}});
  other.commitTransaction();
});
show(db.accounts.findOne({_id: "a"}));
session.endSession();
