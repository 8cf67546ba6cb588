package command

import (
	"context"
	"crypto/x509"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/session"
)

// TagCosmos is the tag of the listener that looks like Azure Cosmos DB; every
// other listener looks like a mongos, or a replica set: Config.ReplicaSet.
const TagCosmos = "cosmos"

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
	// Account is whom the Cosmos listener knows beside the users of Auth: the
	// account's name and key. nil = nobody.
	Account *auth.User
	// Jobs is the background work, for currentOp and the parameters about it.
	Jobs *jobs.Runner
	// Balance switches automatic splits on or off; nil = there are none.
	Balance func(on bool)
	Log     zerolog.Logger
	// Durability of writes without a write concern that says otherwise.
	Durability storage.Durability
	// Compressors a client may negotiate.
	Compressors wire.Compressors
	// ReplicaSet is what the listeners but the Cosmos one look like; the zero
	// ReplicaSet is a mongos.
	ReplicaSet ReplicaSet
	// ReplyCharge adds requestCharge to every reply, not only on the Cosmos
	// listener.
	ReplyCharge bool
	// ChargeStrongReads doubles the price of reads with read concern majority,
	// linearizable or snapshot.
	ChargeStrongReads bool
	// Processor bounds commands that compute for long; nil bounds nothing.
	Processor *mql.Processor
	// WorkMemory is what the blocking operators of all commands share; nil is without
	// end.
	WorkMemory *ratelimit.Memory
	// MemoryShares are shown by serverStatus.
	MemoryShares []MemoryShare
	// JavaScript allows $where, $function, $accumulator and mapReduce.
	JavaScript bool
	// TestCommands allows configureFailPoint and other commands for tests.
	TestCommands bool
	// Certificate is the server's, nil without TLS; ClientAuthorities says that clients'
	// certificates are looked at. A nil Certificate func is one without TLS.
	Certificate       func() *x509.Certificate
	ClientAuthorities bool
	// CommandLine is the program's arguments, for getCmdLineOpts.
	CommandLine []string
	// Version of the program, for buildInfo.
	Version string
	// Connections counts connections; nil = unknown.
	Connections func() wire.ConnStats
	// Establish changes how fast connections may be opened; nil = they may.
	Establish func(wire.Establishment)
	// Recent returns the last log lines, oldest first, and how many there have been since
	// the start, for getLog; nil = none.
	Recent func() (lines []string, total int)
}

// Server runs commands. It is the Handler of wire/server. Safe for concurrent
// use.
type Server struct {
	Config
	Started time.Time

	table   []Def // Commands, resolved; alphabetical too
	byName  map[string]*Def
	stats   statistics
	ops     operations
	params  parameters
	memory  memoryLimits
	charges charges
	shapes  shapes
	seconds *prometheus.HistogramVec // by command; nil unless Metrics was called

	replyCharge atomic.Bool // the parameter of that name
	unmetered   atomic.Bool // noMeteringPoint
	failPoints  failPoints
	jobKill     jobKill
	seenAt      atomic.Value // string: the address of the first connection
	balancerOff atomic.Bool  // balancerStop was called
	processID   [12]byte     // of topologyVersion
	conns       sync.Map     // int64 → *connection
	usage       usages
	latencies   latencies
	profiler    profiler
	fsyncLock   fsyncLock
	rwDefaults  rwDefaults
	autoCompact autoCompact

	clusterSettings clusterSettings
	querySettings   querySettings
	zones           zoneShards
	planned         plannedZones
	analyzers       queryAnalyzers
	settings        configSettings

	slowdown auth.Slowdown // of logins that fail
	loginLog wire.LogRate
	logins   loginCounts
}

// counter counts one command for serverStatus.
type counter struct{ total, failed atomic.Int64 }

// New makes a Server with the commands of the table.
func New(cfg Config) *Server {
	s := &Server{Config: cfg, Started: time.Now(), byName: map[string]*Def{}, processID: bson.NewObjectID()}
	s.table = slices.Clone(Commands)
	for i := range s.table {
		d := &s.table[i]
		d.resolve()
		s.byName[d.Name] = d
		for _, a := range d.Aliases {
			s.byName[a] = d
		}
		d.counter = &counter{}
	}
	s.params.init()
	if cfg.ReplyCharge {
		s.params.now[s.params.at["replyCharge"]].num = 1
		s.replyCharge.Store(true)
	}
	s.memory.init()
	if cfg.Cluster != nil {
		s.loadKept(cfg.Cluster.Store)
	}
	if cfg.TestCommands && cfg.Jobs != nil {
		cfg.Jobs.OnStep(s.jobKill.at)
	}
	return s
}

// Attach makes the server the layer above its cluster, which New leaves as it is. It is
// called once, before the first command.
func (s *Server) Attach() {
	s.Cluster.Attach(cluster.Upper{Info: s.stageInfo, Virtual: s.virtual, Dropped: s.namespaceGone})
	s.clusterSettings.takeEffect(s.Cluster)
}

// loadKept reads what commands have set for good. What cannot be read is as if it had
// never been set, which is better than a server that does not start.
func (s *Server) loadKept(store storage.Store) {
	planned := func(ctx context.Context, store storage.Store) error { return s.planned.load(ctx, store, s.isSharded) }
	for _, kept := range []struct {
		what string
		load func(context.Context, storage.Store) error
	}{
		{"the cluster parameters", s.clusterSettings.load},
		{"the query settings", s.querySettings.load},
		{"the zones", s.zones.load},
		{"the zones of collections that are not sharded", planned},
		{"the query analyzers", s.analyzers.load},
		{"config.settings", s.settings.load},
		{"the default concerns", s.rwDefaults.load},
	} {
		if err := kept.load(context.Background(), store); err != nil {
			s.Log.Error().Err(err).Msg(kept.what + " cannot be read: the server goes on as if they were not set")
		}
	}
}

// lookup finds a command by its exact name or another of its spellings.
func (s *Server) lookup(name string) *Def { return s.byName[name] }

// peer is what the server remembers of one connection.
type peer struct {
	cosmos      bool
	appName     string
	user        string        // "name@db", "" for nobody
	owner       session.Owner // the digest of user
	login       *login        // nil for nobody
	sasl        *saslState    // nil unless somebody is logging in
	speculative bool          // the login under way came with a hello
	uuid        [16]byte
	client      atomic.Pointer[clientInfo] // what it says of itself; nil before its first hello
	helloSeen   bool
	last        statement // of getLastRequestStatistics, without a session
	slot        slot      // the command that runs
	shape       []byte    // memory for the text of its shape
	spare       *Call     // memory for the next command
	// streamed is the cursor whose batches follow each other without being asked
	// for, 0 = none: nobody else goes on with it.
	streamed cursor.ID
}

// statement is the price of one command, for getLastRequestStatistics.
type statement struct {
	command string
	charge  int64 // micro request units
	took    time.Duration
}

// charges remembers the last statement of each session, for some time.
type charges struct {
	mu  sync.Mutex
	now map[session.ID]statement
	old map[session.ID]statement // the generation before, dropped when now is full
}

// chargesMax bounds one generation of remembered sessions.
const chargesMax = 8192

func (c *charges) put(id session.ID, s statement) {
	c.mu.Lock()
	if c.now == nil || len(c.now) >= chargesMax {
		c.old, c.now = c.now, map[session.ID]statement{}
	}
	c.now[id] = s
	c.mu.Unlock()
}

func (c *charges) get(id session.ID) (statement, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.now[id]
	if !ok {
		s, ok = c.old[id]
	}
	return s, ok
}
