package daemon

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/serve/flags"
)

// topics are the groups of settings, in the order of the help.
var topics = []struct {
	title  string
	define func(c *Config, f *pflag.FlagSet)
}{
	{"Addresses", (*Config).addressesFlags},
	{"Storage", (*Config).storageFlags},
	{"Partitions and request units", (*Config).throughputFlags},
	{"Who may do what", (*Config).securityFlags},
	{"Connections", (*Config).limitsFlags},
	{"This program", (*Config).programFlags},
}

// Flags defines the settings on a flag set.
func (c *Config) Flags(f *pflag.FlagSet) {
	for _, t := range topics {
		t.define(c, f)
	}
}

// Command returns the description of "cantle serve" for the help, in a program that has these
// engines.
func Command(remotes ...Remote) flags.Command {
	c := flags.Command{Name: "serve", Summary: "start a server", Help: `Starts a server and prints its connection string. Every flag can also be set as an
environment variable (CANTLE_DATA for --data) or in a file (--config); the flag wins, then
the variable. Ctrl-C or SIGTERM ends the server when running commands are done.
`}
	for _, t := range topics {
		f := flags.New("")
		t.define(&Config{Remotes: remotes}, f)
		c.Groups = append(c.Groups, flags.Group{Title: t.title, Flags: f})
	}
	return c
}

func (c *Config) addressesFlags(f *pflag.FlagSet) {
	f.StringVar(&c.Listen, "listen", "127.0.0.1:27017", "`address` for MongoDB clients, host:port or unix:/path; port 0 picks a free one; several are separated by commas")
	f.StringVar(&c.Advertise, "advertise", "", "`address` where clients reach this server, host:port, as config.mongos and cantle gateways show it where several servers share a TiKV cluster; the first of --listen unless given, with the name of this machine for all its addresses")
	f.StringVar(&c.CosmosListen, "cosmos-listen", "", "`address` that looks like Azure Cosmos DB for MongoDB (replica set globaldb, strict rules), such as 127.0.0.1:10255; off unless given")
	f.StringVar(&c.CosmosAdvertise, "cosmos-advertise", "", "`host:port` by which clients reach --cosmos-listen, if that is a forwarded port; it is otherwise the name that they ask for in the TLS handshake, or the address they have reached, with the port that is listened on")
	f.StringVar(&c.CosmosVersion, "cosmos-version", cosmos.Newest.String(), "server `version` of the account: "+strings.Join(cosmos.VersionNames(), ", ")+". Features that the version does not have are refused")
	flags.Choose(f, "cosmos-version", cosmos.VersionNames()...)
	f.StringVar(&c.CosmosCapabilities, "cosmos-capabilities", "", "`names` of capabilities of the account, separated by commas, of "+(^cosmos.Capabilities(0)).String())
	f.BoolVar(&c.CosmosLenient, "cosmos-lenient", false, "accept at the Cosmos address what the account does not have, and count it: cantle report lists it")
	f.StringVar(&c.CosmosName, "cosmos-account", "cantle", "account `name`, which logs in as a user on the Cosmos address")
	f.StringVar(&c.CosmosKey, "cosmos-key", "", "account `key`, its password; one is made and kept unless given")
	f.StringVar(&c.ReplicaSet, "replica-set", "", "`name` of a replica set: --listen then looks like the primary of a set with one member (replicaSet=name) instead of a mongos; name/host:port also says where clients reach it, which is otherwise where they have reached it")
	f.StringVar(&c.Compat, "compat", release.Default.String(), "`release` of MongoDB that --listen shows itself as, in its version and where releases answer differently: "+release.Names()+". --cosmos-listen follows --cosmos-version")
	f.StringVar(&c.Console, "console-listen", "", "`address` that answers browsers: a page that shows partitions, their heat and what requests cost, and its JSON API, such as 127.0.0.1:8080; off unless given. Beyond this machine it wants --auth and --tls-mode")
	f.BoolVar(&c.ConsoleWrite, "console-write", false, "let the console change documents too, as far as the user's roles allow")
	f.StringVar(&c.OTLPEndpoint, "otlp-endpoint", "", "`address` of a collector of OpenTelemetry that gets a span for each command (OTLP over HTTP), such as http://127.0.0.1:4318; off unless given")
	f.Float64Var(&c.OTLPRatio, "otlp-ratio", 1, "`part` of the commands that get a span, from 0 to 1; a command whose comment has a trace context does as that says")
	f.StringVar(&c.OTLPHeaders, "otlp-headers", "", "`headers` that the collector is sent, name=value, several separated by commas")
	f.StringVar(&c.Metrics, "metrics-listen", "", "`address` that answers Prometheus over HTTP at /metrics, such as 127.0.0.1:9216; off unless given")
}

func (c *Config) storageFlags(f *pflag.FlagSet) {
	f.StringVar(&c.Data, "data", "./cantle-data", "`folder` that holds the database. A new, empty one is made where the folder is missing or empty, with a warning in the log")
	f.BoolVar(&c.New, "new", false, "begin a new, empty database where the folder of --data has had one and has it no longer, or has one that is half restored, which is refused otherwise. One that is there is opened as ever")
	f.BoolVar(&c.MustExist, "must-exist", false, "refuse to start where the folder of --data has no database: give it after the first start, and a disk that is not mounted is an error and not a new, empty database")
	f.StringVar(&c.Storage, "storage", "", engineHelp(c.allEngines()))
	flags.Choose(f, "storage", engineNames(c.allEngines())...)
	f.BoolVar(&c.Memory, "memory", false, "short for --storage memory: nothing is written to disk, all is gone at the end (for test suites)")
	f.BoolVar(&c.ServeDamaged, "serve-damaged", false, "serve what can be read of damaged data, and refuse all writes; nothing in the folder of the database is changed. \"cantle check\" lists the damage, \"cantle salvage\" saves the rest")
	f.StringVar(&c.Sync, "sync", "always", "`when` writes are forced to disk. always: an acknowledged write survives a power cut; interval:<ms>: at most so many milliseconds of writes are lost")
	f.DurationVar(&c.Watchdog, "watchdog", 0, "how long a write or a sync of the data folder may take, at least 10s, before the process ends with status 61, as mongod's watchdogPeriodSeconds has it, so that a supervisor can act; 0 waits for ever")
	f.StringVar(&c.CacheSize, "cache-size", "", "`size` of the caches of what is read, such as 512MB; an eighth of the memory unless given, at most 1GB. The memory is the machine's, or less if a container, ulimit -v or GOMEMLIMIT says so")
	f.StringVar(&c.WorkMemory, "work-memory", "", "`size` of what clients can make the server hold at once, such as 1GB: sorts, groups and joins (which spill to disk beyond, or fail), values of expressions, large messages, replies, uncommitted writes; a quarter of the memory unless given, at least 32MB")
	f.DurationVar(&c.LogRetention, "log-retention", 24*time.Hour, "how long change streams can go back")
	f.StringVar(&c.BackupTo, "backup-to", "", "`folder` into which backups are made by themselves, better on another disk: the files every --backup-interval, of which only what is new is copied, and every minute what was written since. Moments of the last --backup-retention can be restored: \"cantle restore --from\"")
	f.DurationVar(&c.BackupInterval, "backup-interval", 4*time.Hour, "how often --backup-to copies files; what is longer takes less room, and more time to restore. 0: only when \"cantle backup\" asks for it")
	f.DurationVar(&c.BackupRetention, "backup-retention", 7*24*time.Hour, "how far back moments can be restored; what none of them needs is deleted. 0 deletes nothing")
	f.StringVar(&c.BackupRate, "backup-rate", "64MB", "`size` of what a backup copies in a second at most, so that it leaves the disk to others too; 0 copies as fast as it goes")
	f.StringVar(&c.BackupLogSize, "backup-log-size", "8GB", "`size` of what is kept in the data folder of what was written since the last backup, at most two days of it, so that the next one covers all moments in between. Without --backup-to nothing is")
	f.StringVar(&c.LogSize, "log-size", "50GB", "`size` of the change log that is kept, however young it is and by however many lives of the server it was written (its records before they are packed): change streams that are further behind end with ChangeStreamHistoryLost")
}

func (c *Config) throughputFlags(f *pflag.FlagSet) {
	f.Int64Var(&c.Throughput, "default-throughput", 0, "`RU/s` of new collections that do not name theirs; 0 meters without limiting")
	f.IntVar(&c.Partitions, "partitions", 1, "`number` of partitions of a sharded collection that names neither RU/s nor numInitialChunks")
	f.Int64Var(&c.PartitionRU, "partition-ru", 0, "most `RU/s` of one partition: a collection gets as many partitions as its RU/s need. 0 is as on Azure Cosmos DB: 10000, of which manual throughput begins with 6000")
	f.StringVar(&c.PartitionSize, "partition-size", "50GB", "`size` at which a partition splits in two; set 1MB to watch it on a laptop")
	f.StringVar(&c.LogicalSize, "logical-partition-size", "20GB", "most `bytes` of one shard key value, and of a collection without a shard key, where throughput is provisioned; writes beyond are refused")
	f.BoolVar(&c.Merge, "merge-partitions", false, "merge neighbouring partitions that are small and cold, as far as the RU/s allow")
	f.Int64Var(&c.MetadataRU, "metadata-ru", 0, "`RU/s` for commands about the catalog (create, drop, list and their like), 1 RU each, over all clients; 240 is what an account of Azure Cosmos DB has, 0 does not limit")
	f.BoolVar(&c.ServerRetry, "server-side-retry", false, "let throttled requests wait for request units, at most 60 s, instead of refusing them; a collection may say otherwise with UpdateCollection")
	f.BoolVar(&c.Burst, "burst-capacity", false, "let partitions save up to 300 s of idle RU/s and spend them at up to 3000 RU/s; a collection may say otherwise")
	f.StringVar(&c.Prices, "prices", "", "`name` of the price list that requests are charged by, at all addresses: "+strings.Join(ratelimit.PriceListNames(), ", ")+". Unless given it is "+ratelimit.Mongo2023().Name+", what accounts of Azure Cosmos DB for MongoDB were seen to charge, with --cosmos-listen and "+ratelimit.Normative().Name+" without")
	flags.Choose(f, "prices", ratelimit.PriceListNames()...)
	f.BoolVar(&c.StrongReads, "charge-strong-reads", false, "charge reads with read concern majority, linearizable or snapshot twice, as an account with strong or bounded staleness consistency does")
	f.BoolVar(&c.ReplyCharge, "reply-charge", false, "add requestCharge to every reply, not only on the Cosmos address; the parameter replyCharge switches it while the server runs")
}

func (c *Config) securityFlags(f *pflag.FlagSet) {
	f.BoolVar(&c.Auth, "auth", false, "require users to log in, and check what they may do; the first user can be made from this machine without one")
	f.StringVar(&c.RootName, "initdb-root-username", "", "`name` of a user with the role root, made in admin when the server starts and there is no user yet; it turns on --auth")
	f.StringVar(&c.RootPassword, "initdb-root-password", "", "`password` of that user; other users of this machine see a flag, so prefer the variable, the file of settings or the next flag")
	f.StringVar(&c.RootPasswordFile, "initdb-root-password-file", "", "`file` with the password of that user, such as a secret of a container")
	f.BoolVar(&c.MongoVariables, "mongo-variables", false, "take MONGO_INITDB_ROOT_USERNAME and MONGO_INITDB_ROOT_PASSWORD (or their names with _FILE) for the settings above, as containers of MongoDB's image do; containers of cantle's image do so by themselves")
	f.BoolVar(&c.Open, "allow-open", false, "listen on addresses that other machines reach although --auth is not given: whoever reaches them may read and change everything; and show the metrics there, which ask for no login")
	f.BoolVar(&c.JavaScript, "javascript", true, "allow $where, $function, $accumulator and mapReduce")
	f.StringVar(&c.TLSMode, "tls-mode", "disabled", "`mode` of encryption: disabled, allowTLS or preferTLS (encrypt if the client does), requireTLS (refuse clients that do not)")
	flags.Choose(f, "tls-mode", "disabled", "allowTLS", "preferTLS", "requireTLS")
	f.StringVar(&c.TLSCertificate, "tls-certificate-key-file", "", "PEM `file` with the server's certificate, those that vouch for it, and its key; \"cantle cert\" makes one for development. Read again on SIGHUP")
	f.StringVar(&c.TLSPassword, "tls-certificate-key-file-password", "", "`password` of the key in that file, if it is encrypted; other users of this machine see a flag, so prefer the variable or the file of settings")
	f.StringVar(&c.TLSAuthorities, "tls-ca-file", "", "PEM `file` with the authorities that vouch for clients: clients must then show a certificate, which may also be their login (MONGODB-X509)")
	f.BoolVar(&c.TLSWithoutCerts, "tls-allow-connections-without-certificates", false, "with --tls-ca-file, take clients without a certificate too")
	f.StringVar(&c.TLSRevoked, "tls-crl-file", "", "PEM `file` with lists of revoked certificates, signed by authorities of --tls-ca-file: clients with one of them are refused. Read again on SIGHUP")
}

func (c *Config) limitsFlags(f *pflag.FlagSet) {
	f.IntVar(&c.MaxConns, "max-connections", 0, "connections beyond this `number` are closed at once; 0 is 65536, or one for each 128KB of a smaller memory")
	f.IntVar(&c.AddressConns, "max-connections-per-address", 0, "connections of one address beyond this `number` are closed at once; 0 is no bound")
	f.IntVar(&c.AddressRate, "connection-rate", -1, "`number` of connections one address may open per second, with twice as many at once; 0 is no bound, -1 is 1000 for addresses of other machines and no bound for this one's")
	f.DurationVar(&c.Idle, "idle-timeout", 0, "close connections that are silent for so long; 0 never does. Before a first message it is a minute, before a login (--auth) five")
	f.DurationVar(&c.Drain, "drain", 15*time.Second, "how long running commands may take to finish after SIGTERM, and clients to go to other servers if there are any")
}

func (c *Config) programFlags(f *pflag.FlagSet) {
	f.StringVar(&c.ConfigFile, "config", "", "`file` of settings, one \"name: value\" per line, named as these flags")
	f.BoolVar(&c.CheckOnly, "check-config", false, "do not start: look at flags, variables, the file of settings and the files that these name, and say what is wrong, with its line; exit status 0 if nothing is")
	f.BoolVar(&c.UntilStdinEnds, "until-stdin-ends", false, "end when standard input does. A program that starts a server gives it a pipe, which the system closes when the program ends, however that comes about: the server never outlives it")
	f.StringVar(&c.LogLevel, "log-level", "info", "`level` from which on messages are logged: debug, info, warn or error")
	f.StringVar(&c.LogFormat, "log-format", "console", "`format` of the log: console for people, json for machines")
	f.IntVar(&c.Profile, "profile", 0, "`level` of the profiler of each database for which the command profile has set none since the start: 0 records nothing, 1 slow commands, 2 all, in system.profile")
	f.Int64Var(&c.SlowMS, "slowms", 100, "commands that take so many `milliseconds` or more are slow: they are logged, and recorded at level 1")
	f.Float64Var(&c.SlowSampleRate, "slow-sample-rate", 1, "`part` of the slow commands that are logged and recorded, from 0 to 1")
	flags.Choose(f, "log-level", "debug", "info", "warn", "error")
	flags.Choose(f, "log-format", "console", "json")
	f.BoolVar(&c.TestCommands, "enable-test-commands", false, "allow commands for tests: configureFailPoint, and the custom actions InjectThrottle (refuse the fifth write) and Clock (stop and advance time); documents lie on the same partitions in every run")
}
