package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/serve/flags"
)

// load reads settings from a command line, from variables and from a file with the given text. It returns the
// settings, the place of each, and the errors, in which the path of the file is replaced with "FILE".
func load(t *testing.T, args, file string, env map[string]string) (*Config, Origins, []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cantle.conf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var c Config
	f := flags.New("serve")
	c.Flags(f)
	f.Bool("help", false, "") // as package cobra does
	if err := flags.Parse(f, append(strings.Fields(args), "--config", path)); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	places, err := Load(f, environ)
	errs := []error{err}
	for _, fault := range c.Faults() {
		errs = append(errs, places.Explain(fault))
	}
	err = errors.Join(errs...)
	if err == nil {
		return &c, places, nil
	}
	return &c, places, strings.Split(strings.ReplaceAll(err.Error(), path, "FILE"), "\n")
}

// A flag overrides a variable, which overrides the file.
func TestLoad(t *testing.T) {
	c, places, faults := load(t, "--partitions 3", "\n# about\npartitions: 4\n drain : 5s \nlisten: \"127.0.0.1:1\"\nlog-level: warn\n",
		map[string]string{"CANTLE_PARTITIONS": "5", "CANTLE_LOG_LEVEL": "error", "CANTLE_OTHER": "x", "CANTLE_HELP": "x"})
	if faults != nil || c.Partitions != 3 || c.LogLevel != "error" || c.Drain.Seconds() != 5 || c.Listen != "127.0.0.1:1" {
		t.Errorf("%v %+v", faults, c)
	}
	if got := places.String(); !strings.HasPrefix(got, "1 in the environment, 1 on the command line, 2 in /") {
		t.Error(got)
	}
	if got := (Origins{"config": ""}).String(); got != "all have their default values" {
		t.Error(got)
	}
}

// Every error is reported, each with its place.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ args, file, env, want string }{
		{"", "lisen: x", "", "FILE:1: there is no setting lisen; did you mean listen?"},
		{"", "--listen: x", "", "FILE:1: there is no setting --listen; did you mean listen?"},
		{"", "help: true", "", "FILE:1: there is no setting help"},
		{"", "\nnonsense", "", "FILE:2: expected \"name: value\" with the name of a flag, such as \"listen: 127.0.0.1:27018\", found \"nonsense\""},
		{"", "storage:\n  dbPath: /var/lib/mongodb # x\nnet:\n\n    port: 27017\n    tls:\n      mode: requireTLS\nlisten: 127.0.0.1:1\nsecurity:\n  authorization: enabled\n  vault: x", "",
			"FILE:2: storage.dbPath is a setting of mongod.conf: use \"data: FOLDER\" (cantle does not open the files of mongod\n" +
				"FILE:5: net.port is a setting of mongod.conf: use \"listen: 127.0.0.1:PORT\"\n" +
				"FILE:7: net.tls.mode is a setting of mongod.conf: use \"tls-mode: requireTLS\"\n" +
				"FILE:10: security.authorization is a setting of mongod.conf: use \"auth: true\"\n" +
				"FILE:11: security.vault has the form of mongod.conf, and cantle has no such setting"},
		{"", "dbpath: /x\nnet.port: 5", "", "FILE:1: there is no setting dbpath: it is mongod's; use \"data: FOLDER\"\nFILE:2: net.port is a setting of mongod.conf"},
		{"", "", "CANTLE_LISTN=x", "environment variable CANTLE_LISTN: there is no such setting; did you mean CANTLE_LISTEN?"},
		{"", "", "CANTLE_DBPATH=x", "environment variable CANTLE_DBPATH: there is no such setting; use CANTLE_DATA"},
		{"", "", "CANTLE_PORT=5", "environment variable CANTLE_PORT: there is no such setting; use CANTLE_LISTEN"},
		{"", "config: y\ncheck-config: true", "", "FILE:1: config is for the command line\nFILE:2: check-config is for the command line"},
		{"", "drain: 5s\n\ndrain: 6s", "", "FILE:3: drain has been set in line 1 already"},
		{"", "auth: perhaps\ndrain: soon", "", "FILE:1: --auth is true or false, not \"perhaps\"\nFILE:2: --drain is a time such as 90s, 15m or 24h, not \"soon\""},
		{"", "partitions: 0\nmax-connections: -1", "", "FILE:1: --partitions is at least 1\nFILE:2: --max-connections is at least 0"},
		{"--partitions 0", "partitions: 5", "", "--partitions is at least 1"},
		{"", "", "CANTLE_PARTITIONS=0", "CANTLE_PARTITIONS: --partitions is at least 1"},
		{"", "", "CANTLE_AUTH=x", "environment variable CANTLE_AUTH: --auth is true or false, not \"x\""},
		{"", "slowms: -1\nprofile: 3\nslow-sample-rate: 2", "", "FILE:1: --slowms is at least 0\nFILE:2: --profile is 0, 1 or 2\nFILE:3: --slow-sample-rate is from 0 to 1"},
		{"", "log-level: loud", "", "FILE:1: --log-level=loud: expected debug, info, warn or error"},
		{"", "log-format: xml", "", "FILE:1: --log-format=xml: expected console or json"},
		{"", "compat: 3.0", "", "FILE:1: --compat: "},
		{"", "storage: paper", "", "FILE:1: --storage is memory or pebble, not \"paper\""},
		{"--memory", "storage: pebble", "", "FILE:1: --memory is the same as --storage memory"},
		{"", "cache-size: 5XB\nlog-size: 0\nwork-memory: x\npartition-size:\nlogical-partition-size: -1", "",
			"FILE:1: --cache-size\nFILE:3: --work-memory\nFILE:4: --partition-size\nFILE:5: --logical-partition-size\nFILE:2: --log-size"},
		{"", "sync: never", "", "FILE:1: --sync=never"},
		{"", "cosmos-listen: 127.0.0.1:10255\ncosmos-account:", "", "FILE:2: --cosmos-account"},
		{"", "replica-set: a/b/c", "", "FILE:1: --replica-set"},
		{"", "listen: 127.0.0.1", "", "FILE:1: --listen 127.0.0.1: missing port in address"},
		{"", "listen: 127.0.0.1:1, unix:/x, 127.0.0.1:70000", "", "FILE:1: --listen 127.0.0.1:70000: "},
		{"", "cosmos-listen: x\nmetrics-listen: y", "", "FILE:1: --cosmos-listen x\nFILE:2: --metrics-listen y"},
		{"", "initdb-database: a.b\nconsole-listen: x", "", "FILE:1: --initdb-database: \"a.b\" is not the name of a database\nFILE:2: --console-listen x"},
		{"", "#\nlisten: 0.0.0.0:1", "", "FILE:2: other machines may reach 0.0.0.0:1"},
		{"", "metrics-listen: 0.0.0.0:1", "", "FILE:1: other machines may reach 0.0.0.0:1"},
		{"", "tls-mode: maybe", "", "FILE:1: --tls-mode"},
		{"", "tls-mode: requireTLS", "", "FILE:1: --tls-mode=requireTLS needs"},
		{"", "tls-mode: requireTLS\ntls-certificate-key-file: /nonexistent/pem", "", "FILE:2: --tls-certificate-key-file /nonexistent/pem"},
	} {
		env := map[string]string{}
		if name, value, ok := strings.Cut(c.env, "="); ok {
			env[name] = value
		}
		_, _, got := load(t, c.args, c.file, env)
		want := strings.Split(c.want, "\n")
		if len(got) != len(want) {
			t.Errorf("%q:\n%s\nwant\n%s", c.file, strings.Join(got, "\n"), c.want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%q: %s, want %s", c.file, got[i], want[i])
			}
		}
	}
}

// Without --connection-rate, addresses of other machines have a limit, and those of this
// machine have none.
func TestConnectionRates(t *testing.T) {
	for args, want := range map[string][2]int{"": {0, 1000}, "--connection-rate 5": {5, 0}, "--connection-rate 0": {0, 0}} {
		c, _, faults := load(t, args, "", nil)
		if all, remote := c.connectionRates(); faults != nil || all != want[0] || remote != want[1] {
			t.Errorf("%q: %d for all, %d for other machines, %v", args, all, remote, faults)
		}
	}
}

// Every setting of mongod that an error explains has either a setting of cantle serve that exists, with an example that
// is one of its values, or a reason.
func TestMongodSettings(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mongodSettings {
		for _, name := range strings.Fields(m.flags + " " + m.keys) {
			if seen[name] && name != "setParameter" {
				t.Errorf("%s: two rows", name)
			}
			seen[name] = true
		}
		if m.ours == "" {
			if m.note == "" {
				t.Errorf("%s %s: neither a setting nor a reason", m.flags, m.keys)
			}
			continue
		}
		var c Config
		f := flags.New("serve")
		c.Flags(f)
		if f.Lookup(m.ours) == nil {
			t.Errorf("%s %s: there is no flag --%s", m.flags, m.keys, m.ours)
		}
		if strings.ToUpper(m.value) == m.value { // the name of a value
			continue
		}
		if err := flags.Set(f, m.ours, m.value); err != nil || c.check() != nil {
			t.Errorf("%s %s: %v, %v", m.flags, m.keys, err, c.check())
		}
	}
	// Kubernetes sets such variables beside a service named cantle.
	if _, _, faults := load(t, "", "", map[string]string{"CANTLE_PORT": "tcp://10.0.0.1:27017", "CANTLE_SERVICE_HOST": "10.0.0.1", "CANTLE_SERVICE_PORT": "27017"}); faults != nil {
		t.Error(faults)
	}
}

// A variable of MongoDB's image that is not read is named once.
func TestNotices(t *testing.T) {
	environ := []string{"MONGO_INITDB_ROOT_USERNAME=a", "MONGO_INITDB_ROOT_PASSWORD=b", "OTHER=c"}
	got := (&Config{}).Notices(environ)
	if len(got) != 2 || got[0] != "the environment variable MONGO_INITDB_ROOT_USERNAME is not read: set --mongo-variables, or CANTLE_INITDB_ROOT_USERNAME instead" {
		t.Error(got)
	}
	if got := (&Config{MongoVariables: true}).Notices(environ); got != nil {
		t.Error(got)
	}
}
