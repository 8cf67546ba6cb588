package daemon

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Some drivers decode a password as a path (RFC 3986), others as a query, where + is a space. Both decodings of the
// printed connection string return the account's key.
func TestAccountKeyInConnectionString(t *testing.T) {
	for name, key := range map[string]string{"made": "", "given": "a+b/c d%2B@:?="} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--memory", "--auth", "--cosmos-listen", "127.0.0.1:0"}
			if key != "" {
				args = append(args, "--cosmos-key", key)
			}
			d, stop := serving(t, args...)
			defer stop()
			uri := d.CosmosURI()
			_, login, _ := strings.Cut(uri, "mongodb://cantle:")
			login, _, _ = strings.Cut(login, "@")
			asPath, err := url.PathUnescape(login)
			if err != nil {
				t.Fatal(err)
			}
			asQuery, err := url.QueryUnescape(login)
			if err != nil || asQuery != asPath || key != "" && asPath != key {
				t.Errorf("%s: %q as a path, %q as a query, %v", uri, asPath, asQuery, err)
			}
			if key == "" && strings.ContainsAny(asPath, "+/") {
				t.Errorf("key %s", asPath)
			}
			client, err := mongo.Connect(options.Client().ApplyURI(uri))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Disconnect(t.Context())
			if err := client.Database("test").RunCommand(t.Context(), bson.D{{Key: "listCollections", Value: 1}}).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A generated key is printed at the start that generates it and at no other; the connection string with the key is in a
// file that only the server's user can read. A key from the settings is in no file.
func TestAccountFile(t *testing.T) {
	data := t.TempDir()
	for start, printed := range []bool{true, false} {
		d, stop := serving(t, "--data", data, "--auth", "--cosmos-listen", "127.0.0.1:0")
		file := filepath.Join(data, accountFileName)
		info, err := os.Lstat(file)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || d.AccountFile() != file {
			t.Errorf("%v, %v", info, err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != d.CosmosURI()+"\n" || !strings.Contains(string(text), "mongodb://cantle:") {
			t.Errorf("%q, %v", text, err)
		}
		if got := strings.Contains(d.CosmosReady(), "cantle:"); got != printed {
			t.Errorf("start %d: the key is printed: %v", start, got)
		}
		stop()
		if !printed || runtime.GOOS == "windows" { // links need a privilege there
			continue
		}
		// A link to a file that others can read is replaced by the second start, and its target stays.
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		if err := errors.Join(os.Remove(file), os.WriteFile(elsewhere, []byte("old"), 0o644), os.Symlink(elsewhere, file)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "old" {
				t.Errorf("the target of the link: %q, %v", text, err)
			}
		}()
	}
	other := t.TempDir()
	d, stop := serving(t, "--data", other, "--auth", "--cosmos-listen", "127.0.0.1:0", "--cosmos-key", "k")
	if _, err := os.Stat(filepath.Join(other, accountFileName)); err == nil || d.AccountFile() != "" {
		t.Error("a key of the settings is in a file")
	}
	stop()
}
