// Sharding a collection by a hashed key, the way the product's first users did it.
show(db.runCommand({shardCollection: "admin.people", key: {region: "hashed"}}));
show(db.getSiblingDB("admin").runCommand({shardCollection: "test.people", key: {region: "hashed"}}));
show(db.people.insertMany([
  {_id: 1, region: "eu", name: "Ada"},
  {_id: 2, region: "us", name: "Grace"},
  {_id: 3, region: "eu", name: "Edsger"},
  {_id: 4, name: "nowhere"},
]));
show(db.people.find({region: "eu"}).sort({_id: 1}).toArray());
show(db.people.find({region: null}).toArray());
show(db.people.countDocuments({}));
show(sh.shardCollection("test.orders", {customer: "hashed"}).ok);
fails(() => sh.shardCollection("test.bad", {a: "sorted"}));
fails(() => sh.shardCollection("nodot", {a: "hashed"}));
