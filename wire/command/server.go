package command

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/defects"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/savedsettings"
	"github.com/cantledb/cantle/wire/session"
	"github.com/cantledb/cantle/wire/virtual"
)

// Config holds the parts and settings of a Server.
type Config struct {
	Cluster *cluster.Cluster
	// DDL creates, changes and drops collections, indexes and databases.
	DDL      *ddl.Definer
	Cursors  *cursor.Registry
	Sessions *session.Registry
	// Auth holds the users and roles.
	Auth *auth.Directory
	// RequireAuth is true if commands are refused that the user of the connection may not run. Otherwise every client
	// may run every command.
	RequireAuth bool
	// Jobs runs the background jobs; currentOp and the parameters about jobs read it.
	Jobs *jobs.Runner
	Log  zerolog.Logger
	// Defects records panics and unforeseen errors; nil stands for a journal without files.
	Defects *defects.Journal
	// Version of the program.
	Version string
	// Durability applies to writes whose write concern does not set it.
	Durability storage.Durability
	// Release is the release of MongoDB that all listeners but the Cosmos listener report.
	Release release.Release
	// Account has the features of the Cosmos listener; nil stands for cosmos.NewAccount.
	Account *cosmos.Account
	// ReplicaSet is the replica set that clients of all listeners except the Cosmos listener see; if it is zero, they
	// see a mongos.
	ReplicaSet ReplicaSet
	// CosmosMember is the host:port of the replica set's member that clients of the Cosmos listener see.
	CosmosMember string
	// AdvertisedAddress returns the configured address at which clients reach the server. If it is nil or returns "",
	// the address of the first connection is used.
	AdvertisedAddress func() string
	// Engine is the name of the storage engine that clients see. Transient is true if all data is lost when
	// the server ends.
	Engine    string
	Transient bool
	// ReadOnly is true if the store accepts no writes; hello reports this to clients.
	ReadOnly bool
	// Follower applies the writes of another server, which this one follows as a secondary; nil if it follows none.
	Follower *backup.Follower
	// StepUp promotes a server that follows another one to the primary; nil if this one is part of no replica set.
	StepUp func(context.Context) error
	// Term is the term in which the server is the primary of its replica set.
	Term int64
	// ChargeStrongReads doubles the price of reads with read concern majority,
	// linearizable or snapshot.
	ChargeStrongReads bool
	// Processor bounds how many long computations of commands run at once; nil for no bound.
	Processor *mql.CPUSlots
	// WorkMemory is the memory limit that the blocking operators of all commands share; nil for no limit.
	WorkMemory *ratelimit.Memory
	// WriteMemory is the memory limit that uncommitted writes share; nil for no limit.
	WriteMemory *ratelimit.Memory
	// JavaScript allows $where, $function, $accumulator and mapReduce.
	JavaScript bool
	// TestCommands allows configureFailPoint and other commands for tests.
	TestCommands bool
}

// Server runs the commands of clients. It is the Handler of wire/server, and safe for concurrent use.
type Server struct {
	Config
	Started time.Time

	// Set by rooms as they join, before the server serves.
	Authenticator Authenticator
	Settings      Settings
	FailPoints    FailPoints
	WriteGate     WriteGate
	Profiler      Profiler
	Usage         Usage
	Planner       Planner
	Sharding      Sharding
	onEnd         []func(c *Call, e Outcome)
	// Virtual holds the collections and Stages the pipeline stages whose documents are computed when they are read.
	Virtual virtual.Collections
	Stages  virtual.Stages

	calls    sync.Pool             // *Call: memory that commands of all connections reuse
	users    *ratelimit.UserShares // divides WorkMemory
	writers  *ratelimit.UserShares // divides WriteMemory
	byName   map[string]*Def
	commands []*Def // in alphabetical order
	Stats    Statistics
	Ops      operations.Registry
	Memory   mql.MemoryLimits
	Spills   mql.Spills // counted over all commands
	Charges  charges
	callers  ratelimit.CallerTable

	Sampling       StatsSampling          // the executions that $queryStats counts
	ChargeReplies  atomic.Bool            // every reply contains the charge of its command: the parameter replyCharge
	Lowered        atomic.Pointer[string] // the feature compatibility version, if it was lowered, else nil; see FeatureVersion
	Unmetered      atomic.Bool            // noMeteringPoint
	firstAddress   atomic.Value           // string: the address of the first connection
	unavailableLog zerolog.Logger         // for errors of a store that does not answer: at most 3 lines per second
	runawayLog     zerolog.Logger         // for commands that reach their cap: at most 3 lines per second
	conns          sync.Map               // int64 → *Connection

	leaving       context.Context // done when Leave has begun
	leave         context.CancelFunc
	deposed       context.Context // done when another server was promoted in place of this one
	depose        context.CancelFunc
	leaveBegan    atomic.Int64 // when Leave began, in ns since 1970
	lastStreamEnd atomic.Int64 // when ResumeElsewhere last ended a change stream here, in ns since 1970
}

// Counter counts the runs of one command.
type Counter struct {
	Total, Failed atomic.Int64
	// Pipelines counts the command's update statements that are a pipeline, ArrayFilters those with array filters.
	Pipelines, ArrayFilters atomic.Int64
}

// CountUpdate counts an update statement of the command.
func (n *Counter) CountUpdate(u bson.Value, filters []bson.Raw) {
	if u.Type == bson.TypeArray {
		n.Pipelines.Add(1)
	}
	if len(filters) > 0 {
		n.ArrayFilters.Add(1)
	}
}

// Room is a package of commands, with the state that these commands share.
type Room interface {
	// Commands returns the rows of the room, in alphabetical order.
	Commands() []Def
}

// New returns a Server without commands: rooms bring them, see Add.
func New(cfg Config) *Server {
	s := &Server{Config: cfg, users: ratelimit.NewUserShares(cfg.WorkMemory), writers: ratelimit.NewUserShares(cfg.WriteMemory), Started: time.Now(), byName: map[string]*Def{}, Virtual: virtual.Collections{Cluster: cfg.Cluster}}
	s.Authenticator, s.Settings, s.FailPoints, s.WriteGate = absent{}, absent{}, absent{}, absent{}
	s.Profiler, s.Usage, s.Planner, s.Sharding = absent{}, absent{}, absent{}, absent{}
	s.Memory.Init()
	s.Sampling.init()
	if s.Account == nil {
		s.Account = cosmos.NewAccount()
	}
	if s.Defects == nil {
		s.Defects = &defects.Journal{Log: cfg.Log}
	}
	s.leaving, s.leave = context.WithCancel(context.Background())
	s.deposed, s.depose = context.WithCancel(context.Background())
	s.runawayLog = s.Log.Sample(&zerolog.BurstSampler{Burst: 3, Period: time.Second})
	s.unavailableLog = s.Log.Sample(&zerolog.BurstSampler{Burst: 3, Period: time.Second})
	return s
}

// Add adds the commands of rooms, before the server serves. It panics if two commands have the same name.
func (s *Server) Add(rooms ...Room) {
	for _, room := range rooms {
		table := room.Commands()
		for i := range table {
			s.add(&table[i])
		}
	}
	slices.SortFunc(s.commands, func(a, b *Def) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *Server) add(d *Def) {
	d.resolve()
	d.Counter = &Counter{}
	s.commands = append(s.commands, d)
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if s.byName[name] != nil {
			mongoerr.Bug("two commands are named %s", name)
		}
		s.byName[name] = d
	}
}

// Attach gives the cluster the functions of this server that it calls: virtual collections, stages, and the notice of
// a dropped or renamed collection. It is called once, after all rooms have joined and before the first command; New
// does not attach.
func (s *Server) Attach() {
	s.Cluster.Attach(cluster.Upper{Info: s.Stages.Docs, Virtual: s.Virtual.Docs, Pages: s.Virtual.Pages, Dropped: s.Sharding.Dropped})
	s.Settings.Attached()
}

// Table returns the rows of all commands, in alphabetical order.
func (s *Server) Table() []*Def { return s.commands }

// EachConn visits the connections until visit returns false.
func (s *Server) EachConn(visit func(*Connection) bool) {
	s.conns.Range(func(_, v any) bool { return visit(v.(*Connection)) })
}

// LoadSetting reads a setting that commands have stored under a name, and calls take with it, now and whenever a peer
// changes it. what names the setting in the log. If the setting cannot be read, the server starts with the default:
// that is better than a server that does not start.
func (s *Server) LoadSetting(what string, x *savedsettings.Setting, name string, take func(doc bson.Raw)) {
	if s.Cluster == nil {
		return
	}
	if err := s.Cluster.WithStore(func(store storage.Store, cat *catalog.Catalog) error {
		return x.Open(context.Background(), store, cat, name, take)
	}); err != nil {
		s.Log.Error().Err(err).Msg(what + " cannot be read: the server goes on as if they were not set")
	}
}

// Lookup returns the row of a command by its name or alias, nil if there is no such command.
func (s *Server) Lookup(name string) *Def { return s.byName[name] }

// IsSecret reports whether a command carries passwords or proofs of passwords.
func (s *Server) IsSecret(name string) bool {
	d := s.byName[name]
	return d != nil && d.Facts.Has(Secret)
}

// Called reports whether name is the name or an alias of the command.
func (d *Def) Called(name string) bool { return d.Name == name || slices.Contains(d.Aliases, name) }

// AppNameMax is the maximum length in bytes of the appName of a client.
// Spec: mongodb-handshake (Limitations).
const AppNameMax = 128

// ConnState is the state of one client connection.
type ConnState struct {
	Cosmos      *cosmos.Client // the client of the account; nil on addresses of MongoDB
	AppName     string
	User        collection.User
	Owner       session.Owner // Owner is the digest of User
	Login       *Login        // the login of the connection; nil without a login
	SASL        any           // the state of an unfinished login, kept by the room access; nil if none runs
	Speculative bool          // the unfinished login came with a hello
	UUID        [16]byte
	Client      atomic.Pointer[operations.Client] // the metadata that the client sent in a hello; nil if none
	HelloSeen   bool
	Operator    bool // commands pay from the allowance of operators, as far as the user may
	Balanced    bool // the client connects through a load balancer (loadBalanced=true)
	pinnedTxn   pinnedTxn
	Last        statement       // for getLastRequestStatistics, if the command has no session
	slot        operations.Slot // the running command
	caller      atomic.Pointer[connCaller]
	account     account
	Shape       []byte // memory for the text of a query shape
	// Streamed is the exhaust cursor of the connection, whose batches follow each other without a getMore; 0 if the
	// connection has none. No other connection can continue an exhaust cursor.
	Streamed cursor.ID
}

// Connection is a client connection with its state.
type Connection struct {
	Conn  wire.Conn
	State *ConnState
}
