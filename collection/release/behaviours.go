package release

// Behaviour identifies something that a release of MongoDB does differently from the releases before. It is an index
// of the table Behaviours.
type Behaviour uint8

// Changed is a row of the table Behaviours: a change, its first release and its source.
type Changed struct {
	Since  Release // Since is the first release with the behaviour
	Says   string  // Says is the behaviour from then on, as a sentence
	Source string  // Source is the page of the manual, or the ticket
}

// The changes of behaviour, by name. A new one is a line here and a row in Behaviours, both in alphabetical order.
const (
	BucketAutoInputOrder Behaviour = iota
	CreatedKind
	DescribedEvents
	DropsKnownIndexes
	EarlySums
	EveryTypeToText
	GeoKeyCodes
	GroupNamesFields
	MergeByCollation
	MergeOnNull
	NullSkipsUndefined
	NullThroughArrays
	RankNullAsMissing
	SeriesOneNamespace
	SphereVersion4
	StatsOfCounts
	StatsOfWrites
	SubnormalsParse
	TrimBounded
	UpsertTooLarge

	behaviours // behaviours is their number
)

// Behaviours is the table, read-only.
var Behaviours = [behaviours]Changed{
	BucketAutoInputOrder: {
		Since:  V8_1,
		Says:   "Accumulators of $bucketAuto, such as $push and $first, get the documents of a bucket in the order of the input; until then in the order of groupBy.",
		Source: "reference/operator/aggregation/bucketAuto",
	},
	CreatedKind: {
		Since:  V8_1,
		Says:   "The event of a create has nsType: collection, view or timeseries.",
		Source: "reference/change-events/create",
	},
	DescribedEvents: {
		Since:  V8_2,
		Says:   "Events have collectionUUID, disambiguatedPaths and operationDescription in every change stream; until then only with showExpandedEvents.",
		Source: "SERVER-86688",
	},
	DropsKnownIndexes: {
		Since:  V8_3,
		Says:   "dropIndexes drops the indexes that exist; until then a name or key that no index has was an error and nothing was dropped.",
		Source: "SERVER-90152",
	},
	EarlySums: {
		Since: V8_3,
		Says: "Adding a unit longer than a millisecond to a date before 1970, or subtracting it, keeps the fraction of a second; " +
			"until then the result was a second too early.",
		Source: "release-notes/8.3",
	},
	EveryTypeToText: {
		Since:  V8_3,
		Says:   "$toString and $convert print documents, arrays, regular expressions, timestamps, MinKey and MaxKey.",
		Source: "release-notes/8.3",
	},
	GeoKeyCodes: {
		Since:  V9_0,
		Says:   "A value that no 2dsphere index can hold fails with 510 instead of 16755, in a measurement of a time-series collection with 511.",
		Source: "release-notes/9.0-compatibility",
	},
	GroupNamesFields: {
		Since:  V9_0,
		Says:   "An accumulator of $group may not have the empty name.",
		Source: "release-notes/9.0-compatibility",
	},
	MergeByCollation: {
		Since:  V8_3,
		Says:   "$merge without 'on' requires an _id index with the collation that it compares by.",
		Source: "SERVER-115810",
	},
	MergeOnNull: {
		Since:  V8_1,
		Says:   "$merge accepts documents in which a field of 'on' is null or missing, unless its index is sparse.",
		Source: "reference/operator/aggregation/merge",
	},
	NullSkipsUndefined: {
		Since:  V8_0,
		Says:   "A comparison with null for equality does not match a field that is undefined.",
		Source: "release-notes/8.0-compatibility",
	},
	NullThroughArrays: {
		Since:  V9_0,
		Says:   "A dotted path that ends in an empty array or in an array of scalars compares as null.",
		Source: "release-notes/9.0-compatibility",
	},
	RankNullAsMissing: {
		Since:  V8_0,
		Says:   "$rank and $denseRank give null and a missing field the same rank.",
		Source: "release-notes/8.0-compatibility",
	},
	SeriesOneNamespace: {
		Since:  V9_0,
		Says:   "Time-series collections are listed with their UUID, and without collections of buckets; they can be renamed.",
		Source: "release-notes/9.0",
	},
	SphereVersion4: {
		Since:  V8_3,
		Says:   "A new 2dsphere index has version 4; until then 3, and 4 was refused.",
		Source: "core/indexes/index-types/geospatial/2dsphere/2dsphere-index-versions",
	},
	StatsOfCounts: {
		Since:  V8_3,
		Says:   "$queryStats counts executions of count.",
		Source: "reference/operator/aggregation/queryStats",
	},
	StatsOfWrites: {
		Since:  V9_0,
		Says:   "$queryStats counts executions of insert, update and delete, and shows its metrics in the groups cursor, queryExec, queryPlanner and writes.",
		Source: "release-notes/9.0",
	},
	SubnormalsParse: {
		Since:  V8_3,
		Says:   "$convert reads strings that represent subnormal doubles.",
		Source: "release-notes/8.3",
	},
	TrimBounded: {
		Since:  V8_3,
		Says:   "The chars of $trim, $ltrim and $rtrim have at most 4096 characters.",
		Source: "release-notes/8.3",
	},
	UpsertTooLarge: {
		Since:  V8_3,
		Says:   "An upsert whose document gets too large fails with 10334 instead of 17419.",
		Source: "release-notes/8.3",
	},
}
