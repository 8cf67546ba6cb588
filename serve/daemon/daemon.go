package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/command/access"
	"github.com/cantledb/cantle/wire/command/settings"
	"github.com/cantledb/cantle/wire/command/shards"
	"github.com/cantledb/cantle/wire/command/status"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/defects"
	"github.com/cantledb/cantle/wire/rooms"
	"github.com/cantledb/cantle/wire/server"
	"github.com/cantledb/cantle/wire/session"
)

// Version of the program; set by the release build.
var Version = "0.1.0-dev"

// Daemon is one running server.
type Daemon struct {
	cfg           Config
	release       release.Release // release of MongoDB that the server shows to clients
	shares        memoryShares
	loggedDamages sync.Map // those already logged, by file and damage
	log           zerolog.Logger
	recent        *recentLog
	defects       *defects.Journal
	store         storage.Store
	files         storage.Store // store, without what Config.Wrap put before it
	backups       *backup.Runner
	catalog       atomic.Pointer[catalog.Catalog]
	runner        *jobs.Runner
	cluster       *cluster.Cluster
	balancer      *balance.Balancer
	cursors       *cursor.Registry
	sessions      *session.Registry
	server        *server.Server
	commands      *command.Server
	history       *history.Recorder
	// allHistory is the history of all servers over the store.
	allHistory *history.AllServers
	// processor bounds the long work of all commands and jobs.
	processor      *mql.CPUSlots
	addrs          []net.Addr
	advertisedAddr atomic.Value // string: where clients reach the server
	cosmos         net.Addr
	metrics        *metrics
	console        *console.Console
	consoleAt      atomic.Pointer[string] // its address, once it listens
	account        *cosmos.Account
	key            string // of the account
	generatedKey   bool   // the key was made at this start
	accountFile    string // with the account's connection string; "" = none
	tls            certificates
	stop           context.CancelFunc
	loops          sync.WaitGroup
	failed         chan error
	isNew          bool                   // the database was created by this start
	noSpace        *storage.DiskFullError // free disk space that opening the store for writing needs; nil = there was enough at the start
	startAgain     chan struct{}          // closed when the server has to be started again
	startAgainOnce sync.Once
	promotion      sync.Mutex       // serializes records of a promotion
	term           int64            // of the replica set, in which this server is the primary
	promoted       bool             // the store followed another one until the server was promoted
	promoting      *backup.Term     // of a promotion that was interrupted; nil = none
	follower       *backup.Follower // applies the writes of the server that this one follows; nil if it follows none
	followAnew     atomic.Bool      // the next start makes the copy of that server again
	stopping       atomic.Bool
}

// Start opens the database and listens for clients. The lines of the log go to out.
// Errors: invalid settings, folder or address; a folder that another process has open; damaged data; other errors of
// the store.
func Start(ctx context.Context, cfg Config, out io.Writer) (*Daemon, error) {
	cfg.complete()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	recent := &recentLog{}
	log, err := newLog(cfg, out, recent)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	shown, err := cfg.release()
	if err != nil {
		return nil, err
	}
	account, err := cfg.account()
	if err != nil {
		return nil, err
	}
	d := &Daemon{cfg: cfg, release: shown, account: account, log: log, recent: recent, failed: make(chan error, 4), startAgain: make(chan struct{})}
	d.defects = &defects.Journal{Log: log, Version: Version}
	if cfg.KeepsFiles() {
		d.defects.Folder = filepath.Join(cfg.Data, "defects")
	}
	ctx, d.stop = context.WithCancel(ctx)
	if err := d.start(ctx); err != nil {
		d.stop()
		if d.runner != nil {
			d.runner.Stop()
		}
		d.loops.Wait()
		if d.store != nil {
			d.store.Close()
		}
		if errors.Is(err, storage.ErrCorruption) {
			err = d.damagedStart(err)
		}
		return nil, err
	}
	d.log.Info().Str("version", Version).Str("compat", d.release.String()).Str("data", d.cfg.dataLocation()).Str("took", time.Since(begun).Round(time.Millisecond).String()).Msg("started")
	return d, nil
}

// start opens the store, connects the packages of the server and accepts clients. If start fails, its caller Start
// stops the parts that are already running.
func (d *Daemon) start(ctx context.Context) error {
	if err := checkAddresses(&d.cfg); err != nil {
		return err
	}
	if err := d.divideMemory(); err != nil {
		return err
	}
	if err := d.takeStanding(ctx); err != nil {
		return err
	}
	lanes := runtime.GOMAXPROCS(0)
	if err := d.tls.open(&d.cfg, lanes); err != nil {
		return err
	}
	scratch, durability, err := d.openStore(ctx)
	if err != nil {
		return err
	}
	if err := d.openBackups(); err != nil {
		return err
	}
	d.processor = mql.NewCPUSlots(lanes, time.Now, d.cfg.OnOverload)
	handler, err := d.wire(ctx, scratch, durability)
	if err != nil {
		return err
	}
	rate, remote := d.cfg.connectionRates()
	d.server = server.New(handler, server.Config{Log: d.log, Defects: d.defects, ConnsMax: d.cfg.MaxConns, Compressors: wire.AllCompressors,
		Messages: d.shares.messages, Replies: d.shares.replies, IdleMax: d.cfg.Idle, Lanes: d.processor.Interruptible, AddressConnsMax: d.cfg.AddressConns, AddressRate: rate, RemoteRate: remote, TLS: d.tls.mode, TLSConfig: d.tls.config,
		QueryCommands: func(tag string) bool { return tag == command.TagCosmos && d.account.Version.QueryCommands() }})
	d.loop(ctx, d.sampleHistory) // counts the server's connections
	d.loop(ctx, d.commands.Sharding.RunLedger)
	if remote, ok := d.store.(storage.Remote); ok {
		d.loop(ctx, func(ctx context.Context) { d.watchStore(ctx, remote) })
	}
	if d.cfg.Metrics != "" {
		if d.metrics, err = d.serveMetrics(ctx, handler.Server, append(d.collectors(handler.Status.Metrics()), expiry{d.tls.shown})); err != nil {
			return err
		}
	}
	if err := d.runFirstScripts(ctx, handler.Server); err != nil {
		return err
	}
	if err := d.listen(ctx); err != nil {
		return err
	}
	return d.openConsole(ctx, handler.Server)
}

// wire makes the packages of the server, from the catalog up to the commands, connects them with each other and
// starts the background work.
func (d *Daemon) wire(ctx context.Context, scratch string, durability storage.Durability) (*rooms.Server, error) {
	size, err := d.cfg.diskSizes()
	if err != nil {
		return nil, err
	}
	cat, err := d.openCatalog(ctx)
	if err != nil {
		return nil, err
	}
	budgets, now, err := d.cfg.budgets()
	if err != nil {
		return nil, err
	}
	perShard := cmp.Or(d.cfg.PartitionRU, ratelimit.ShardRateMax)
	board := &tally.Board{}
	d.runner = jobs.New(jobs.Config{
		Self: d.jobOwnerName(), Store: d.store, Catalog: cat, Budgets: budgets, Tally: board, Now: now, Release: d.release, CPUSlots: d.processor,
		LogSeconds: int64(d.cfg.LogRetention / time.Second), LogBytes: size.log, ReadOnly: d.cfg.readOnly(),
		Pools:  ratelimit.Options{ServerSideRetry: d.cfg.retriesRequests(d.account), Burst: d.cfg.Burst, ShardMax: perShard},
		Failed: d.jobFailed, Renewing: d.logRenewal,
	})
	d.shortenWhenFull()
	d.cursors = cursor.New(cursor.Config{BytesMax: d.shares.cursors, Peers: d.cursorPeers()})
	d.sessions = d.newSessions()
	d.cluster = cluster.New(cluster.Config{
		Store: d.store, Catalog: cat, Budgets: budgets, Tally: board, Now: now, ScratchDir: scratch, Workers: 4, LogicalKeyBytes: size.logicalKey,
		Dropped: d.poison, Memory: d.shares.queries, Peers: d.newPeerCalls(ctx, cat), Recount: d.runner.Recount,
	})
	definer := ddl.New(d.cluster, ddl.Config{
		Store: d.store, Catalog: cat, Tally: board, Jobs: d.runner, PlainSeeds: d.cfg.TestCommands,
		Limits:  ddl.Limits{ShardRU: d.cfg.PartitionRU, ShardBytes: size.shard, DefaultShards: d.cfg.Partitions, DefaultRU: d.cfg.Throughput},
		Changed: func(ns collection.Namespace) { d.balancer.Wake(ns) },
		Busy:    func(ns collection.Namespace) bool { return d.balancer.Busy(ns) },
	})
	d.cluster.AttachDefiner(definer)
	d.runner.Rewrite = definer.Rewrite
	d.balancer = balance.New(balance.Config{
		Catalog: cat, Tally: board, Budgets: budgets, Runner: d.runner, Now: now,
		Policy:  balance.Policy{ShardBytes: size.shard, ShardRU: perShard, LogicalBytes: size.logicalKey, Merge: d.cfg.Merge},
		IsOwner: func(ctx context.Context) bool { return d.runner.OwnsLoop(ctx, "balance") },
		Log:     d.log,
	})
	d.shareJobs(cat, definer)
	if err := d.shareBudgets(ctx, cat, budgets, now); err != nil {
		return nil, err
	}
	if err := d.retryStep(ctx, "the counts", func() error { return d.runner.Recover(ctx) }); err != nil {
		return nil, err
	}
	definer.RestoreBudgets()
	if err := d.openFollower(cat); err != nil {
		return nil, err
	}
	handler, err := d.handler(ctx, definer, durability)
	if err != nil {
		return nil, err
	}
	d.commands = handler.Server
	handler.Attach()
	d.followCatalog(ctx, cat, definer, handler.Auth)
	d.startHistory(ctx, handler.Server)
	if err := d.startTracing(ctx, handler.Server); err != nil {
		return nil, err
	}
	d.peerLoop(ctx, d.comparePrices)
	d.loop(ctx, d.cursors.Run)
	d.loop(ctx, d.sessions.Run)
	d.startFollowing(ctx)
	if d.checkReadOnly(ctx) {
		return handler, nil
	}
	return handler, d.startWriting(ctx, definer)
}

// startWriting starts the background work that writes: jobs, the balancer and backups.
func (d *Daemon) startWriting(ctx context.Context, definer *ddl.Definer) error {
	d.runner.Start(ctx)
	if err := d.retryStep(ctx, "what was left unfinished", func() error { return d.dropUnfinished(ctx, definer) }); err != nil {
		return err
	}
	d.loop(ctx, d.balancer.Run)
	if d.backups != nil {
		d.loop(ctx, d.backups.Run)
	}
	return nil
}

// jobFailed logs an error of a background job, which the job's runner retries later. A panic is counted as a defect.
func (d *Daemon) jobFailed(job string, err error) {
	if p := (*mongoerr.Panicked)(nil); errors.As(err, &p) {
		d.defects.Panic("the job "+job, p.Value, p.Stack)
		return
	}
	d.log.Warn().Str("job", job).Err(err).Msg("background work failed and will be tried again")
}

// logRenewal logs the progress of an index that is rebuilt in the background, because its entries have another
// version than this program makes.
func (d *Daemon) logRenewal(x jobs.Renewal) {
	event, text := d.log.Info(), "the index is made again in the background, as its entries are those of another version of cantle; until it is ready no query uses it"
	switch {
	case x.Err != nil:
		event, text = d.log.Error().Err(x.Err), "the index could not be made again and was dropped; mend the documents and create it"
	case x.Done:
		text = "the index is ready again"
	}
	event.Str("collection", x.Namespace).Str("index", x.Index).Int32("from", x.From).Int32("to", x.To).Msg(text)
}

// openCatalog reads the catalog.
func (d *Daemon) openCatalog(ctx context.Context) (cat *catalog.Catalog, err error) {
	err = d.retryStep(ctx, "the catalog", func() error {
		cat, err = catalog.Open(ctx, d.store, d.release)
		return err
	})
	if errors.Is(err, storage.ErrFormat) {
		return nil, cannotOpen(d.cfg.dataLocation(), err)
	}
	if err == nil {
		cat.CountIn(d.shares.catalog)
		d.warnOver("collections, indexes and partitions", d.shares.catalog)
		d.catalog.Store(cat)
	}
	return cat, err
}

// handler makes the handler of clients' commands, with the users and the account's key, which it reads from the
// store. It also makes the first user.
// Errors: invalid settings; storage errors.
func (d *Daemon) handler(ctx context.Context, definer *ddl.Definer, durability storage.Durability) (*rooms.Server, error) {
	var users *auth.Directory
	if err := d.retryStep(ctx, "the users and roles", func() (err error) {
		if users, err = auth.Open(ctx, d.store, d.shares.users); err != nil {
			return fmt.Errorf("reading the users and roles: %w", err)
		}
		if d.cfg.Auth && !d.cfg.readOnly() {
			if err := users.KeepDecoy(ctx); err != nil {
				return fmt.Errorf("keeping the secret of logins: %w", err)
			}
		}
		d.warnOver("the users and roles", d.shares.users)
		return d.makeFirstUser(ctx, users) // if the step is retried, it finds the user that the first try made
	}); err != nil {
		return nil, err
	}
	var account *access.Account
	if d.cfg.CosmosListen != "" {
		if err := d.retryStep(ctx, "the account's key", func() (err error) {
			account, err = access.OpenAccount(ctx, d.store, d.cfg.CosmosName, d.cfg.CosmosKey)
			return err
		}); err != nil {
			return nil, fmt.Errorf("--cosmos-account: %w", err)
		}
		d.key, d.generatedKey = account.Key()
	}
	set, err := command.ParseReplicaSet(d.cfg.ReplicaSet)
	if err != nil {
		return nil, fmt.Errorf("--replica-set: %w", err)
	}
	engine, err := d.cfg.engine()
	if err != nil {
		return nil, err
	}
	return rooms.New(rooms.Config{
		Config: command.Config{
			Engine: engine.name, Transient: engine.location == nowhere,
			Auth: users, RequireAuth: d.cfg.Auth, Release: d.release, Account: d.account, ReplicaSet: set, CosmosMember: d.cfg.CosmosAdvertise, AdvertisedAddress: d.advertised, ReadOnly: d.cfg.ServeDamaged, Follower: d.follower, StepUp: d.promote, Term: d.term, Cluster: d.cluster, DDL: definer,
			Cursors: d.cursors, Sessions: d.sessions, Jobs: d.runner, Log: d.log, Defects: d.defects, Version: Version, Durability: durability,
			ChargeStrongReads: d.cfg.StrongReads, JavaScript: d.cfg.JavaScript, TestCommands: d.cfg.TestCommands,
			WorkMemory: d.shares.queries, WriteMemory: d.shares.writes, Processor: d.processor,
		},
		Access:   access.Config{Account: account, Certificate: d.tls.shown, ClientAuthorities: d.cfg.TLSAuthorities != ""},
		Settings: settings.Config{SetConnRateLimit: d.setConnRateLimit, ReplyCharge: d.cfg.ReplyCharge},
		Shards:   shards.Config{Balance: d.balancer.Enable, Backups: d.backups, Advertised: shards.Advertised{Connections: d.connections, Draining: d.stopping.Load}},
		Status: status.Config{MemoryShares: d.shares.list(), CommandLine: d.cfg.CommandLine, Connections: d.connections, Console: d.ConsoleURL, MetricsPage: d.MetricsURL,
			Recent: d.recent.lines, LogValues: d.cfg.LogValues, Shutdown: d.cfg.Shutdown, Backups: d.backups,
			Profiling: &status.Profiling{Level: int32(d.cfg.Profile), SlowMillis: d.cfg.SlowMS, SampleRate: d.cfg.SlowSampleRate}},
	}), nil
}

// panicPause is the pause after which a background loop that panicked is restarted.
const panicPause = 10 * time.Second

// loop runs a background loop in a goroutine until ctx ends, and restarts the loop panicPause after a panic. Stop
// waits until the loop has ended.
func (d *Daemon) loop(ctx context.Context, run func(context.Context)) {
	d.loops.Go(func() {
		for !d.defects.Guard("background work", func() { run(ctx) }) {
			select {
			case <-time.After(panicPause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// connections returns the server's counts of connections, zeros before it serves.
func (d *Daemon) connections() wire.ConnStats {
	if d.advertisedAddr.Load() == nil {
		return wire.ConnStats{}
	}
	return d.server.Stats()
}

func (d *Daemon) setConnRateLimit(e wire.ConnRateLimit) { d.server.SetConnRateLimit(e) }

// listen opens every address and serves it.
func (d *Daemon) listen(ctx context.Context) error {
	for _, l := range d.cfg.Listeners {
		d.accept(ctx, l, "")
	}
	for _, a := range d.cfg.listens() {
		l, err := d.serve(ctx, "--listen", a, "")
		if err != nil {
			return err
		}
		d.addrs = append(d.addrs, l.Addr())
	}
	d.advertisedAddr.Store(d.address())
	if d.cfg.CosmosListen != "" {
		l, err := d.serve(ctx, "--cosmos-listen", d.cfg.CosmosListen, command.TagCosmos)
		if err != nil {
			return err
		}
		d.cosmos = l.Addr()
		d.writeAccount()
	}
	return nil
}

// serve listens on the address that a flag sets, and accepts clients there.
func (d *Daemon) serve(ctx context.Context, flag, address, tag string) (net.Listener, error) {
	l, err := server.Listen(ctx, address)
	if err != nil {
		return nil, cannotListen(flag, address, err)
	}
	d.accept(ctx, l, tag)
	return l, nil
}

// accept serves a listener in the background, until Stop.
func (d *Daemon) accept(ctx context.Context, l net.Listener, tag string) {
	d.loops.Go(func() {
		if err := d.server.Serve(ctx, l, tag); err != nil {
			select {
			case d.failed <- err:
			default: // the errors of other listeners end the process already
			}
		}
	})
}

// Clock is the clock of budgets, of expiry and of $$NOW, which tests can stop; nil unless test commands are allowed.
func (d *Daemon) Clock() *ratelimit.VirtualClock { return d.cluster.Budgets.Clock }

// Jobs returns the runner of background jobs, so that tests can run a job at once.
func (d *Daemon) Jobs() *jobs.Runner { return d.runner }

// URI returns the connection string of the first address.
func (d *Daemon) URI() string { return d.URIs()[0] }

// URIs returns a connection string for each address of --listen.
func (d *Daemon) URIs() (out []string) {
	options := ""
	if name, _, _ := strings.Cut(d.cfg.ReplicaSet, "/"); name != "" {
		options = "replicaSet=" + name
	}
	for _, a := range d.addrs {
		out = append(out, d.uri(shown(a), options))
	}
	return out
}

// Account returns the account that the Cosmos address offers.
func (d *Daemon) Account() *cosmos.Account { return d.account }

// CosmosURI returns the connection string of the Cosmos address, "" if the server has none. If logins are required,
// the string contains the account's name and key.
func (d *Daemon) CosmosURI() string { return d.cosmosURI(d.cfg.Auth) }

// CosmosReady returns the connection string of the Cosmos address for the line that the program prints when it is
// ready. The string contains the account's key only at the start that generates the key, because the line is kept in
// logs.
func (d *Daemon) CosmosReady() string { return d.cosmosURI(d.cfg.Auth && d.generatedKey) }

// cosmosURI returns the connection string of the Cosmos address, "" if the server has none. withKey adds the
// account's name and key.
func (d *Daemon) cosmosURI(withKey bool) string {
	if d.cosmos == nil {
		return ""
	}
	u := d.uri(cmp.Or(d.cfg.CosmosAdvertise, shown(d.cosmos)), cosmosOptions(d.account))
	if !withKey {
		return u
	}
	// Some drivers decode a + in a password to a space, but all of them decode %2B to a +.
	login := strings.ReplaceAll(url.UserPassword(d.cfg.CosmosName, d.key).String(), "+", "%2B")
	return "mongodb://" + login + "@" + strings.TrimPrefix(u, "mongodb://")
}

// shown returns an address as connection strings have it.
func shown(a net.Addr) string {
	if a.Network() == "unix" {
		return strings.ReplaceAll(a.String(), "/", "%2F")
	}
	return a.String()
}

// uri returns the connection string of an address with the options, and with tls=true if the
// server requires TLS. The connection string of a Unix socket has no options.
func (d *Daemon) uri(host, options string) string {
	if strings.Contains(host, "%2F") {
		return "mongodb://" + host + "/"
	}
	if d.tls.mode == server.TLSRequire {
		options = strings.TrimPrefix(options+"&tls=true", "&")
	}
	if options != "" {
		options = "?" + options
	}
	return "mongodb://" + host + "/" + options
}

// Reload reads the certificate files again; new connections use the new certificates.
// Errors: invalid files; the old certificates then stay in use.
func (d *Daemon) Reload() error {
	err := d.tls.load()
	if err != nil {
		d.log.Error().Err(err).Msg("the certificates were not reloaded; correct the files and send SIGHUP again")
	} else if d.tls.mode != server.TLSDisabled {
		d.log.Info().Msg("certificates reloaded")
	}
	return err
}

// HeapLimit returns the soft limit of Go's heap in bytes, above which the garbage collector works as hard as
// necessary: half of the memory, plus the block cache and the memtables if they lie in the heap (see cacheInHeap).
// The comment of memoryShares describes the memory outside of the heap.
func HeapLimit() int64 {
	total := memoryBytes()
	limit := total / 2
	if cacheInHeap {
		s := newMemoryShares(total, 0)
		limit += s.cache + memtables*s.memtable
	}
	return limit
}

// Defects returns the numbers of panics and of unforeseen errors in this server since its start.
func (d *Daemon) Defects() (panics, unforeseen int64) { return d.defects.Counts() }

// Failed returns the errors of listeners that broke.
func (d *Daemon) Failed() <-chan error { return d.failed }
