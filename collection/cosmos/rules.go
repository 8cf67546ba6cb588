package cosmos

import "github.com/cantledb/cantle/collection/mongoerr"

// RuleID identifies an option, a limit or a rule of indexes of an account. It is the row's index in the table rules.
type RuleID uint8

// The rules, in alphabetical order.
const (
	ArrayLiterals RuleID = iota
	CappedCollections
	ClusteredCollections
	Collations
	CollectionCollations
	CompositeSorts
	CrossCollectionTransactions
	DeepDocuments
	EncryptedFields
	FindAndModifySorts
	IndexCollations
	IndexFieldsMany
	IndexesMany
	KeyChanges
	KeysLong
	KeysMissing
	LargeDocuments
	LookupPipelines
	NamespacesMany
	NestedFields
	PartialIndexes
	PartialUniqueIndexes
	RetryableUnordered
	RetryableWrites
	ShardedTransactions
	Sorts
	SpacesInNames
	SparseIndexes
	TTLFields
	TTLPartial
	TTLSeveral
	TimeSeries
	UniqueMany
	UniqueOnDocuments
	UntargetedManyWrites
	UntargetedWrites
	Validators
	Views
	WatchedDatabases
	WatchedDocuments
	WatchedMissing
	WatchedPipelines
	WildcardOptions

	ruleCount // ruleCount is their number
)

// rules is the table of options, limits and rules of indexes. If a row has no Text, the code that checks the rule
// makes the text.
var rules = [ruleCount]Row{
	ArrayLiterals: {
		Name: "an array literal in a comparison expression", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "comparison expressions with an array literal are not supported", Remark: "Of $cmp, $eq, $gt, $gte, $lt, $lte and $ne.",
	},
	CappedCollections: {
		Name: "capped collections", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'capped' is not supported", Remark: "cloneCollectionAsCapped and convertToCapped are documented as not supported.",
	},
	ClusteredCollections: {
		Name: "clustered collections", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'clusteredIndex' is not supported", Remark: "Not listed.",
	},
	Collations: {
		Name: "a collation of a command", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'collation' is not supported", Source: "e2nIEE/pandahub#25",
	},
	CollectionCollations: {
		Name: "a collation of a collection", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'collation' is not supported", Remark: "Documented as not supported (Case Insensitive).",
	},
	CompositeSorts: {
		Name: "a sort by several fields without a compound index of the same sequence", In: Never,
		Code: mongoerr.BadValue, Text: "The order by query does not have a corresponding composite index that it can be served from.", Source: "indexing",
	},
	CrossCollectionTransactions: {
		Name: "a transaction in several collections", In: Never,
		Code: 50841, Text: "Multi-document transactions cannot be run across collections", Source: "use-multi-document-transactions",
	},
	DeepDocuments: {
		Name: "a document of more than 128 levels", In: Never,
		Code: mongoerr.BadValue, Text: "The document has more than 128 levels", Source: "concepts-limits",
	},
	EncryptedFields: {
		Name: "encryptedFields of collections", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'encryptedFields' is not supported", Remark: "Only explicit encryption by the driver; automatic encryption is documented as not supported.",
	},
	FindAndModifySorts: {
		Name: "findAndModify with a sort by several fields", In: 1 << V4_0,
		Code: mongoerr.CommandNotSupported, Text: "findAndModify with a sort by several fields is not supported",
	},
	IndexCollations: {
		Name: "a collation of an index", In: Never,
		Code: mongoerr.CannotCreateIndex, Text: "indexes with a collation are not supported", Remark: "Documented as not supported (Case Insensitive).",
	},
	IndexFieldsMany: {
		Name: "more than 8 fields of an index", In: Never,
		Code: mongoerr.CannotCreateIndex, Source: "indexing",
	},
	IndexesMany: {
		Name: "more than 500 indexes of a collection", In: Never,
		Code: mongoerr.CannotCreateIndex, Source: "indexing",
	},
	KeyChanges: {
		Name: "an update of the shard key", In: Never,
		Code: mongoerr.ImmutableField, Source: "error-codes-solutions",
	},
	KeysLong: {
		Name: "a shard key value of more than 2048 bytes", In: Never,
		Code: mongoerr.BadValue, Source: "large-partition-keys",
	},
	KeysMissing: {
		Name: "a document without its shard key, or with an array there", In: Never,
		Code: mongoerr.ShardKeyNotFound, Source: "partitioning-overview",
	},
	LargeDocuments: {
		Name: "a document of more than 2 MB", In: Never, Opens: EnableMongo16MBDocumentSupport,
		Code: mongoerr.InvalidLength, Text: "Request size is too large", Source: "concepts-limits",
	},
	LookupPipelines: {
		Name: "$lookup with let or pipeline", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "let is not supported",
	},
	NamespacesMany: {
		Name: "more than 500 databases and collections of an account", In: Never,
		Code: mongoerr.BadValue, Source: "concepts-limits",
	},
	NestedFields: {
		Name: "compound and unique indexes on nested fields", In: Never, Opens: EnableUniqueCompoundNestedDocs,
		Code: mongoerr.CannotCreateIndex, Text: "compound and unique indexes on nested fields are not supported", Source: "indexing",
	},
	PartialIndexes: {
		Name: "a partialFilterExpression of an index that is not unique", In: Never,
		Code: mongoerr.CannotCreateIndex, Text: "partialFilterExpression is only supported for unique indexes",
	},
	PartialUniqueIndexes: {
		Name: "a partialFilterExpression of a unique index", In: Never, Opens: EnablePartialUniqueIndex,
		Code: mongoerr.CannotCreateIndex, Text: "partialFilterExpression is not supported", Source: "how-to-configure-capabilities",
	},
	RetryableUnordered: {
		Name: "retryable writes with ordered: false", In: Never,
		Code: mongoerr.BadValue,
	},
	RetryableWrites: {
		Name: "retryable writes", In: Never, Opens: EnableMongoRetryableWrites,
		Code: mongoerr.BadValue, Text: "Retryable writes are not supported. Please disable retryable writes by specifying \"retrywrites=false\" in the connection string or an equivalent driver specific config.", Source: "microsoft/vscode-cosmosdb#1296",
	},
	ShardedTransactions: {
		Name: "a transaction in a sharded collection", In: Never,
		Code: 50841, Text: "Multi-document transactions cannot be run in a sharded collection", Source: "use-multi-document-transactions",
	},
	Sorts: {
		Name: "a sort by a field without an index", In: Never,
		Code: mongoerr.BadValue, Text: "The index path corresponding to the specified order-by item is excluded.", Source: "indexing",
		Remark: "Drivers read GridFS files by the indexes that they create.",
	},
	SpacesInNames: {
		Name: "spaces in the names of databases and collections", In: Never,
		Code: mongoerr.InvalidNamespace, Source: "custom-commands",
	},
	SparseIndexes: {
		Name: "sparse indexes", In: Never,
		Code: mongoerr.CannotCreateIndex, Text: "sparse indexes are not supported",
	},
	TTLFields: {
		Name: "a TTL index on a field other than _ts", In: Never, Opens: EnableTTLOnCustomPath,
		Code: mongoerr.BadValue, Text: "The 'expireAfterSeconds' option is supported on '_ts' field only", Source: "sasjs/server#339",
	},
	TTLPartial: {
		Name: "a TTL index with a partialFilterExpression", In: Never,
		Code: mongoerr.CannotCreateIndex, Text: "a partial index cannot expire documents", Source: "how-to-configure-capabilities",
	},
	TTLSeveral: {
		Name: "more than one TTL index of a collection", In: Never,
		Code: mongoerr.CannotCreateIndex, Text: "a collection has one TTL index at most",
	},
	TimeSeries: {
		Name: "time series collections", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'timeseries' is not supported", Remark: "Not listed.",
	},
	UniqueMany: {
		Name: "more than 10 unique indexes of a collection", In: Never,
		Code: mongoerr.CannotCreateIndex, Source: "concepts-limits",
	},
	UniqueOnDocuments: {
		Name: "a unique index on a collection that has documents", In: Never, Opens: EnableUniqueIndexReIndex,
		Code: mongoerr.BadValue, Text: "The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one.", Source: "getporter/porter#2344",
	},
	UntargetedManyWrites: {
		Name: "a write to many documents of a sharded collection without its shard key", In: All, Closes: EnableMongoRetryableWrites,
		Code: mongoerr.ShardKeyNotFound,
	},
	UntargetedWrites: {
		Name: "a write to one document of a sharded collection without its shard key", In: Never,
		Code: mongoerr.ShardKeyNotFound, Source: "error-codes-solutions",
	},
	Validators: {
		Name: "validators of collections", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'validator' is not supported", Source: "liquibase/liquibase-mongodb#235",
	},
	Views: {
		Name: "views", In: Never,
		Code: mongoerr.CommandNotSupported, Text: "'viewOn' is not supported", Remark: "Not listed.",
	},
	WatchedDatabases: {
		Name: "a change stream on a database or on all of them", In: Never,
		Code: mongoerr.BadValue, Text: "Change streams are only supported on a single collection", Source: "change-streams",
	},
	WatchedDocuments: {
		Name: "a change stream without fullDocument: \"updateLookup\"", In: Never,
		Code: mongoerr.BadValue, Source: "change-streams",
	},
	WatchedMissing: {
		Name: "a change stream on a collection that does not exist", In: Never,
		Code: mongoerr.NamespaceNotFound, Source: "change-streams",
	},
	WatchedPipelines: {
		Name: "a change stream without a match and then a project stage", In: Never,
		Code: mongoerr.BadValue, Text: "Change stream must be followed by a match and then a project stage", Source: "change-streams",
	},
	WildcardOptions: {
		Name: "compound, unique and TTL wildcard indexes, and wildcardProjection", In: Never,
		Code: mongoerr.CannotCreateIndex, Source: "indexing",
	},
}
