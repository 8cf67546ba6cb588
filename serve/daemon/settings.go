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

// topics are the groups of settings, in the order in which the help of cantle serve shows them.
var topics = []struct {
	title  string
	define func(c *Config, f *pflag.FlagSet)
}{
	{"Addresses", (*Config).addressesFlags},
	{"Storage", (*Config).storageFlags},
	{"Partitions and request units", (*Config).throughputFlags},
	{"Security", (*Config).securityFlags},
	{"Connections", (*Config).limitsFlags},
	{"Process and log", (*Config).programFlags},
}

// Help is the help text of "cantle serve", without the flags.
const Help = `Starts a server and prints its connection string. Every flag can also be set by an
environment variable (CANTLE_DATA for --data) or in a file (--config); flags override
variables, which override the file. On Ctrl-C or SIGTERM the server finishes running
commands and then exits.
`

// Flags defines the settings on a flag set.
func (c *Config) Flags(f *pflag.FlagSet) {
	for _, t := range topics {
		t.define(c, f)
		flags.Group(f, t.title)
	}
}

func (c *Config) addressesFlags(f *pflag.FlagSet) {
	var offered []string
	f.StringVar(&c.Listen, "listen", "127.0.0.1:27017", "`address` for MongoDB clients, host:port or unix:/path, or several separated by commas; port 0 picks a free port")
	f.StringVar(&c.Advertise, "advertise", "", "`address` at which clients reach this server, host:port. config.mongos and cantle gateways show it if several servers share a TiKV cluster. The default is the first address of --listen, with this machine's name in place of 0.0.0.0")
	f.StringVar(&c.CosmosListen, "cosmos-listen", "", "`address` that behaves like Azure Cosmos DB for MongoDB (replica set globaldb, strict rules), such as 127.0.0.1:10255; off by default")
	f.StringVar(&c.CosmosAdvertise, "cosmos-advertise", "", "`host:port` at which clients reach --cosmos-listen, if its port is forwarded. The default is the host name of the client's TLS handshake, or else the address of the connection, with the port of --cosmos-listen")
	f.StringVar(&c.CosmosVersion, "cosmos-version", cosmos.Newest.String(), "server `version` of the account: "+strings.Join(cosmos.VersionNames(), ", ")+". Features that this version does not have are refused")
	flags.Choose(f, "cosmos-version", cosmos.VersionNames()...)
	f.StringVar(&c.CosmosCapabilities, "cosmos-capabilities", "", "`names` of the account's capabilities, separated by commas, from "+(^cosmos.Capabilities(0)).String())
	f.BoolVar(&c.CosmosLenient, "cosmos-lenient", false, "accept features at the Cosmos address that the account does not have, and count their uses; cantle report lists them")
	f.StringVar(&c.CosmosName, "cosmos-account", "cantle", "account `name`, which is the user name at the Cosmos address")
	f.StringVar(&c.CosmosKey, "cosmos-key", "", "account `key`, which is the password at the Cosmos address; by default a random key is generated and stored")
	f.StringVar(&c.ReplicaSet, "replica-set", "", "`name` of a replica set: --listen then behaves like the primary of a replica set with one member (replicaSet=name) instead of like a mongos. name/host:port also sets the address that clients are given; the default is the address of their connection. name/host:port,host:port names the other members as well: servers that follow this one, or that this one follows")
	f.StringVar(&c.Compat, "compat", release.Default.String(), "`release` of MongoDB that --listen emulates, in its version and where releases differ in their answers: "+release.Names()+". --cosmos-listen follows --cosmos-version")
	for _, r := range release.Offered() {
		offered = append(offered, r.String())
	}
	flags.Choose(f, "compat", offered...)
	f.StringVar(&c.Console, "console-listen", "", "`address` of the browser console, which shows partitions, their heat and the cost of requests, of its JSON API, and of this version's documentation (/docs/), such as 127.0.0.1:8080; off by default. An address that other machines reach requires --auth and --tls-mode")
	f.BoolVar(&c.ConsoleWrite, "console-write", false, "let the console also change documents, if the user's roles allow it")
	f.StringVar(&c.OTLPEndpoint, "otlp-endpoint", "", "`address` of an OpenTelemetry collector that receives a span for each command (OTLP over HTTP), such as http://127.0.0.1:4318; off by default")
	f.Float64Var(&c.OTLPRatio, "otlp-ratio", 1, "`fraction` of the commands that get a span, from 0 to 1; the trace context in the comment of a command takes precedence")
	f.StringVar(&c.OTLPHeaders, "otlp-headers", "", "`headers` to send to the collector, name=value, several separated by commas")
	f.StringVar(&c.Metrics, "metrics-listen", "", "`address` of the metrics for Prometheus, over HTTP at /metrics, such as 127.0.0.1:9216; off by default. With --tls-mode it uses TLS. An address that other machines reach requires --auth and --tls-mode, and then the login of a user with the role clusterMonitor; or --allow-open")
}

func (c *Config) storageFlags(f *pflag.FlagSet) {
	f.StringVar(&c.Data, "data", "./cantle-data", "`folder` of the database. If it is missing or empty, a new, empty database is created, with a warning in the log")
	f.BoolVar(&c.New, "new", false, "create a new, empty database even if the database in the --data folder was lost or only partly restored, which is an error otherwise. An existing database is opened as usual")
	f.BoolVar(&c.MustExist, "must-exist", false, "refuse to start if the --data folder has no database. Set this after the first start: an unmounted disk is then an error and does not lead to a new, empty database")
	f.StringVar(&c.Storage, "storage", "", engineHelp(c.allEngines()))
	flags.Choose(f, "storage", engineNames(c.allEngines())...)
	f.BoolVar(&c.Memory, "memory", false, "short for --storage memory: nothing is written to disk, and all data is lost when the server stops (for test suites)")
	f.BoolVar(&c.ServeDamaged, "serve-damaged", false, "open a damaged database read-only: serve all data that can still be read, and refuse all writes; nothing in the folder is changed. \"cantle check\" lists the damage, \"cantle salvage\" extracts the readable data")
	f.StringVar(&c.Follow, "follow", "", "`place` of the backups of another server, its --backup-to: a folder or s3://bucket/path. This server then has a copy of that server's data in --data, applies its writes as they come there, serves reads as a secondary of --replica-set, and refuses writes. \"cantle follow\" is short for it")
	f.DurationVar(&c.PromoteAfter, "promote-after", 0, "with --follow s3://…: become the primary when the followed server has not renewed its lease there for this long, at least 30s. 0: only by \"cantle promote\"")
	f.StringVar(&c.Sync, "sync", "always", "`when` writes are synced to disk. always: an acknowledged write survives a power failure; interval:<ms>: a power failure loses at most that many milliseconds of writes")
	flags.Choose(f, "sync", "always", "interval:100") // completion offers an example of an interval
	f.DurationVar(&c.Watchdog, "watchdog", 0, "longest time that a write or sync of the data folder may take, at least 10s, before the process exits with status 61 so that a supervisor can act, like mongod's watchdogPeriodSeconds; 0 waits forever")
	f.StringVar(&c.CacheSize, "cache-size", "", "`size` of the read caches, such as 512MB; the default is an eighth of the memory, at most 1GB. The memory is that of the machine, or the limit of a container, ulimit -v or GOMEMLIMIT if that is lower")
	f.StringVar(&c.WorkMemory, "work-memory", "", "`size` of the memory for the work of clients, such as 1GB: sorts, groups and joins (which spill to disk beyond it, or fail), values of expressions, large messages, replies, uncommitted writes; the default is a quarter of the memory; at least 32MB")
	f.DurationVar(&c.LogRetention, "log-retention", 24*time.Hour, "how far back change streams can resume")
	f.StringVar(&c.BackupTo, "backup-to", "", "`folder` for automatic backups, preferably on another disk, or s3://bucket/path: new files are copied every --backup-interval, and the log of writes every --backup-log-interval. Every moment of the last --backup-retention can be restored: \"cantle restore --from\"")
	f.DurationVar(&c.BackupInterval, "backup-interval", 4*time.Hour, "how often --backup-to copies files; a longer interval takes less space and makes a restore slower. 0: only when \"cantle backup\" requests it")
	f.DurationVar(&c.BackupLogInterval, "backup-log-interval", time.Minute, "how often --backup-to copies the log of writes, at least 1s: so much may be lost with the machine")
	f.DurationVar(&c.BackupRetention, "backup-retention", 7*24*time.Hour, "how far back moments can be restored; older backup data is deleted. 0 deletes nothing")
	f.StringVar(&c.BackupRate, "backup-rate", "64MB", "`size` per second that a backup copies at most, to leave disk bandwidth for other work; 0 is unlimited")
	f.StringVar(&c.BackupLogSize, "backup-log-size", "8GB", "`size` of the log of writes since the last backup that the data folder keeps at most, for at most two days, so that the next backup covers all moments in between. Without --backup-to nothing is kept")
	f.StringVar(&c.LogSize, "log-size", "50GB", "maximum `size` of the change log (before compression), even if its records are younger than --log-retention, across restarts of the server. Change streams that are further behind end with ChangeStreamHistoryLost")
}

func (c *Config) throughputFlags(f *pflag.FlagSet) {
	f.Int64Var(&c.Throughput, "default-throughput", 0, "`RU/s` of new collections that do not specify a throughput; 0 meters without limiting")
	f.IntVar(&c.Partitions, "partitions", 1, "`number` of partitions of a sharded collection that specifies neither RU/s nor numInitialChunks")
	f.Int64Var(&c.PartitionRU, "partition-ru", 0, "maximum `RU/s` of one partition: a collection gets as many partitions as its RU/s require. 0 is as in Azure Cosmos DB: 10000, or 6000 when a collection with manual throughput is created")
	f.StringVar(&c.PartitionSize, "partition-size", "50GB", "`size` at which a partition splits in two; set 1MB to see splits on a laptop")
	f.StringVar(&c.LogicalSize, "logical-partition-size", "20GB", "maximum `bytes` of one shard key value, if the collection has throughput of its own (also serverless) or shares that of its database, and of a collection without a shard key, if it has throughput of its own. Writes that exceed it are refused. Capped collections have no such limit")
	f.BoolVar(&c.Merge, "merge-partitions", false, "merge neighbouring partitions that are small and cold, if the RU/s allow it")
	f.Int64Var(&c.MetadataRU, "metadata-ru", 0, "`RU/s` for metadata commands (create, drop, list and so on), 1 RU each, for all clients together; an Azure Cosmos DB account has 240, 0 does not limit")
	f.BoolVar(&c.ServerRetry, "server-side-retry", false, "let throttled requests wait for request units, at most 60 s, instead of refusing them; UpdateCollection overrides this per collection")
	f.BoolVar(&c.Burst, "burst-capacity", false, "let partitions accumulate up to 300 s of idle RU/s and spend them at up to 3000 RU/s; UpdateCollection overrides this per collection")
	f.StringVar(&c.Prices, "prices", "", "`name` of the price list for all requests, at all addresses: "+strings.Join(ratelimit.PriceListNames(), ", ")+". The default is "+ratelimit.Mongo2023().Name+" with --cosmos-listen, which has the charges measured on Azure Cosmos DB for MongoDB accounts, and "+ratelimit.Normative().Name+" without")
	flags.Choose(f, "prices", ratelimit.PriceListNames()...)
	f.BoolVar(&c.StrongReads, "charge-strong-reads", false, "charge reads with read concern majority, linearizable or snapshot twice, like an account with strong or bounded staleness consistency")
	f.BoolVar(&c.ReplyCharge, "reply-charge", false, "add requestCharge to every reply, not only at the Cosmos address; the parameter replyCharge changes this at run time")
}

func (c *Config) securityFlags(f *pflag.FlagSet) {
	f.BoolVar(&c.Auth, "auth", false, "require users to log in, and check their privileges; the first user can be created from this machine without a login")
	f.StringVar(&c.RootName, "initdb-root-username", "", "`name` of a user with the role root, created in admin when the server starts without any users; turns on --auth")
	f.StringVar(&c.RootPassword, "initdb-root-password", "", "`password` of that user. Other users of this machine can see flags: prefer the environment variable, the settings file or --initdb-root-password-file")
	f.StringVar(&c.RootPasswordFile, "initdb-root-password-file", "", "`file` with the password of that user, such as a container secret")
	f.StringVar(&c.InitFolder, "initdb-folder", "", "`folder` with scripts that run once, in the order of their names, when the server begins a new database, before it accepts clients: .js files with a part of mongosh's methods, and .json, .jsonl and .ndjson files of documents, which also may be compressed (.gz), for the collection in their name (orders.json, shop.orders.json). A folder that does not exist has none")
	f.StringVar(&c.InitDatabase, "initdb-database", "test", "`database` of these scripts")
	f.BoolVar(&c.MongoVariables, "mongo-variables", false, "read MONGO_INITDB_ROOT_USERNAME and MONGO_INITDB_ROOT_PASSWORD (or the same with _FILE) and MONGO_INITDB_DATABASE for the settings above, like MongoDB's container image; cantle's container image sets this flag")
	f.BoolVar(&c.Open, "allow-open", false, "allow addresses that other machines reach without --auth: every client that reaches them may read and change everything. Also allow --metrics-listen there, which then needs no login")
	f.BoolVar(&c.JavaScript, "javascript", true, "allow $where, $function, $accumulator and mapReduce")
	f.StringVar(&c.TLSMode, "tls-mode", "disabled", "`mode` of encryption: disabled, allowTLS or preferTLS (accept clients with and without TLS), requireTLS (refuse clients without TLS)")
	flags.Choose(f, "tls-mode", "disabled", "allowTLS", "preferTLS", "requireTLS")
	f.StringVar(&c.TLSCertificate, "tls-certificate-key-file", "", "PEM `file` with the server's certificate, its intermediate certificates, and its key; \"cantle cert\" creates one for development. Reloaded on SIGHUP")
	f.StringVar(&c.TLSPassword, "tls-certificate-key-file-password", "", "`password` of the key in that file, if it is encrypted. Other users of this machine can see flags: prefer the environment variable or the settings file")
	f.StringVar(&c.TLSAuthorities, "tls-ca-file", "", "PEM `file` with the certificate authorities of clients: clients must then present a certificate, which may also be their login (MONGODB-X509)")
	f.BoolVar(&c.TLSWithoutCerts, "tls-allow-connections-without-certificates", false, "with --tls-ca-file, also accept clients without a certificate")
	f.StringVar(&c.TLSRevoked, "tls-crl-file", "", "PEM `file` with certificate revocation lists, signed by authorities of --tls-ca-file: clients with a revoked certificate are refused. Reloaded on SIGHUP")
}

func (c *Config) limitsFlags(f *pflag.FlagSet) {
	f.IntVar(&c.MaxConns, "max-connections", 0, "maximum `number` of connections; further ones are closed at once. 0 is 65536, or one per 128KB of memory if that is less")
	f.IntVar(&c.AddressConns, "max-connections-per-address", 0, "maximum `number` of connections per client address; further ones are closed at once. 0 is unlimited")
	f.IntVar(&c.AddressRate, "connection-rate", -1, "`number` of connections that one client address may open per second, with bursts of twice as many; 0 is unlimited, -1 is 1000 for other machines and unlimited for this one")
	f.DurationVar(&c.Idle, "idle-timeout", 0, "close connections that are idle for this long; 0 never closes them. Before the first message the limit is a minute, before a login (--auth) five")
	f.DurationVar(&c.Drain, "drain", 15*time.Second, "time after SIGTERM for running commands to finish, and for clients to move to other servers if there are any")
}

func (c *Config) programFlags(f *pflag.FlagSet) {
	f.StringVar(&c.ConfigFile, "config", "", "settings `file`, one \"name: value\" per line, with the names of these flags")
	f.BoolVar(&c.CheckOnly, "check-config", false, "do not start: check flags, variables, the settings file and the files that these name, and print every error with its line; exit status 0 if there are none")
	f.BoolVar(&c.UntilStdinEnds, "until-stdin-ends", false, "stop when standard input ends. If a program starts the server with a pipe as standard input, the server never outlives it: the system closes the pipe when the program ends, even by a crash")
	f.StringVar(&c.LogLevel, "log-level", "info", "lowest `level` of messages to log: debug, info, warn or error")
	f.StringVar(&c.LogFormat, "log-format", "console", "`format` of the log: console for people, json for machines")
	f.BoolVar(&c.LogValues, "log-values", false, "let the log show values: of filters and changes in slow commands, and the most expensive shard key value of a partition that refuses requests. Without it they are shown as ###. Inserted documents and passwords are never logged")
	f.IntVar(&c.Profile, "profile", 0, "default profiling `level` of each database, until the command profile changes it: 0 records nothing, 1 slow commands, 2 all commands, in system.profile")
	f.Int64Var(&c.SlowMS, "slowms", 100, "commands that take this many `milliseconds` or longer are slow: they are logged, and recorded at profiling level 1")
	f.Float64Var(&c.SlowSampleRate, "slow-sample-rate", 1, "`fraction` of the slow commands that are logged and recorded, from 0 to 1")
	flags.Choose(f, "log-level", "debug", "info", "warn", "error")
	flags.Choose(f, "log-format", "console", "json")
	f.BoolVar(&c.TestCommands, "enable-test-commands", false, "allow commands for tests: configureFailPoint, and the custom actions InjectThrottle (refuse the fifth write) and Clock (stop and advance time). Documents are on the same partitions in every run")
}
