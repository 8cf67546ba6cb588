package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// Config holds all settings of a server. A setting comes from a flag, an environment variable (CANTLE_ and the flag's
// name in capitals) or a config file; a flag overrides a variable, which overrides the file. Last come the variables
// of MongoDB's image (loadMongo).
type Config struct {
	Data               string
	Storage            string // name of the engine; "" = defaultEngine
	ServeDamaged       bool
	Follow             string        // place of the backups of the server that this one follows; "" = none
	PromoteAfter       time.Duration // without a sign of the followed server; 0 = only by a command
	New                bool          // begin a new database even if one was lost
	MustExist          bool          // begin no new database
	Memory             bool          // short for Storage "memory"
	Listen             string        // comma-separated addresses; "unix:/path" for a socket
	Advertise          string        // where clients find the server; "" = the first of Listen
	CosmosListen       string
	CosmosAdvertise    string // host:port by which clients reach CosmosListen; "" = the name or address to which they connected
	CosmosVersion      string // server version of the account; "" = cosmos.Newest
	CosmosCapabilities string // of the account, separated by commas
	CosmosLenient      bool   // accept features that the account does not have
	ReplicaSet         string // name or name/host:port
	Compat             string // name of a release of MongoDB; "" = release.Default
	Metrics            string
	OTLPEndpoint       string
	OTLPRatio          float64
	OTLPHeaders        string
	Console            string
	ConsoleWrite       bool
	LogLevel           string
	LogFormat          string
	LogValues          bool // the log may show values of documents
	Profile            int
	SlowMS             int64
	SlowSampleRate     float64
	CacheSize          string
	WorkMemory         string
	Sync               string
	TestCommands       bool
	JavaScript         bool
	ReplyCharge        bool
	ServerRetry        bool
	Burst              bool
	StrongReads        bool
	Prices             string // name of a price list; "" = mongo-2023 if there is a Cosmos address, otherwise normative
	MaxConns           int
	Auth               bool
	CosmosName         string
	CosmosKey          string
	AddressConns       int
	AddressRate        int
	Idle               time.Duration
	Open               bool // listen beyond this machine without Auth
	Drain              time.Duration

	RootName         string // first user, made if there are none
	RootPassword     string
	RootPasswordFile string
	MongoVariables   bool   // read the variables of MongoDB's image, too
	InitFolder       string // scripts of the first start
	InitDatabase     string // of these scripts

	TLSMode         string
	TLSCertificate  string // PEM file: certificates and the key
	TLSAuthorities  string // PEM file: authorities of client certificates
	TLSPassword     string // of the key
	TLSRevoked      string // PEM file: certificates that were revoked
	TLSWithoutCerts bool

	Throughput    int64 // of new collections; 0 = unlimited
	PartitionRU   int64 // 0 = as on Azure Cosmos DB
	PartitionSize string
	LogicalSize   string
	Merge         bool
	MetadataRU    int64
	Partitions    int
	Watchdog      time.Duration // 0 = none
	LogRetention  time.Duration
	LogSize       string

	BackupTo          string
	BackupInterval    time.Duration
	BackupLogInterval time.Duration
	BackupRetention   time.Duration
	BackupLogSize     string
	BackupRate        string

	ConfigFile string
	CheckOnly  bool // check the settings and do not start

	// UntilStdinEnds makes the program stop the server when standard input ends. The program implements it, not this
	// package.
	UntilStdinEnds bool

	// Listeners are open listeners on which the server accepts clients besides the addresses of Listen, which may
	// then be "". Not a setting.
	Listeners []net.Listener

	// CommandLine is the output of getCmdLineOpts. Not a setting.
	CommandLine []string

	// Shutdown is called when a client sends the command shutdown, and must return at once; nil refuses the command.
	// Not a setting.
	Shutdown func()

	// Status, if not nil, is called with a few words when the server loses or regains access to its data, to show the
	// state to the service manager. Not a setting.
	Status func(string)

	// OnOverload, if not nil, is called when long work occupies half of the processor slots or more. It must not
	// block; still reports whether that is still so. See mql.NewCPUSlots. Not a setting.
	OnOverload func(still func() bool)

	// Files, if not nil, changes the options of a store in files: tests replace its file system and its reaction to
	// failures. Not a setting.
	Files func(*pebblekv.Options)

	// Now is the wall clock; nil = time.Now. Not a setting.
	Now func() time.Time

	// Wrap, if not nil, returns a store around the given one; tests inject faults by it. Not a setting.
	Wrap func(storage.Store) storage.Store

	// ConsoleTools are functions of the command line that the console offers as well. Not a setting.
	ConsoleTools console.Tools

	// FirstScripts runs the files of InitFolder, with run for commands. It is called once, before clients are accepted, if
	// the database is new; log receives what each file did. The program implements it. nil runs none. Not a setting.
	FirstScripts func(ctx context.Context, cfg *Config, run console.RunCommand, log func(file, text string)) error

	// Remotes are further engines that the setting Storage can name, in addition to those of every server. Not a
	// setting.
	Remotes []Remote

	// OpenArchive opens the place of backups that the setting BackupTo names by a URL; nil: backups are kept only in
	// folders. A program that embeds the server omits it with the libraries of object stores. Not a setting.
	OpenArchive func(url string) (backup.Archive, error)

	// followAnew makes the copy of the followed server again, as RestartConfig requests it. Not a setting.
	followAnew bool

	// engines replaces the table of engines in tests; nil = the table. Not a setting.
	engines []engine
}

// clock returns the wall clock.
func (c *Config) clock() func() time.Time {
	if c.Now != nil {
		return c.Now
	}
	return time.Now
}

// check reports numbers that make no sense.
func (c *Config) check() error {
	var faults []error
	for _, n := range []struct {
		name  string
		value int64
		least int64
	}{
		{"partitions", int64(c.Partitions), 1}, {"max-connections", int64(c.MaxConns), 0},
		{"max-connections-per-address", int64(c.AddressConns), 0}, {"connection-rate", int64(c.AddressRate), -1},
		{"default-throughput", c.Throughput, 0}, {"partition-ru", c.PartitionRU, 0}, {"metadata-ru", c.MetadataRU, 0},
		{"profile", int64(c.Profile), 0}, {"slowms", c.SlowMS, 0}, {"drain", int64(c.Drain), 0}, {"idle-timeout", int64(c.Idle), 0}, {"log-retention", int64(c.LogRetention), 0},
	} {
		if n.value < n.least {
			faults = append(faults, fmt.Errorf("--%s is at least %d", n.name, n.least))
		}
	}
	if c.New && c.MustExist {
		faults = append(faults, errors.New("--new begins a new database and --must-exist begins none; give one of them"))
	}
	faults = append(faults, c.checkFollow())
	if c.Profile > 2 {
		faults = append(faults, errors.New("--profile is 0, 1 or 2"))
	}
	if !(c.SlowSampleRate >= 0 && c.SlowSampleRate <= 1) {
		faults = append(faults, errors.New("--slow-sample-rate is from 0 to 1"))
	}
	return errors.Join(faults...)
}

// remoteRate is the number of connections per second that each address of another machine may open, unless
// --connection-rate is given. It is more than the pools of many applications need at once, and too few to slow other
// clients down.
const remoteRate = 1000

// connectionRates returns how many connections a single address may open per second: all is the limit of each address,
// remote the limit of each address of another machine if all is 0; 0 = no limit.
func (c *Config) connectionRates() (all, remote int) {
	if c.AddressRate < 0 {
		return 0, remoteRate
	}
	return c.AddressRate, 0
}

// release returns the release of MongoDB that the server shows to clients.
// Errors: an unknown release.
func (c *Config) release() (release.Release, error) {
	if c.Compat == "" {
		return release.Default, nil
	}
	r, err := release.Parse(c.Compat)
	if err != nil {
		return r, fmt.Errorf("--compat: %w", err)
	}
	return r, nil
}

// diskSizes holds the settings of sizes on disk, in bytes.
type diskSizes struct{ shard, logicalKey, log, kept int64 }

// diskSizes reads the settings that are sizes on disk: the maximum sizes of a partition, of a shard key value, of the
// change log, and of the log kept for backups.
// Errors: a text that is not a size.
func (c *Config) diskSizes() (d diskSizes, err error) {
	for _, size := range []struct {
		flag, text string
		to         *int64
	}{
		{"partition-size", c.PartitionSize, &d.shard},
		{"logical-partition-size", c.LogicalSize, &d.logicalKey},
		{"log-size", c.LogSize, &d.log},
		{"backup-log-size", c.BackupLogSize, &d.kept},
	} {
		if *size.to, err = parseSize(size.text); err != nil {
			return d, fmt.Errorf("--%s: %w", size.flag, err)
		}
	}
	return d, nil
}

// parseSize reads "512MB", "50GB" or plain bytes.
func parseSize(s string) (int64, error) {
	text := strings.ToUpper(strings.TrimSpace(s))
	unit := int64(1)
	for _, u := range []struct {
		suffix string
		n      int64
	}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}, {"B", 1}} {
		if strings.HasSuffix(text, u.suffix) {
			text, unit = strings.TrimSpace(strings.TrimSuffix(text, u.suffix)), u.n
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is not a size such as 512MB", s)
	}
	return n * unit, nil
}

// parseSync reads the durability setting; every is 0 for "always".
func parseSync(s string) (every time.Duration, err error) {
	if s == "always" {
		return 0, nil
	}
	ms, ok := strings.CutPrefix(s, "interval:")
	n, err := strconv.Atoi(ms)
	if !ok || err != nil || n < 1 || n > 60_000 {
		return 0, fmt.Errorf("--sync=%s: expected always or interval:<milliseconds>, 1 to 60000", s)
	}
	return time.Duration(n) * time.Millisecond, nil
}
