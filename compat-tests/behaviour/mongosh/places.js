// Towns with a population, in regions: the questions of the manual's ZIP code example,
// asked of made-up places.
// Manual: tutorial/aggregation-zip-code-data-set, reference/operator/aggregation/{geoNear,rankFusion}
const random = numbers(3);
const regions = ["Alm", "Bruk", "Cern", "Dole", "Esk"];
const towns = [];
for (let i = 0; i < 300; i++) {
  const region = regions[random(regions.length)];
  towns.push({
    _id: String(10000 + i), town: region.slice(0, 2) + ["au", "berg", "dorf", "feld", "hof", "stein"][random(6)] + random(12), region,
    pop: random(40) * random(500), at: {type: "Point", coordinates: [10 + random(1000) / 250, 46 + random(1000) / 250]},
  });
}
db.adminCommand({shardCollection: "test.places", key: {region: "hashed"}, numInitialChunks: 4});
db.places.insertMany(towns);
db.places.createIndex({at: "2dsphere"});
db.places.createIndex({region: 1, pop: -1});

print("regions with more than 290,000 people");
const big = db.places.aggregate([{$group: {_id: "$region", pop: {$sum: "$pop"}}}, {$match: {pop: {$gte: 290000}}}, {$sort: {pop: -1}}]).toArray();
show(big);
const pops = {};
for (const t of towns) pops[t.region] = (pops[t.region] ?? 0) + t.pop;
agrees(big, Object.entries(pops).filter(([, p]) => p >= 290000).sort((a, b) => b[1] - a[1]).map(([_id, pop]) => ({_id, pop})));

print("the average town of each region");
const average = db.places.aggregate([
  {$group: {_id: {region: "$region", town: "$town"}, pop: {$sum: "$pop"}}},
  {$group: {_id: "$_id.region", avg: {$avg: "$pop"}}},
  {$sort: {_id: 1}},
]).toArray();
show(average.map((a) => [a._id, Math.round(a.avg)]));
agrees(average.map((a) => a.avg), regions.map((r) => pops[r] / new Set(towns.filter((t) => t.region === r).map((t) => t.town)).size));

print("the largest and the smallest town of each region");
show(db.places.aggregate([
  {$group: {_id: {region: "$region", town: "$town"}, pop: {$sum: "$pop"}}},
  {$sort: {pop: 1, "_id.town": 1}},
  {$group: {_id: "$_id.region", largest: {$last: {name: "$_id.town", pop: "$pop"}}, smallest: {$first: {name: "$_id.town", pop: "$pop"}}}},
  {$project: {_id: 0, region: "$_id", largest: 1, smallest: 1}},
  {$sort: {region: 1}},
]).toArray());

print("names that occur most");
show(db.places.aggregate([{$sortByCount: "$town"}, {$sort: {count: -1, _id: 1}}, {$limit: 3}]).toArray());

print("the nearest large towns");
const here = [12, 48];
const near = db.places.aggregate([
  {$geoNear: {near: {type: "Point", coordinates: here}, distanceField: "metres", query: {pop: {$gt: 5000}}, maxDistance: 60000}},
  {$limit: 5},
  {$project: {_id: 1, pop: 1, km: {$floor: {$divide: ["$metres", 1000]}}}},
]).toArray();
show(near);
const rad = Math.PI / 180;
const metres = ([x, y]) => 6378100 * Math.acos(Math.min(1, Math.sin(y * rad) * Math.sin(here[1] * rad) + Math.cos(y * rad) * Math.cos(here[1] * rad) * Math.cos((x - here[0]) * rad)));
agrees(near.map((t) => t._id), towns.filter((t) => t.pop > 5000 && metres(t.at.coordinates) <= 60000).sort((a, b) => metres(a.at.coordinates) - metres(b.at.coordinates)).slice(0, 5).map((t) => t._id));

print("large and near, in one ranking");
show(db.places.aggregate([
  {$rankFusion: {input: {pipelines: {
    large: [{$sort: {pop: -1, _id: 1}}, {$limit: 40}],
    near: [{$geoNear: {near: {type: "Point", coordinates: here}, key: "at"}}, {$limit: 40}],
  }}, combination: {weights: {near: 2}}}},
  {$limit: 3},
  {$project: {_id: 1, score: {$round: [{$meta: "score"}, 6]}}},
]).toArray());

print("how it is planned");
const stages = (p) => db.places.explain().aggregate(p);
const text = JSON.stringify(stages([{$match: {region: "Alm"}}, {$group: {_id: null, n: {$sum: 1}}}]));
show([/COUNT_SCAN|IXSCAN/.test(text), /requestCharge/.test(JSON.stringify(db.places.explain("executionStats").aggregate([{$count: "n"}])))]);
show(/DISTINCT_SCAN/.test(JSON.stringify(stages([{$group: {_id: "$region"}}]))));

print("the rest of the towns of one region, streamed");
const cursor = db.places.aggregate([{$match: {region: "Esk"}}, {$sort: {pop: -1}}], {cursor: {batchSize: 5}});
let n = 0;
for (; cursor.hasNext(); cursor.next()) n++;
agrees(n, towns.filter((t) => t.region === "Esk").length);
