// Sales of three shops day by day: dates, windows, gaps, materialised views.
// Manual: reference/operator/aggregation/{dateTrunc,setWindowFields,densify,fill,merge,out}
const random = numbers(11);
const day = (n) => new Date(Date.UTC(2023, 11, 20 + n, 9, 30));
const sales = [];
for (let n = 0; n < 90; n++) {
  for (const shop of ["north", "south", "west"]) {
    if (random(5) === 0) continue; // closed
    sales.push({_id: sales.length, shop, at: day(n), sum: NumberDecimal(`${random(900)}.${10 + random(90)}`), pieces: NumberInt(1 + random(12))});
  }
}
db.adminCommand({shardCollection: "test.sales", key: {shop: "hashed"}, numInitialChunks: 4});
db.sales.insertMany(sales);

print("months");
const months = db.sales.aggregate([
  {$group: {_id: {$dateTrunc: {date: "$at", unit: "month"}}, pieces: {$sum: "$pieces"}, sum: {$sum: "$sum"}, days: {$addToSet: {$dayOfYear: "$at"}}}},
  {$sort: {_id: 1}},
  {$project: {_id: 0, month: {$dateToString: {date: "$_id", format: "%Y-%m"}}, pieces: 1, sum: 1, days: {$size: "$days"}}},
]).toArray();
show(months);
const perMonth = {};
for (const s of sales) perMonth[s.at.toISOString().slice(0, 7)] = (perMonth[s.at.toISOString().slice(0, 7)] ?? 0) + Number(s.pieces);
agrees(months.map((m) => [m.month, m.pieces]), Object.entries(perMonth));

print("weekdays, by ISO week");
show(db.sales.aggregate([
  {$match: {shop: "north"}},
  {$group: {_id: {week: {$isoWeek: "$at"}, year: {$isoWeekYear: "$at"}}, n: {$count: {}}}},
  {$sort: {"_id.year": 1, "_id.week": 1}},
  {$limit: 4},
]).toArray());

print("running totals, moving averages and ranks of the first days");
const windows = db.sales.aggregate([
  {$match: {at: {$lt: day(5)}}},
  {$setWindowFields: {partitionBy: "$shop", sortBy: {at: 1}, output: {
    total: {$sum: "$pieces", window: {documents: ["unbounded", "current"]}},
    around: {$avg: "$pieces", window: {range: [-1, 1], unit: "day"}},
    before: {$shift: {output: "$pieces", by: -1, default: "none"}},
    number: {$documentNumber: {}},
  }}},
  {$setWindowFields: {partitionBy: "$at", sortBy: {pieces: -1}, output: {rank: {$rank: {}}, dense: {$denseRank: {}}}}},
  {$sort: {shop: 1, at: 1}},
  {$project: {_id: 0, shop: 1, pieces: 1, total: 1, around: 1, before: 1, number: 1, rank: 1}},
]).toArray();
show(windows);
let total = 0, shop = "";
agrees(windows.map((w) => w.total), windows.map((w) => (total = w.shop === shop ? total + w.pieces : w.pieces, shop = w.shop, total)));

print("closed days get a row, and what can be guessed");
show(db.sales.aggregate([
  {$match: {shop: "west", at: {$lt: day(12)}}},
  {$set: {day: {$dateTrunc: {date: "$at", unit: "day"}}}},
  {$densify: {field: "day", partitionByFields: ["shop"], range: {step: 1, unit: "day", bounds: "full"}}},
  {$fill: {partitionByFields: ["shop"], sortBy: {day: 1}, output: {pieces: {method: "linear"}, sum: {method: "locf"}, note: {value: {$cond: [{$eq: [{$type: "$at"}, "missing"]}, "closed", "open"]}}}}},
  {$project: {_id: 0, day: {$dateToString: {date: "$day", format: "%d.%m."}}, pieces: {$round: ["$pieces", 2]}, sum: 1, note: 1}},
]).toArray());

print("a view that is kept");
const keep = [
  {$group: {_id: {shop: "$shop", month: {$dateTrunc: {date: "$at", unit: "month"}}}, pieces: {$sum: "$pieces"}}},
  {$merge: {into: "monthly", on: "_id", whenMatched: [{$set: {was: "$pieces", pieces: "$$new.pieces"}}], whenNotMatched: "insert"}},
];
db.sales.aggregate(keep);
show(db.monthly.countDocuments());
db.sales.insertOne({_id: 1000, shop: "north", at: day(0), sum: NumberDecimal("1"), pieces: NumberInt(1000)});
db.sales.aggregate(keep);
show(db.monthly.find({$expr: {$gt: ["$pieces", "$was"]}}).toArray());
db.sales.aggregate([{$match: {pieces: {$gt: 11}}}, {$sort: {_id: 1}}, {$project: {shop: 1}}, {$out: "big"}]);
agrees(db.big.countDocuments(), sales.filter((s) => s.pieces > 11).length + 1);

print("time zones and parts");
show(db.sales.aggregate([
  {$match: {_id: {$lt: 2}}},
  {$sort: {_id: 1}},
  {$project: {_id: 0, local: {$dateToString: {date: "$at", timezone: "America/New_York", format: "%H:%M %z"}}, parts: {$dateToParts: {date: "$at", timezone: "+05:30"}}, later: {$dateAdd: {startDate: "$at", unit: "month", amount: 2}}, weeks: {$dateDiff: {startDate: "$at", endDate: new Date(Date.UTC(2024, 0, 31)), unit: "week", startOfWeek: "monday"}}}},
]).toArray());

print("quartiles and spread");
show(db.sales.aggregate([
  {$match: {_id: {$lt: 1000}}},
  {$group: {_id: "$shop", quartiles: {$percentile: {input: "$pieces", p: [0.25, 0.5, 0.75], method: "approximate"}}, median: {$median: {input: "$pieces", method: "approximate"}}, spread: {$stdDevPop: "$pieces"}}},
  {$set: {spread: {$round: ["$spread", 6]}}},
  {$sort: {_id: 1}},
]).toArray());
