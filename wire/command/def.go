package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/explained"
)

// Def is one command: what runs it, and everything that others know about it. Whoever
// treats some commands otherwise than the rest reads a field of the row; nobody else
// knows a command by its name.
type Def struct {
	Name    string
	Aliases []string // other spellings, lower-cased ones among them
	// Run runs a command whose arguments say nothing of what its user needs; nil in a row with Parse.
	Run func(c *Call) error
	// Parse reads the arguments of a command of which they do: names of collections, databases,
	// users and roles, and what is to be done to these. It has no effect beyond the Call.
	Parse func(c *Call) (Request, error)
	// Namespace says where the namespace stands that the command concerns.
	Namespace NamespaceFrom
	// Action is what the user must be allowed to do: on the cluster where it is an
	// action of that, else on the namespace that the command names, else on its
	// database. "" runs before authentication; "user" needs nothing but a user.
	Action string
	// Also are further actions that every call needs, with arguments or without.
	Also []Need
	// ArgumentActions are the actions that the Request of Parse may need besides, in the order of
	// the manual: no other is noted. The tables of privileges are printed from them.
	ArgumentActions []string
	Facts           Facts
	// Kind is what the command does to documents. The latencies and locks of
	// serverStatus, the request report, the transactions and the samples of queries go
	// by it.
	Kind Kind
	// Op is the type of operation that top, currentOp, the profiler and the opcounters
	// of serverStatus count the command as.
	Op OpType
	// ReadConcern says which levels of read concern the command takes. One that takes
	// more than local is a read to whoever waits for durability or charges for strong
	// reads.
	ReadConcern ReadLevels
	// Statements names the argument with the statements of a batch of writes, which may
	// come as a document sequence; "" for other commands. The reply to a batch tells
	// only that it came, if the client did not want its writes acknowledged.
	// Manual: reference/write-concern#acknowledgment-behavior.
	Statements string
	// Query finds the filter and the sort in the body of a command or, where it has
	// Statements, in one of them. Shapes and samples of queries are made of them. nil: it
	// has no query.
	Query func(body bson.Raw) (filter, sort bson.Raw)
	// Outputs reports that the body of a read has what it finds put into a collection; nil:
	// it never has. A read that may has a write concern, and waits like a write when it
	// does. Manual: reference/write-concern.
	Outputs func(body bson.Raw) bool
	// Explain reads the arguments of the command for explain and the query settings; nil
	// for a command without a plan. Manual: reference/command/explain.
	// r is what Parse has returned for them; nil in a row without it.
	Explain func(c *Call, r Request) (*explained.Explained, error)
	// Unstable are the arguments of a Stable command that version 1 of the stable API does
	// not have. Manual: reference/stable-api, and the pages of the commands.
	Unstable []string
	// Since is the first release of MongoDB that has it, such as "8.2"; "" if that is older
	// than 3.6 or the manual does not say.
	Since string
	// Doc is the manual's page, relative to its root; "cosmos" for Azure's.
	Doc string

	Counter *Counter // of its runs, made by Server.Add

	scope  scope // what Action is on, and Action itself: see Def.resolve
	action auth.Action
	also   []auth.Action // those of Also
	listed auth.Actions  // all that the row names
}

// Need is an action that a command needs.
type Need struct {
	Action string
	// On is the namespace that it is on; the zero Namespace for an action on the cluster.
	On collection.Namespace
}

// NamespaceFrom says how a command names what it works on.
type NamespaceFrom uint8

// The ways.
const (
	NoNamespace       NamespaceFrom = iota // the database at most
	FirstField                             // {find: "coll"}
	FullName                               // {renameCollection: "db.coll"}
	CollectionField                        // {getMore: 1, collection: "coll"}
	SeveralNamespaces                      // {bulkWrite: 1, nsInfo: [{ns: "db.coll"}, …]}
)

// ManyNamespaces is what stands for the collections of a command with SeveralNamespaces: as the
// namespace of its cursor and in the request report.
var ManyNamespaces = collection.Namespace{DB: "admin", Coll: "$cmd.bulkWrite"}

// Facts are what is true of a command or not. The chain acts on them, but where it
// says so.
type Facts uint32

// The facts.
const (
	// AdminOnly commands run on the admin database.
	AdminOnly Facts = 1 << iota
	// InTxn commands are allowed in multi-document transactions.
	// Manual: core/transactions-operations.
	InTxn
	// NotFirst commands are allowed there, but cannot begin one.
	// Manual: core/transactions-operations#informational-operations, and its restrictions.
	NotFirst
	// Writes marks commands that write: they take a write concern, and a locked fsync
	// keeps them waiting.
	Writes
	// OwnConcern commands do not take the default write concern.
	// Manual: reference/command/setDefaultRWConcern#behavior.
	OwnConcern
	// Retryable commands are retryable writes: outside of transactions, none but they
	// take a transaction number. Manual: core/retryable-writes#retryable-write-operations.
	Retryable
	// Stable commands belong to version 1 of the stable API; listCommands says so too.
	// Manual: reference/stable-api.
	Stable
	// Metadata commands are charged to the account's metadata budget.
	Metadata
	// Silent commands are not worth a line in profile or slow log, and nobody pays for
	// them.
	Silent
	// Limited commands take the default time limit of reads, unless they write what they
	// read. Manual: reference/cluster-parameters/defaultMaxTimeMS.
	Limited
	// Secret commands carry passwords or proofs of them, which nobody else sees.
	Secret
	// FirstUser commands may be run on this machine by nobody, before there is any user.
	// The login acts on it. Manual: core/localhost-exception.
	FirstUser
	// Sampled commands are queries that tell whether a shard key suits them: see
	// configureQueryAnalyzer and analyzeShardKey, which act on it.
	// Manual: reference/command/configureQueryAnalyzer.
	Sampled
	// Settable commands are queries that may have settings: see setQuerySettings, which
	// acts on it. Manual: reference/command/setQuerySettings.
	Settable
	// Updates commands change documents; serverStatus tells how often by a pipeline, and how
	// often with array filters. Manual: reference/command/serverStatus#metrics.
	Updates
	// Survey commands read all there is and change nothing, for hours where there is much: the
	// end of the server does not wait for them as it does for others.
	Survey
	// Counts commands show counts of documents, or decide by them: those of all servers.
	Counts
	// AccountOnly commands exist only at the address of an account of Azure Cosmos DB.
	AccountOnly
	// Outlives commands are long work on a collection: it goes on when the client disconnects.
	// killOp ends it, as maxTimeMS does.
	// Manual: core/index-creation, core/sharding-reshard-a-collection.
	Outlives
)

func (f Facts) Has(g Facts) bool { return f&g != 0 }

// Kind is what a command does to documents, as opLatencies tells commands apart.
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

// OpType is the type of operation that a command counts as.
// Manual: reference/database-profiler#system.profile.op.
type OpType uint8

// The types. All but OpCommand are basic operations with one command each.
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

// ReadLevels are the levels of read concern that a command takes outside of
// transactions. Manual: reference/read-concern.
type ReadLevels uint8

// The levels.
const (
	OnlyLocal ReadLevels = iota
	// NotSnapshot is every level but snapshot.
	NotSnapshot
	// AnyLevel is every level. Manual: reference/read-concern-snapshot#operations.
	AnyLevel
)

// TakesWriteConcern reports commands that write, or may write what they find into a
// collection.
func (d *Def) TakesWriteConcern() bool { return d.Facts.Has(Writes) || d.Outputs != nil }

// writes reports that a command with this body writes.
func (d *Def) writes(body bson.Raw) bool {
	return d.Facts.Has(Writes) || d.Outputs != nil && d.Outputs(body)
}

// Ends reports a command that ends a transaction.
func (d *Def) Ends() bool { return d.Kind == KindTxn }

// Costly reports commands whose request units belong to the shape of their query.
func (d *Def) Costly() bool { return d.Kind == KindRead || d.Kind == KindWrite }
