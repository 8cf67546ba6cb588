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
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/defects"
	"github.com/cantledb/cantle/wire/kept"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
	"github.com/cantledb/cantle/wire/virtual"
)

// Config is what a Server is made of.
type Config struct {
	Cluster *cluster.Cluster
	// DDL makes, changes and drops collections, indexes and databases.
	DDL      *ddl.Definer
	Cursors  *cursor.Registry
	Sessions *session.Registry
	// Auth holds the users and roles.
	Auth *auth.Directory
	// RequireAuth refuses commands that the user of the connection may not run;
	// without it everybody may do everything.
	RequireAuth bool
	// Jobs is the background work, for currentOp and the parameters about it.
	Jobs *jobs.Runner
	Log  zerolog.Logger
	// Defects notes panics and unforeseen errors; nil is one without files.
	Defects *defects.Journal
	// Version of the program.
	Version string
	// Durability of writes without a write concern that says otherwise.
	Durability storage.Durability
	// Release is the release of MongoDB that the listeners but the Cosmos one show
	// themselves as.
	Release release.Release
	// Account has the features of the Cosmos listener; nil stands for cosmos.NewAccount.
	Account *cosmos.Account
	// ReplicaSet is what the listeners but the Cosmos one look like; the zero
	// ReplicaSet is a mongos.
	ReplicaSet ReplicaSet
	// CosmosMember is the Member of the set on the Cosmos listener, see ReplicaSet.
	CosmosMember string
	// Reached is where clients reach the server, as it is told to; nil, or "", is where they have
	// found it.
	Reached func() string
	// Engine is the name of the storage engine that clients are told of, and Transient that all is gone
	// at its end.
	Engine    string
	Transient bool
	// ReadOnly says that the store takes no writes, for hello.
	ReadOnly bool
	// ChargeStrongReads doubles the price of reads with read concern majority,
	// linearizable or snapshot.
	ChargeStrongReads bool
	// Processor bounds commands that compute for long; nil bounds nothing.
	Processor *mql.Processor
	// WorkMemory is what the blocking operators of all commands share; nil is without
	// end.
	WorkMemory *ratelimit.Memory
	// WriteMemory is what uncommitted writes share; nil is without end.
	WriteMemory *ratelimit.Memory
	// JavaScript allows $where, $function, $accumulator and mapReduce.
	JavaScript bool
	// TestCommands allows configureFailPoint and other commands for tests.
	TestCommands bool
}

// Server runs commands. It is the Handler of wire/server. Safe for concurrent
// use.
type Server struct {
	Config
	Started time.Time

	// Hooks are set by rooms as they join, before the server serves.
	Hooks Hooks
	onEnd []func(c *Call, e Ended)
	// Virtual and Stages are what is made up when it is read.
	Virtual virtual.Collections
	Stages  virtual.Stages

	calls    sync.Pool             // *Call: memory for the next command of any connection
	users    *ratelimit.UserShares // of WorkMemory
	writers  *ratelimit.UserShares // of WriteMemory
	byName   map[string]*Def
	commands []*Def // in alphabetical order
	Stats    Statistics
	Ops      operations.Registry
	Memory   mql.MemoryLimits
	Spills   mql.Spills // of all commands
	Charges  charges

	ChargeReplies atomic.Bool            // every reply says what its command cost: the parameter replyCharge
	Lowered       atomic.Pointer[string] // what the feature compatibility version was set down to, or nil; see FeatureVersion
	Unmetered     atomic.Bool            // noMeteringPoint
	seenAt        atomic.Value           // string: the address of the first connection
	away          zerolog.Logger         // of what keeps the data and does not answer: the first of each second
	conns         sync.Map               // int64 → *Connection

	leaving context.Context // see Leave
	leave   context.CancelFunc
	leftAt  atomic.Int64 // when it began, in ns since 1970
	sentOn  atomic.Int64 // when a change stream was sent on last, likewise
}

// Counter counts the runs of one command.
type Counter struct {
	Total, Failed atomic.Int64
	// Pipelines and ArrayFilters are its statements with an update of that kind.
	Pipelines, ArrayFilters atomic.Int64
}

// Updated counts an update among the statements of a command.
func (n *Counter) Updated(u bson.Value, filters []bson.Raw) {
	if u.Type == bson.TypeArray {
		n.Pipelines.Add(1)
	}
	if len(filters) > 0 {
		n.ArrayFilters.Add(1)
	}
}

// Room is a family of commands with what they share.
type Room interface {
	// Commands are the rows of the room, in alphabetical order.
	Commands() []Def
}

// New makes a Server without commands: rooms bring them, see Add.
func New(cfg Config) *Server {
	s := &Server{Config: cfg, users: ratelimit.NewUserShares(cfg.WorkMemory), writers: ratelimit.NewUserShares(cfg.WriteMemory), Started: time.Now(), byName: map[string]*Def{}, Hooks: noHooks(), Virtual: virtual.Collections{Cluster: cfg.Cluster}}
	s.Memory.Init()
	if s.Account == nil {
		s.Account = cosmos.NewAccount()
	}
	if s.Defects == nil {
		s.Defects = &defects.Journal{Log: cfg.Log}
	}
	s.leaving, s.leave = context.WithCancel(context.Background())
	s.away = s.Log.Sample(&zerolog.BurstSampler{Burst: 3, Period: time.Second})
	return s
}

// Add adds the commands of rooms, before the server serves. It panics for a name that two
// commands have.
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

// Attach makes the server the layer above its cluster, which New leaves as it is. It is
// called once, when all rooms have joined and before the first command.
func (s *Server) Attach() {
	s.Cluster.Attach(cluster.Upper{Info: s.Stages.Docs, Virtual: s.Virtual.Docs, Dropped: s.Hooks.Gone})
	s.Hooks.Attached()
}

// Table is the commands there are, in alphabetical order.
func (s *Server) Table() []*Def { return s.commands }

// EachConn visits the connections until visit returns false.
func (s *Server) EachConn(visit func(*Connection) bool) {
	s.conns.Range(func(_, v any) bool { return visit(v.(*Connection)) })
}

// Keep reads what commands have set for good under a name, and follows what other servers over
// the store set; what says what that is. What cannot be read is as if it had never been set, which
// is better than a server that does not start.
func (s *Server) Keep(what string, x *kept.Setting, name string, take func(doc bson.Raw)) {
	if s.Cluster == nil {
		return
	}
	if err := x.Open(context.Background(), s.Cluster.Store, s.Cluster.Catalog, name, take); err != nil {
		s.Log.Error().Err(err).Msg(what + " cannot be read: the server goes on as if they were not set")
	}
}

// Lookup finds a command by its exact name or another of its spellings.
func (s *Server) Lookup(name string) *Def { return s.byName[name] }

// IsSecret reports whether a command carries passwords or proofs of them.
func (s *Server) IsSecret(name string) bool {
	d := s.byName[name]
	return d != nil && d.Facts.Has(Secret)
}

// Called reports the name of the command, or another spelling of it.
func (d *Def) Called(name string) bool { return d.Name == name || slices.Contains(d.Aliases, name) }

// Peer is what the server remembers of one connection.
type Peer struct {
	Cosmos      *cosmos.Client // of the account; nil on addresses of MongoDB
	AppName     string
	User        collection.User
	Owner       session.Owner // Owner is the digest of User
	Login       *Login        // nil for nobody
	SASL        any           // the login under way, of the room access; nil for none
	Speculative bool          // the login under way came with a hello
	UUID        [16]byte
	Client      atomic.Pointer[operations.Client] // what it says of itself; nil before its first hello
	HelloSeen   bool
	Balanced    bool // it comes through a load balancer, and says so
	bound       bound
	Last        statement       // of getLastRequestStatistics, without a session
	slot        operations.Slot // the command that runs
	account     account
	Shape       []byte // memory for the text of its shape
	// Streamed is the cursor whose batches follow each other without being asked
	// for, 0 = none: nobody else goes on with it.
	Streamed cursor.ID
}

// Connection is a client connection and what is remembered of it.
type Connection struct {
	Conn wire.Conn
	Peer *Peer
}
