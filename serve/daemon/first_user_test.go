package daemon

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/serve/flags"
)

// logIn sends a command to the server as the user admin with a password, without a login if the password is "", and
// returns the command's error.
func logIn(t *testing.T, d *Daemon, password string) error {
	t.Helper()
	o := options.Client().ApplyURI(d.URI())
	if password != "" {
		o.SetAuth(options.Credential{Username: "admin", Password: password})
	}
	client, err := mongo.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	return client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "listDatabases", Value: 1}}).Err()
}

// serving starts a server with the given flags, and returns the server and a function that stops it.
func serving(t *testing.T, args ...string) (d *Daemon, stop func()) {
	t.Helper()
	var c Config
	f := flags.New("serve")
	c.Flags(f)
	if err := flags.Parse(f, append([]string{"--listen", "127.0.0.1:0", "--drain", "1s"}, args...)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(f, nil); err != nil {
		t.Fatal(err)
	}
	d, err := Start(t.Context(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return d, func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// The first user is made once, and the server then requires logins. Another password in the settings has no effect
// later; without the settings the user remains.
func TestFirstUser(t *testing.T) {
	data := t.TempDir()
	for _, start := range []struct {
		args     string
		password string
	}{
		{"--initdb-root-username admin --initdb-root-password first", "first"},
		{"--initdb-root-username admin --initdb-root-password second", "first"},
		{"--auth", "first"},
	} {
		d, stop := serving(t, append(strings.Fields(start.args), "--data", data)...)
		if err := logIn(t, d, start.password); err != nil {
			t.Errorf("%s: %v", start.args, err)
		}
		for _, wrong := range []string{"", "second"} {
			if err := logIn(t, d, wrong); err == nil {
				t.Errorf("%s: password %q is taken", start.args, wrong)
			}
		}
		stop()
	}
}

// If --mongo-variables is set, the variables of MongoDB's container image are settings; flags and CANTLE_ variables
// override them. A user without a password, or a password without a user, is refused.
func TestMongoVariables(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, env, name, password, fault string }{
		{"", "MONGO_INITDB_ROOT_USERNAME=a MONGO_INITDB_ROOT_PASSWORD=b", "", "", ""},
		{"--mongo-variables", "MONGO_INITDB_ROOT_USERNAME=a MONGO_INITDB_ROOT_PASSWORD=b", "a", "b", ""},
		{"--mongo-variables --initdb-root-username c", "MONGO_INITDB_ROOT_USERNAME=a MONGO_INITDB_ROOT_PASSWORD=b", "c", "b", ""},
		{"", "CANTLE_MONGO_VARIABLES=true CANTLE_INITDB_ROOT_PASSWORD=x MONGO_INITDB_ROOT_USERNAME=a MONGO_INITDB_ROOT_PASSWORD=b", "a", "x", ""},
		{"--mongo-variables", "MONGO_INITDB_ROOT_USERNAME_FILE=" + secret + " MONGO_INITDB_ROOT_PASSWORD_FILE=" + secret, "from a file", "from a file", ""},
		{"--mongo-variables", "MONGO_INITDB_ROOT_USERNAME_FILE=/nonexistent", "", "", "environment variable MONGO_INITDB_ROOT_USERNAME_FILE: "},
		{"--mongo-variables", "MONGO_INITDB_ROOT_USERNAME=a", "a", "", "MONGO_INITDB_ROOT_USERNAME: --initdb-root-username: the first user needs a password"},
		{"--mongo-variables", "MONGO_INITDB_ROOT_PASSWORD=b", "", "", "whose is it?"},
		{"--initdb-root-username a --initdb-root-password b --initdb-root-password-file c", "", "a", "", "one of them is enough"},
		{"--initdb-root-username a --initdb-root-password-file /nonexistent", "", "a", "", "--initdb-root-password-file: "},
		{"--listen 0.0.0.0:1 --initdb-root-username a --initdb-root-password b", "", "a", "b", ""}, // users log in, so the address is allowed
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		cfg, _, faults := load(t, c.args, "", env)
		if told := strings.Join(faults, "\n"); (told == "") != (c.fault == "") || !strings.Contains(told, c.fault) {
			t.Errorf("%s, %s: %q, want %q", c.args, c.env, told, c.fault)
		}
		password, _ := cfg.rootPassword()
		if cfg.RootName != c.name || password != c.password || cfg.Auth != (c.name != "") {
			t.Errorf("%s, %s: %q %q %v, want %q %q", c.args, c.env, cfg.RootName, password, cfg.Auth, c.name, c.password)
		}
	}
}
