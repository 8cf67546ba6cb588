package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/explained"
)

// Def is the row of one command: its function, and every property by which other code treats it differently.
// Code that makes an exception for some commands reads a field of the row instead of comparing names.
type Def struct {
	Name    string
	Aliases []string // other spellings, such as lower-cased ones
	// Run runs a command whose privileges do not depend on its arguments; nil in a row with Parse.
	Run func(c *Call) error
	// Parse reads the arguments of a command whose privileges depend on them: on names of collections,
	// databases, users and roles, and on the operation. Parse has no effect outside the Call.
	Parse func(c *Call) (Request, error)
	// Namespace is the place of the command's namespace in its arguments.
	Namespace NamespaceFrom
	// Action is the privilege action that the user of the command needs. An action on the cluster is needed on the
	// cluster, any other on the namespace that the command names, or if it names none on the database. A command with
	// "" runs before authentication; one with "user" requires only a logged-in user.
	Action string
	// Also holds further actions that every call needs, whatever its arguments.
	Also []Need
	// ArgumentActions are the privilege actions that the Request of Parse may need in addition, in the order of the
	// manual. PrivilegeCheck panics if a Request needs an action that the row does not name, except for the actions
	// of pipeline stages and useUUID for a UUID in the first field. The tables of privileges in the documentation are
	// printed from this field.
	ArgumentActions []string
	Facts           Facts
	// Kind classifies what the command does to documents. Among others, the latencies and locks of serverStatus, the
	// request report, the transactions and the samples of queries depend on it.
	Kind Kind
	// Op is the type of operation, such as insert, under which top counts the command, and currentOp and the profiler
	// show it. In the opcounters of serverStatus, command counts the commands with OpCommand.
	Op OpType
	// ReadConcern is the highest group of read concern levels that the command accepts. A command that
	// accepts more than local counts as a read when the server waits for durability and when it charges for
	// strong reads.
	ReadConcern ReadLevels
	// Statements names the argument with the statements of a batch of writes, which may come as a document sequence;
	// "" for other commands. If the client requested unacknowledged writes, the reply to a batch contains only the
	// fields of every reply, such as ok. Manual: reference/write-concern#acknowledgment-behavior.
	Statements string
	// Query returns the filter and the sort in the body of the command or, for a command with Statements, in
	// one of the statements. Shapes and samples of queries are made from them. nil for a command without a
	// query.
	Query func(body bson.Raw) (filter, sort bson.Raw)
	// Outputs reports whether the body of a read writes its results into a collection; nil if the command
	// never does. A read that may write its results accepts a write concern, and waits like a write if it
	// writes. Manual: reference/write-concern.
	Outputs func(body bson.Raw) bool
	// Explain reads the arguments of the command, for explain and for query settings; nil for a command without a
	// plan. r is the Request that Parse returned, nil in a row without Parse.
	// Manual: reference/command/explain.
	Explain func(c *Call, r Request) (*explained.Explained, error)
	// Unstable lists the arguments of a Stable command that version 1 of the stable API lacks.
	// Manual: reference/stable-api, and the pages of the commands.
	Unstable []string
	// Stats reports whether $queryStats of a release counts the command; nil for never.
	// Manual: reference/operator/aggregation/queryStats.
	Stats func(release.Release) bool
	// Since is the first release of MongoDB that has the command, such as "8.2"; "" if that release is older
	// than 3.6 or the manual does not name it.
	Since string
	// Doc is the address of the manual's page, relative to the manual's root; "cosmos" for the manual of Azure.
	Doc string

	Counter *Counter // counts the runs; made by Server.Add

	scope  scope // on what Action is needed, and Action itself; set by resolve
	action auth.Action
	also   []auth.Action // the actions of Also
	listed auth.Actions  // all actions that the row names
}

// Need is a privilege action that every call of a command needs on one namespace or on the cluster.
type Need struct {
	Action string
	// On is the namespace; the zero Namespace for an action on the cluster.
	On collection.Namespace
}

// NamespaceFrom is the place in a command's arguments from which its namespace is read.
type NamespaceFrom uint8

// The ways.
const (
	NoNamespace       NamespaceFrom = iota // the database at most
	FirstField                             // {find: "coll"}
	FullName                               // {renameCollection: "db.coll"}
	CollectionField                        // {getMore: 1, collection: "coll"}
	SeveralNamespaces                      // {bulkWrite: 1, nsInfo: [{ns: "db.coll"}, …]}
)

// ManyNamespaces stands for the collections of a command that names several, such as bulkWrite. It is the namespace
// of its cursor, and of its entry in the request report.
var ManyNamespaces = collection.Namespace{DB: "admin", Coll: "$cmd.bulkWrite"}

// Facts are the true-or-false properties of a command, as bits. The chain acts on them, unless the comment of a fact
// names other code.
type Facts uint32

// The facts.
const (
	// AdminOnly commands run on the admin database.
	AdminOnly Facts = 1 << iota
	// InTxn commands are allowed in multi-document transactions.
	// Manual: core/transactions-operations.
	InTxn
	// NotFirst commands are allowed in a multi-document transaction, but not as its first command.
	// Manual: core/transactions-operations#informational-operations, and its restrictions.
	NotFirst
	// Writes marks commands that write. They accept a write concern, and a locked fsync makes them wait.
	Writes
	// OwnConcern commands do not get the default write concern: FillConcerns skips them.
	// Manual: reference/command/setDefaultRWConcern#behavior.
	OwnConcern
	// Retryable commands are retryable writes. Other commands accept a transaction number only inside transactions.
	// Manual: core/retryable-writes#retryable-write-operations.
	Retryable
	// Stable commands belong to version 1 of the stable API. listCommands shows this fact too.
	// Manual: reference/stable-api.
	Stable
	// Metadata commands are charged to the account's metadata budget.
	Metadata
	// Silent commands do not appear in the profile and the slow log, and are not charged.
	Silent
	// Limited commands have the default time limit of reads, unless they write their results into a collection. On the
	// Cosmos listener, every command has cosmosTimeLimit instead. Manual:
	// reference/cluster-parameters/defaultMaxTimeMS.
	Limited
	// Secret commands carry passwords or proofs of passwords. Logs and lists of operations hide them.
	Secret
	// FirstUser commands may be run on the database admin without a login by a client with a loopback address, as
	// long as no user and no role exists. The login code acts on this fact. Manual: core/localhost-exception.
	FirstUser
	// Sampled commands are queries by which analyzeShardKey judges a shard key. The sampling of queries and
	// analyzeShardKey act on this fact.
	// Manual: reference/command/configureQueryAnalyzer.
	Sampled
	// Settable commands are reads for which setQuerySettings can set query settings.
	// Manual: reference/command/setQuerySettings.
	Settable
	// Updates commands change documents. serverStatus counts how many of their updates use a pipeline or
	// array filters. Manual: reference/command/serverStatus#metrics.
	Updates
	// InterruptOnDrain commands read all data and change nothing, which can take hours. When the server drains, they
	// are interrupted at once: shutdown does not wait for them as it waits for other commands.
	InterruptOnDrain
	// Counts commands return counts of documents, or decide by counts. Before they run, the chain adds up the counts
	// of all peers, because each server counts only its own writes.
	Counts
	// AccountOnly commands exist only at the address of an account of Azure Cosmos DB.
	AccountOnly
	// SurvivesDisconnect commands do long work on a collection, such as building an index, which continues after the
	// client has disconnected. killOp, maxTimeMS and the shutdown of the server can end it.
	// Manual: core/index-creation, core/sharding-reshard-a-collection.
	SurvivesDisconnect
	// FullReply commands reply with their result also without acknowledgement (w: 0), as far as they are answered:
	// drivers read the cursor of a bulkWrite.
	FullReply
)

func (f Facts) Has(g Facts) bool { return f&g != 0 }

// Kind is the class of a command by its work on documents, such as reading, under which opLatencies counts it.
// Manual: reference/command/serverStatus#oplatencies.
type Kind uint8

// The kinds.
const (
	KindCommand Kind = iota // none of the others
	KindRead
	KindWrite
	KindTxn // ends a transaction
	Kinds
)

// OpType is the type of operation, such as insert or getmore, under which top counts a command, and currentOp and the
// profiler show it.
// Manual: reference/database-profiler#system.profile.op.
type OpType uint8

// The types. Each type except OpCommand belongs to exactly one command, such as OpInsert to insert.
const (
	OpCommand OpType = iota
	OpQuery
	OpGetMore
	OpInsert
	OpUpdate
	OpRemove
	OpTypes
)

// String returns the name that currentOp and the profiler print.
func (o OpType) String() string {
	return [OpTypes]string{"command", "query", "getmore", "insert", "update", "remove"}[o]
}

// ReadLevels is the group of read concern levels that a command accepts outside of transactions.
// Manual: reference/read-concern.
type ReadLevels uint8

// The levels.
const (
	OnlyLocal ReadLevels = iota
	// NotSnapshot is every level but snapshot.
	NotSnapshot
	// AnyLevel is every level. Manual: reference/read-concern-snapshot#operations.
	AnyLevel
)

// TakesWriteConcern reports whether the command writes, or may write its results into a collection.
func (d *Def) TakesWriteConcern() bool { return d.Facts.Has(Writes) || d.Outputs != nil }

// writes reports whether a command with this body writes.
func (d *Def) writes(body bson.Raw) bool {
	return d.Facts.Has(Writes) || d.Outputs != nil && d.Outputs(body)
}

// Ends reports whether the command ends a transaction.
func (d *Def) Ends() bool { return d.Kind == KindTxn }

// Costly reports whether the command reads or writes documents, so that its request units are recorded for the shape
// of its query.
func (d *Def) Costly() bool { return d.Kind == KindRead || d.Kind == KindWrite }
