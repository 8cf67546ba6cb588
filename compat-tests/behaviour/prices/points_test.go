package prices

// Kind is the kind of source of a published charge.
type Kind string

// The kinds, the surest first.
const (
	Mongo   Kind = "mongo"   // measured on an account of the MongoDB API, 2020 to 2023
	Docs    Kind = "docs"    // a statement of the documentation
	Planner Kind = "planner" // printed by the capacity planner
	NoSQL   Kind = "nosql"   // measured on an account of the NoSQL API
	Y2018   Kind = "2018"    // measured on an account of the MongoDB API of version 3.2
	Y2017   Kind = "2017"    // a page of 2017
)

// Kinds are all kinds, with the remark that docs/prices.md prints.
var Kinds = []struct {
	Kind  Kind
	Means string
}{
	{Mongo, "measured on accounts of this API, from 2020 to 2023, and published with the commands: what `mongo-2023` is fitted to. They are few, of four authors, and all of documents below 1 KB"},
	{Docs, "statements of the documentation for all APIs, round figures for an ideal case"},
	{Planner, "the capacity planner's figures for a tiny document, as a reader published them; they are of the engine, not of this API"},
	{NoSQL, "measured on the same engine under its other API, where a write is about half as dear; their documents are published in part, so sizes are ours"},
	{Y2018, "measured on accounts of this API of version 3.2, whose engine was replaced in 2019"},
	{Y2017, "a page of 2017 that is no longer there; it contradicts today's for large documents"},
}

// Point is one published charge.
type Point struct {
	Kind      Kind
	Operation string
	Published float64
	Source    string
	Run       func(*rig) float64
}

const (
	cjoakim     = "cjoakim/azure-cosmos-db, apis/mongo/java/readme.md"
	subhmsft    = "SubhMSFT/CosmosDB-MongoAPI-RU-Optimization"
	purge       = "emdeletaede/build-a-purge-script-with-cosmosdb-mongo-API"
	model       = "nosql/model-partition-example.md"
	trouble     = "nosql/troubleshoot-query-performance.md"
	optimize    = "optimize-cost-reads-writes.md"
	units2017   = "documentdb-request-units.md of 2017"
	keyValue    = "key-value-store-cost.md"
	container   = "how-to-query-container.md"
	migrate     = "mongodb-migrate.md"
	planning    = "a reader of the capacity planner, blog.maximerouiller.com"
	transcripts = "a shell transcript"
)

// Points are all published charges that were found.
var Points = []Point{
	{Mongo, "point read", 1, cjoakim, func(r *rig) float64 { r.vehicles(3); return r.find(`_id: 1, pk: "pk1"`) }},
	{Mongo, "point read of nothing", 1, cjoakim, func(r *rig) float64 { r.vehicles(3); return r.find(`_id: 99, pk: "pk1"`) }},
	{Mongo, "query by the indexed shard key, 1 result", 4.93, cjoakim, func(r *rig) float64 { r.vehicles(3); return r.find(`pk: "pk1"`) }},
	{Mongo, "`findOne()` of a small document", 5.27, transcripts + " of 2021", func(r *rig) float64 { r.fill(7, 200, `a: %d`); return r.find(``, `limit: 1`) }},
	{Mongo, "unindexed equality, 10,000 documents of 0.5 KB, no result", 171.1, cjoakim, func(r *rig) float64 { r.vehicles(10_000); return r.find(`name: "x"`) }},
	{Mongo, "5 predicates, 295 documents, no index", 20.05, subhmsft, func(r *rig) float64 { return r.products() }},
	{Mongo, "the same, an index on one field", 7.32, subhmsft, func(r *rig) float64 { return r.products("CategoryName") }},
	{Mongo, "the same, indexes on two fields", 7.25, subhmsft, func(r *rig) float64 { return r.products("CategoryName", "Description") }},
	{Mongo, "the same, a wildcard index on one field", 6.27, subhmsft, func(r *rig) float64 { return r.products("CategoryName.$**") }},
	{Mongo, "the same, wildcard indexes on two fields", 3.15, subhmsft, func(r *rig) float64 { return r.products("CategoryName.$**", "Description.$**") }},
	{Mongo, "insert of 0.4 KB, 3 indexes and `_ts`, the first of a session", 20.88, cjoakim, func(r *rig) float64 { r.vehicles(0); return r.insertVehicles(1) }},
	{Mongo, "bulk insert of 1,000 such documents", 10102, cjoakim, func(r *rig) float64 { r.vehicles(0); return r.insertVehicles(1000) }},
	{Mongo, "point delete of one of them", 10.10, cjoakim, func(r *rig) float64 { r.vehicles(3); return r.delete(`_id: 1, pk: "pk1"`, 1) }},
	{Mongo, "point update of a field without an index", 11.67, cjoakim, func(r *rig) float64 { r.vehicles(3); return r.update(`_id: 1, pk: "pk1"`, `comment: "x"`) }},
	{Mongo, "deleteMany by a field without an index, 298 of 10,000", 3213.45, cjoakim, func(r *rig) float64 { r.vehicles(10_000); return r.delete(`"vehicle.Year": {$lt: 298}`, 0) }},
	{Mongo, "deleteMany of 100 tiny documents by an index", 1110.67, purge, func(r *rig) float64 { r.tiny(); return r.delete(`y: 2`, 0) }},
	{Mongo, "deleteOne of a tiny document by an index", 10.69, purge, func(r *rig) float64 { r.tiny(); return r.delete(`y: 3`, 1) }},

	{Docs, "point read of 1 KB", 1, optimize, func(r *rig) float64 { r.one(1024); return r.find(`_id: 1`) }},
	{Docs, "point read of 100 KB", 10, optimize, func(r *rig) float64 { r.one(100 << 10); return r.find(`_id: 1`) }},
	{Docs, "insert of 1 KB without indexes", 5, keyValue, func(r *rig) float64 { return r.one(1024) }},
	{Docs, "the same, on another page", 5.5, optimize, func(r *rig) float64 { return r.one(1024) }},
	{Docs, "insert of 100 KB", 50, keyValue, func(r *rig) float64 { return r.one(100 << 10) }},
	{Docs, "replacement of 1 KB", 11, optimize, func(r *rig) float64 { r.one(1024); return r.update(`_id: 1`, `k: 2`) }},
	{Docs, "insert of 3 short fields, all indexed", 10, migrate, func(r *rig) float64 { return r.indexed(`a: "x", b: "y", c: 3`) }},
	{Docs, "indexed query without a match, 1 partition", 2.5, container, func(r *rig) float64 { return r.fanOut(1) }},
	{Docs, "the same, 5 partitions", 12.5, container, func(r *rig) float64 { return r.fanOut(5) }},
	{Docs, "the same, 50 partitions", 125, container, func(r *rig) float64 { return r.fanOut(50) }},
	{Docs, "indexed equality, 1 result of 9,963 bytes", 3.19, optimize, func(r *rig) float64 { return r.matching(1, 9963) }},
	{Docs, "query that returns 1,000 items of 1 KB", 1000, optimize, func(r *rig) float64 { return r.matching(1000, 1024) }},

	{Planner, "read of a tiny document", 1, planning, func(r *rig) float64 { r.indexed(`a: 1`); return r.find(`_id: 1`) }},
	{Planner, "its insert, all indexed", 5.71, planning, func(r *rig) float64 { return r.indexed(`a: 1`) }},
	{Planner, "its delete", 5.71, planning, func(r *rig) float64 { r.indexed(`a: 1`); return r.delete(`_id: 1`, 1) }},
	{Planner, "its update", 10.67, planning, func(r *rig) float64 { r.indexed(`a: 1`); return r.update(`_id: 1`, `a: 2`) }},

	{NoSQL, "insert of a user, all indexed", 5.71, model, func(r *rig) float64 { return r.indexed(`username: "u"`) }},
	{NoSQL, "of a like", 7.05, model, func(r *rig) float64 { return r.indexed(`type: "like", postId: "p", userId: "u", creationDate: 1`) }},
	{NoSQL, "of a comment", 8.57, model, func(r *rig) float64 {
		return r.indexed(`type: "comment", postId: "p", userId: "u", creationDate: 1, content: "` + text(400) + `"`)
	}},
	{NoSQL, "of a post", 8.76, model, func(r *rig) float64 {
		return r.indexed(`type: "post", userId: "u", creationDate: 1, title: "` + text(100) + `", content: "` + text(400) + `"`)
	}},
	{NoSQL, "25 comments of a post", 7.72, model, func(r *rig) float64 { return r.matching(25, 450) }},
	{NoSQL, "100 likes of a post", 8.92, model, func(r *rig) float64 { return r.matching(100, 450) }},
	{NoSQL, "27 posts of a user", 6.46, model, func(r *rig) float64 { return r.matching(27, 550) }},
	{NoSQL, "the newest 100 posts", 16.97, model, func(r *rig) float64 { return r.newest(100, 550) }},
	{NoSQL, "indexed equality, 1 result of 6 KB", 2.98, trouble, func(r *rig) float64 { return r.matching(1, 6<<10) }},
	{NoSQL, "unindexed equality, 8,618 documents of 12 KB", 409.51, trouble, func(r *rig) float64 { return r.tenfold(862, 12_180, `{k: -1}`) }},
	{NoSQL, "an expression over 60,950 documents of 6.4 KB", 4059.95, trouble, func(r *rig) float64 { return 10 * r.tenfold(610, 6562, `{$expr: {$eq: ["$k", -1]}}`) }},

	{Y2018, "find by an element of an array, 1 result", 6.21, transcripts + " of 2018", func(r *rig) float64 {
		r.index(`{tags: 1}`)
		r.fill(7, 200, `tags: ["t%d", "x"]`)
		return r.find(`tags: "t3"`)
	}},
	{Y2018, "`$match` and `$group`, 4 of 7 documents", 5.06, transcripts + " of 2018", func(r *rig) float64 {
		r.index(`{k: 1}`)
		r.fill(7, 200, `k: %d`)
		return r.aggregate(`{$match: {k: {$lt: 4}}}, {$group: {_id: "$k", n: {$sum: 1}}}`)
	}},
	{Y2018, "`$group` and `$sort`, 7 documents", 4.44, transcripts + " of 2018", func(r *rig) float64 {
		r.fill(7, 200, `k: %d`)
		return r.aggregate(`{$group: {_id: "$k", n: {$sum: 1}}}, {$sort: {n: 1}}`)
	}},

	{Y2017, "point read of 4 KB", 1.3, units2017, func(r *rig) float64 { r.one(4 << 10); return r.find(`_id: 1`) }},
	{Y2017, "point read of 64 KB", 10, units2017, func(r *rig) float64 { r.one(64 << 10); return r.find(`_id: 1`) }},
	{Y2017, "insert of 4 KB", 7, units2017, func(r *rig) float64 { return r.one(4 << 10) }},
	{Y2017, "insert of 64 KB", 48, units2017, func(r *rig) float64 { return r.one(64 << 10) }},
	{Y2017, "`find()`, first page of small documents", 2.48, units2017, func(r *rig) float64 { r.fill(4, 200, `a: %d`); return r.find(``) }},
}
