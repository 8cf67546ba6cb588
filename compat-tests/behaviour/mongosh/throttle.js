// A collection with little throughput refuses with 16500 and says when to come back.
show(db.runCommand({customAction: "CreateCollection", collection: "c", offerThroughput: 400, shardKey: "k"}));
show(db.runCommand({customAction: "GetCollection", collection: "c"}).provisionedThroughput);
show(db.c.insertOne({_id: 0, k: 0}));
const statistics = db.runCommand({getLastRequestStatistics: 1});
show([statistics.CommandName, statistics.RequestCharge > 5 && statistics.RequestCharge < 7]);
const text = "x".repeat(1000);
const docs = [];
for (let i = 1; i <= 1000; i++) {
  docs.push({_id: i, k: 1, text});
}
let refused = null;
try {
  db.c.insertMany(docs, {ordered: false});
} catch (error) {
  refused = error;
}
const all = refused.writeErrors;
show([all.length > 0, all.length < 1000]);
show(all.every((e) => e.code === 16500));
show(/RetryAfterMs=\d+/.test(all[0].errmsg));
// Every document is either there or was refused.
sleep(3000);
show(db.c.countDocuments({}) + all.length);
// More throughput takes effect at once.
show(db.runCommand({customAction: "UpdateCollection", collection: "c", offerThroughput: 10000}));
sleep(1100);
show(db.c.insertMany(docs.slice(0, 20).map((d) => ({...d, _id: 5000 + d._id}))).acknowledged);
