package cli

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	driver "go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/cmd/cantle/bundle"
	"github.com/cantledb/cantle/cmd/cantle/remote"
	"github.com/cantledb/cantle/cmd/cantle/top"
	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/serve/daemon"
)

// Canaries are values that must not be in a bundle: a text, which is also a user's password and a part of a user's name,
// and a number.
const (
	canaryText   = "canary4711"
	canaryNumber = "471100114711"
)

// startWatched starts a server with a login, a console, metrics and a log of all commands.
func startWatched(t *testing.T) *daemon.Daemon {
	t.Helper()
	var cfg daemon.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	args := []string{"--memory", "--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0", "--metrics-listen", freeAddress(t), "--slowms", "0", "--drain", "1s",
		"--initdb-root-username", "root", "--initdb-root-password", canaryText, "--otlp-headers", "key=" + canaryText,
		"--otlp-endpoint", "http://u:" + canaryText + "@127.0.0.1:1/?key=" + canaryText}
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	cfg.CommandLine = append([]string{"cantle", "serve"}, args...)
	d, err := daemon.Start(context.Background(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop() })
	return d
}

// freeAddress returns an address with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// plant puts the canaries into everything of a server that can hold values.
func plant(t *testing.T, client *mongo.Client) {
	t.Helper()
	shop, admin := client.Database("shop"), client.Database("admin")
	run(t, admin, `{createUser: "user-`+canaryText+`", pwd: "`+canaryText+`", roles: ["readAnyDatabase"], customData: {a: "`+canaryText+`"}}`)
	run(t, admin, `{shardCollection: "shop.hashed", key: {tenant: "hashed"}, numInitialChunks: 2}`)
	run(t, admin, `{shardCollection: "shop.ranged", key: {tenant: 1}}`)
	run(t, shop, `{create: "checked", validator: {name: {$in: ["`+canaryText+`", {$numberLong: "`+canaryNumber+`"}, "x"]}}}`)
	run(t, shop, `{createIndexes: "unique", indexes: [{key: {name: 1}, name: "name", unique: true}]}`)
	run(t, shop, `{insert: "unique", documents: [{name: "`+canaryText+`"}]}`)
	run(t, shop, `{create: "seen", viewOn: "hashed", pipeline: [{$match: {name: "`+canaryText+`"}}]}`)
	run(t, shop, `{createIndexes: "hashed", indexes: [{key: {name: 1}, name: "part", partialFilterExpression: {name: {$gte: "`+canaryText+`"}}}]}`)
	for _, coll := range []string{"hashed", "ranged"} {
		run(t, shop, fmt.Sprintf(`{insert: "%s", documents: [{tenant: "%s", name: "%[2]s", n: {$numberLong: "%s"}}, {tenant: "a", name: "b"}, {tenant: "z", name: "c"}]}`, coll, canaryText, canaryNumber))
		for _, filter := range []string{`{tenant: "%s"}`, `{name: {$regex: "^%s"}}`, `{$expr: {$eq: ["$name", "%s"]}}`, `{name: {$in: ["%s", "b"]}}`, `{$or: [{name: "%s"}, {n: {$numberLong: "` + canaryNumber + `"}}]}`,
			`{$where: "this.name == '%s'"}`, `{$jsonSchema: {properties: {name: {enum: ["%s"]}}}}`, `{n: {$gt: {$numberLong: "` + canaryNumber + `"}}, name: {$ne: "%s"}}`} {
			filter = fmt.Sprintf(filter, canaryText)
			run(t, shop, fmt.Sprintf(`{find: "%s", filter: %s, comment: "%s"}`, coll, filter, canaryText))
			run(t, shop, fmt.Sprintf(`{update: "%s", updates: [{q: %s, u: {$set: {other: "%s"}}, multi: true}]}`, coll, filter, canaryText))
		}
		run(t, shop, fmt.Sprintf(`{aggregate: "%s", pipeline: [{$match: {name: "%s"}}, {$group: {_id: {$concat: ["$name", "%[2]s"]}}}], cursor: {}}`, coll, canaryText))
		run(t, shop, fmt.Sprintf(`{distinct: "%s", key: "name", query: {name: "%s"}}`, coll, canaryText))
	}
	run(t, admin, `{split: "shop.ranged", middle: {tenant: "`+canaryText+`"}}`)
	for _, wrong := range []string{`{insert: "unique", documents: [{name: "` + canaryText + `"}]}`, `{insert: "checked", documents: [{name: "no-` + canaryText + `"}]}`,
		`{find: "hashed", filter: {$nonsense: "` + canaryText + `"}}`, `{nonsense: "` + canaryText + `"}`} {
		if err := shop.RunCommand(t.Context(), []byte(bsontest.Doc(t, wrong))).Err(); err == nil {
			t.Errorf("%s succeeds", wrong)
		}
	}
}

// TestDebugZip checks that a bundle has all of its parts, and that none of them has a value of a document, a filter, a
// shard key, or a user.
func TestDebugZip(t *testing.T) {
	d := startWatched(t)
	uri := strings.Replace(d.URI(), "mongodb://", "mongodb://root:"+canaryText+"@", 1)
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	plant(t, client)
	other, err := mongo.Connect(options.Client().ApplyURI(strings.Replace(d.URI(), "mongodb://", "mongodb://user-"+canaryText+":"+canaryText+"@", 1)).SetAuth(
		options.Credential{Username: "user-" + canaryText, Password: canaryText, AuthSource: "admin"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Disconnect(context.Background()) })
	run(t, other.Database("shop"), `{find: "hashed", filter: {tenant: "a"}}`)
	// A running operation with a value: a change stream that waits.
	stream, err := client.Database("shop").Collection("hashed").Watch(t.Context(), []driver.M{{"$match": driver.M{"fullDocument.name": canaryText}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stream.Next(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended; stream.Close(context.Background()) })

	// The sources do have the canaries, so that the search below can find some.
	admin := client.Database("admin")
	for _, source := range []string{`{getLog: "global"}`, `{currentOp: 1, $all: true}`, `{customAction: "GetRequestReport"}`} {
		for {
			if strings.Contains(fmt.Sprint(run(t, admin, source)), canaryText) {
				break
			}
			if t.Context().Err() != nil {
				t.Fatalf("%s has no canary", source)
			}
		}
	}
	for _, source := range []string{`{customAction: "GetPartitions", collection: "hashed"}`, `{customAction: "GetPartitions", collection: "ranged"}`, `{listCollections: 1}`, `{listIndexes: "hashed"}`} {
		if !strings.Contains(fmt.Sprint(run(t, client.Database("shop"), source)), canaryText) {
			t.Fatalf("%s has no canary", source)
		}
	}
	page, err := top.Connect(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	for rows := ""; !strings.Contains(rows, "shop.hashed"); { // the first second of the history
		text, err := page.Fetch(t.Context(), "heat", nil)
		if err != nil {
			t.Fatal(err)
		}
		rows = string(text)
	}

	file := filepath.Join(t.TempDir(), "x.zip")
	var out strings.Builder
	if code := verbStatus(t, "debug", "", &out, &out, "zip", "--out", file, uri); code != 0 || !strings.Contains(out.String(), "Nothing was sent anywhere") || strings.Contains(out.String(), "missing") || strings.Contains(out.String(), canaryText) {
		t.Fatalf("status %d\n%s", code, out.String())
	}
	files := unzipped(t, file)
	for name, text := range files {
		for _, canary := range []string{canaryText, canaryNumber} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s has a value: …%s…", name, text[max(0, i-200):min(len(text), i+100)])
			}
		}
		if name != "MANIFEST.txt" && !strings.Contains(files["MANIFEST.txt"], name) {
			t.Errorf("%s is not in the manifest", name)
		}
	}
	for name, want := range map[string][]string{
		"client.json": {`"modules"`, `"arch"`}, "server/buildInfo.json": {`"cantle"`}, "server/hostInfo.json": {"numCores"}, "server/settings.json": {"--slowms", "<password>"},
		"server/parameters.json": {"replyCharge"}, "server/status.json": {"opcounters"}, "server/doctor.json": {"it is cantle"}, "server/operations.json": {`"getMore"`, "shop.hashed"},
		"server/log.txt": {"durationMillis"}, "server/metrics.txt": {"cantle_info", "go_goroutines"}, "requests.json": {"tenant: ?", "shop.ranged"},
		"collections.json":   {"shop.checked", `"?string"`, `"part"`, "partialFilterExpression", "ruTotal", "shardKeyDefinition"},
		"history/lines.json": {`"ru"`}, "history/heat.json": {`"shop.hashed"`, `"cells"`}, "history/events.json": {"shop.ranged"}, "MANIFEST.txt": {"no values of documents"},
	} {
		for _, text := range want {
			if !strings.Contains(files[name], text) {
				t.Errorf("%s has no %q: %.600s", name, text, files[name])
			}
		}
	}
	if code := verbStatus(t, "debug", "", &out, &out, "zip", "--out", file, uri); code != 1 {
		t.Errorf("a file that exists: status %d", code)
	}
}

// unzipped returns the texts of the files of a zip file by name.
func unzipped(t *testing.T, file string) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
		in.Close()
	}
	return out
}

// TestDebugZipIncomplete checks that parts that cannot be read are listed, and the others are written: without a console
// and metrics, beyond the size, and without a server.
func TestDebugZipIncomplete(t *testing.T) {
	uri, _ := start(t)
	folder := t.TempDir()
	zipped := func(name string, args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "debug", "", &out, &out, append([]string{"zip", "--out", filepath.Join(folder, name)}, args...)...), out.String()
	}
	code, out := zipped("a.zip", uri)
	for _, want := range []string{"missing: history/lines.json: ", "has no console", "missing: server/metrics.txt: ", "requests.json"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q\n%s", code, want, out)
		}
	}
	if files := unzipped(t, filepath.Join(folder, "a.zip")); files["server/status.json"] == "" || !strings.Contains(files["MANIFEST.txt"], "missing: history/lines.json") {
		t.Errorf("%v", files["MANIFEST.txt"])
	}
	begun := time.Now()
	code, out = zipped("b.zip", "--timeout", "1s", "mongodb://u:s3cr3t@127.0.0.1:1/?proxyPassword=s3cr3t&w=1")
	if code != 1 || !strings.Contains(out, "missing: server/status.json") {
		t.Errorf("status %d\n%s", code, out)
	}
	if took := time.Since(begun); took > 12*time.Second { // each part would wait for a second
		t.Errorf("without a server it takes %s", took)
	}
	for name, text := range unzipped(t, filepath.Join(folder, "b.zip")) {
		if strings.Contains(text+out, "s3cr3t") {
			t.Errorf("%s has the password: %s", name, text)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "b.zip")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for _, bad := range [][]string{{"tar", uri}, {"zip"}, {"zip", "--timeout", "0s", uri}, {"zip", "--max-size", "0", uri}, {"zip", "nonsense://"}} {
		var out strings.Builder
		if code := verbStatus(t, "debug", "", &out, &out, bad...); code != 2 {
			t.Errorf("%v: status %d\n%s", bad, code, out.String())
		}
	}
}

// TestDebugZipMetrics checks that the metrics of a server with TLS and logins are read with the options of the
// connection string, and that a bundle without all collections reports that.
func TestDebugZipMetrics(t *testing.T) {
	dir := t.TempDir()
	if _, err := certificates.Make(dir, []string{"127.0.0.1"}, "client", time.Hour); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(freeAddress(t))
	uri, _ := start(t, "--auth", "--initdb-root-username", "root", "--initdb-root-password", "s3cr3t", "--metrics-listen", "0.0.0.0:"+port,
		"--tls-mode", "allowTLS", "--tls-certificate-key-file", filepath.Join(dir, "server.pem"))
	uri = strings.Replace(uri, "mongodb://", "mongodb://root:s3cr3t@", 1)
	uri = uri[:strings.LastIndexByte(uri, '/')] + "/?tls=true&tlsCAFile=" + filepath.Join(dir, "ca.pem")
	s, err := connect(uri, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.remoteRun(t.Context(), name, bsontest.Doc(t, `{create: "c"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{2: "only the first 2 collections are in it", 20: ""} {
		var zipped strings.Builder
		b := bundle.Bundle{Run: s.remoteRun, Server: "x", Limit: 10 * time.Second, Size: 1 << 20, Collections: limit,
			Doctor:  func(context.Context) (any, error) { return nil, errors.New("not in this test") },
			Console: func(context.Context, string, url.Values) (json.RawMessage, error) { return nil, &remote.Error{Code: 1} },
			Metrics: func(ctx context.Context) ([]byte, error) { return top.Metrics(ctx, uri, 1<<20) }}
		files, err := b.Write(t.Context(), &zipped)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			got := fmt.Sprint(f.Err)
			switch f.Name {
			case "collections.json":
				if f.Bytes == 0 || got != want && (f.Err != nil || want != "") {
					t.Errorf("%d collections: %s", limit, got)
				}
			case "server/metrics.txt":
				if f.Err != nil || f.Bytes < 10_000 {
					t.Errorf("the metrics: %d bytes, %s", f.Bytes, got)
				}
			}
		}
	}
}
