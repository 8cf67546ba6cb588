package daemon

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Config is everything that can be set about a server. Flags, environment
// variables (CANTLE_ and the flag's name in capitals) and a config file name the
// same settings; a flag beats a variable, which beats the file.
type Config struct {
	Data         string
	Memory       bool
	Listen       string // comma-separated addresses; "unix:/path" for a socket
	CosmosListen string
	ReplicaSet   string // name or name/host:port
	Metrics      string
	LogLevel     string
	LogFormat    string
	CacheSize    string
	Sync         string
	TestCommands bool
	JavaScript   bool
	ReplyCharge  bool
	ServerRetry  bool
	Burst        bool
	StrongReads  bool
	MaxConns     int
	Auth         bool
	CosmosName   string
	CosmosKey    string
	AddressConns int
	AddressRate  int
	Idle         time.Duration
	Open         bool // listen beyond this machine without Auth
	Drain        time.Duration

	TLSMode         string
	TLSCertificate  string // PEM file: certificates and the key
	TLSAuthorities  string // PEM file: who may vouch for clients
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
	LogRetention  time.Duration
	LogSize       string

	ConfigFile string

	// Crowded, if not nil, is told that long work takes many of the processors; see
	// mql.NewProcessor. Not a setting.
	Crowded func(still func() bool)
}

// Flags defines the settings on a flag set.
func (c *Config) Flags(f *flag.FlagSet) {
	f.StringVar(&c.Data, "data", "./cantle-data", "`folder` that holds the database; made when it is missing")
	f.BoolVar(&c.Memory, "memory", false, "keep everything in memory: nothing is written to disk, all is gone at the end (for test suites)")
	f.StringVar(&c.Listen, "listen", "127.0.0.1:27017", "`address` for MongoDB clients, host:port or unix:/path; port 0 picks a free one; several are separated by commas")
	f.StringVar(&c.CosmosListen, "cosmos-listen", "", "`address` that looks like Azure Cosmos DB for MongoDB (replica set globaldb, strict rules), such as 127.0.0.1:10255; off unless given")
	f.StringVar(&c.ReplicaSet, "replica-set", "", "`name` of a replica set: --listen then looks like the primary of a set with one member (replicaSet=name) instead of a mongos; name/host:port also says where clients reach it, which is otherwise where they have reached it")
	f.StringVar(&c.Metrics, "metrics-listen", "", "`address` that answers Prometheus over HTTP at /metrics, such as 127.0.0.1:9216; off unless given")
	f.StringVar(&c.LogLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&c.LogFormat, "log-format", "console", "console for people, json for machines")
	f.StringVar(&c.CacheSize, "cache-size", "", "block cache, such as 512MB; a quarter of the memory unless given")
	f.StringVar(&c.Sync, "sync", "always", "always: an acknowledged write survives a power cut; interval:<ms>: at most so many milliseconds of writes are lost")
	f.Int64Var(&c.Throughput, "default-throughput", 0, "`RU/s` of new collections that do not name theirs; 0 meters without limiting")
	f.Int64Var(&c.PartitionRU, "partition-ru", 0, "most `RU/s` of one partition: a collection gets as many partitions as its RU/s need. 0 is as on Azure Cosmos DB: 10000, of which manual throughput begins with 6000")
	f.StringVar(&c.PartitionSize, "partition-size", "50GB", "`size` at which a partition splits in two; set 1MB to watch it on a laptop")
	f.StringVar(&c.LogicalSize, "logical-partition-size", "20GB", "most bytes of one shard key value, and of a collection without a shard key, where throughput is provisioned; writes beyond are refused")
	f.Int64Var(&c.MetadataRU, "metadata-ru", 0, "`RU/s` for commands about the catalog (create, drop, list and their like), 1 RU each, over all clients; 240 is what an account of Azure Cosmos DB has, 0 does not limit")
	f.BoolVar(&c.Merge, "merge-partitions", false, "merge neighbouring partitions that are small and cold, as far as the RU/s allow")
	f.IntVar(&c.Partitions, "partitions", 1, "`number` of partitions of a sharded collection that names neither RU/s nor numInitialChunks")
	f.DurationVar(&c.LogRetention, "log-retention", 24*time.Hour, "how long change streams can go back")
	f.StringVar(&c.LogSize, "log-size", "50GB", "how much of the change log is kept, however young: change streams that are further behind end with ChangeStreamHistoryLost")
	f.BoolVar(&c.JavaScript, "javascript", true, "allow $where, $function, $accumulator and mapReduce")
	f.BoolVar(&c.ReplyCharge, "reply-charge", false, "add requestCharge to every reply, not only on the Cosmos address; the parameter replyCharge switches it while the server runs")
	f.BoolVar(&c.ServerRetry, "server-side-retry", false, "let throttled requests wait for request units, at most 60 s, instead of refusing them; a collection may say otherwise with UpdateCollection")
	f.BoolVar(&c.Burst, "burst-capacity", false, "let partitions save up to 300 s of idle RU/s and spend them at up to 3000 RU/s; a collection may say otherwise")
	f.BoolVar(&c.StrongReads, "charge-strong-reads", false, "charge reads with read concern majority, linearizable or snapshot twice, as an account with strong or bounded staleness consistency does")
	f.BoolVar(&c.TestCommands, "enable-test-commands", false, "allow commands for tests: configureFailPoint, and the custom actions InjectThrottle (refuse the fifth write) and Clock (stop and advance time); documents lie on the same partitions in every run")
	f.BoolVar(&c.Auth, "auth", false, "require users to log in, and check what they may do; the first user can be made from this machine without one")
	f.StringVar(&c.CosmosName, "cosmos-account", "cantle", "account `name`, which logs in as a user on the Cosmos address")
	f.StringVar(&c.CosmosKey, "cosmos-key", "", "account `key`, its password; one is made and kept unless given")
	f.IntVar(&c.MaxConns, "max-connections", 65536, "connections beyond this `number` are closed at once")
	f.IntVar(&c.AddressConns, "max-connections-per-address", 0, "connections of one address beyond this `number` are closed at once; 0 is no bound")
	f.IntVar(&c.AddressRate, "connection-rate", 0, "how many connections one address may open per `second`, with twice as many at once; 0 is no bound")
	f.DurationVar(&c.Idle, "idle-timeout", 0, "close connections that are silent for so long; 0 never does. Before a first message it is a minute, before a login (--auth) five")
	f.BoolVar(&c.Open, "allow-open", false, "listen on addresses that other machines reach although --auth is not given: whoever reaches them may read and change everything; and show the metrics there, which ask for no login")
	f.StringVar(&c.TLSMode, "tls-mode", "disabled", "disabled, allowTLS or preferTLS (encrypt if the client does), requireTLS (refuse clients that do not)")
	f.StringVar(&c.TLSCertificate, "tls-certificate-key-file", "", "PEM `file` with the server's certificate, those that vouch for it, and its key; \"cantle cert\" makes one for development. Read again on SIGHUP")
	f.StringVar(&c.TLSPassword, "tls-certificate-key-file-password", "", "`password` of the key in that file, if it is encrypted; other users of this machine see a flag, so prefer the variable or the file of settings")
	f.StringVar(&c.TLSRevoked, "tls-crl-file", "", "PEM `file` with lists of revoked certificates, signed by authorities of --tls-ca-file: clients with one of them are refused. Read again on SIGHUP")
	f.StringVar(&c.TLSAuthorities, "tls-ca-file", "", "PEM `file` with the authorities that vouch for clients: clients must then show a certificate, which may also be their login (MONGODB-X509)")
	f.BoolVar(&c.TLSWithoutCerts, "tls-allow-connections-without-certificates", false, "with --tls-ca-file, take clients without a certificate too")
	f.DurationVar(&c.Drain, "drain", 15*time.Second, "how long running commands may take to finish after SIGTERM")
	f.StringVar(&c.ConfigFile, "config", "", "`file` of settings, one \"name: value\" per line, named as these flags")
}

// Load fills in what the command line leaves open from the environment and the
// config file. env looks a variable up; nil means the process's.
func Load(f *flag.FlagSet, env func(string) (string, bool)) error {
	if env == nil {
		env = os.LookupEnv
	}
	given := map[string]bool{}
	f.Visit(func(x *flag.Flag) { given[x.Name] = true })
	var errs []error
	f.VisitAll(func(x *flag.Flag) {
		name := "CANTLE_" + strings.ToUpper(strings.ReplaceAll(x.Name, "-", "_"))
		if v, ok := env(name); ok && !given[x.Name] {
			given[x.Name] = true
			if err := f.Set(x.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
			}
		}
	})
	if file := f.Lookup("config").Value.String(); file != "" {
		r, err := os.Open(file)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := loadFile(f, file, r, given); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// loadFile reads "name: value" lines; # begins a comment.
func loadFile(f *flag.FlagSet, file string, r io.Reader, given map[string]bool) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`)
		if !ok || f.Lookup(name) == nil || name == "config" {
			return fmt.Errorf("%s:%d: expected \"name: value\" with the name of a flag, found %q", file, i+1, line)
		}
		if given[name] {
			continue
		}
		if err := f.Set(name, value); err != nil {
			return fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return nil
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
