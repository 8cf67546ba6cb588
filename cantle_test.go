package cantle_test

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle"
)

// open opens a server for a test.
func open(t *testing.T, o cantle.Options) *cantle.Server {
	t.Helper()
	srv, err := cantle.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// connect returns a client that dials a server inside the process.
func connect(t *testing.T, srv *cantle.Server) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leave(client) })
	return client
}

// leave disconnects a client, even if its server is gone.
func leave(client *mongo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = client.Disconnect(ctx)
}

// Through a client without a socket, a large message, a transaction, a change stream and inserts by 16 goroutines at
// once work; with the server as a mongos and as a replica set.
func TestWithoutSocket(t *testing.T) {
	for _, set := range []string{"", "rs0"} {
		t.Run("set "+set, func(t *testing.T) {
			t.Parallel()
			srv := open(t, cantle.Options{ReplicaSet: set})
			client := connect(t, srv)
			items := client.Database("test").Collection("items")
			large := bytes.Repeat([]byte("x"), 15<<20)
			if _, err := items.InsertOne(t.Context(), bson.M{"_id": "large", "pad": large}); err != nil {
				t.Fatal(err)
			}
			var found struct{ Pad []byte }
			if err := items.FindOne(t.Context(), bson.M{"_id": "large"}).Decode(&found); err != nil || !bytes.Equal(found.Pad, large) {
				t.Fatalf("%d bytes came back, %v", len(found.Pad), err)
			}
			stream, err := items.Watch(t.Context(), mongo.Pipeline{})
			if err != nil {
				t.Fatal(err)
			}
			session, err := client.StartSession()
			if err != nil {
				t.Fatal(err)
			}
			defer session.EndSession(t.Context())
			if _, err := session.WithTransaction(t.Context(), func(ctx context.Context) (any, error) {
				return items.InsertOne(ctx, bson.M{"_id": "paid"})
			}); err != nil {
				t.Fatal(err)
			}
			if !stream.Next(t.Context()) || stream.Current.Lookup("documentKey", "_id").StringValue() != "paid" {
				t.Errorf("the stream says %v, %v", stream.Current, stream.Err())
			}
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					for j := range 50 {
						if _, err := items.InsertOne(t.Context(), bson.M{"_id": bson.D{{Key: "i", Value: i}, {Key: "j", Value: j}}}); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if n, err := items.CountDocuments(t.Context(), bson.M{}); n != 16*50+2 || err != nil {
				t.Errorf("%d documents, %v", n, err)
			}
		})
	}
}

// A client that was made without SetDialer gets an error whose address names the missing call.
func TestForgottenDialer(t *testing.T) {
	srv := open(t, cantle.Options{})
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetServerSelectionTimeout(100 * time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	if err := client.Ping(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "dial-by-server.invalid") {
		t.Error(err)
	}
}

// admin runs a command on the database admin, and returns one field of the reply as text.
func admin(t *testing.T, client *mongo.Client, field string, cmd ...bson.E) string {
	t.Helper()
	reply, err := client.Database("admin").RunCommand(t.Context(), bson.D(cmd)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	return reply.Lookup(strings.Split(field, ".")...).String()
}

// Servers in one process do not share settings, clocks, fail points, profiling levels, counters of operations, command
// lines and data.
func TestServersApart(t *testing.T) {
	one := open(t, cantle.Options{VirtualClock: true, Listen: "127.0.0.1:0", Flags: []string{"--compat=7.0"}})
	two := open(t, cantle.Options{VirtualClock: true, Listen: "127.0.0.1:0", ReplicaSet: "two"})
	a, b := connect(t, one), connect(t, two)
	if one.URI() == two.URI() || !strings.HasSuffix(two.URI(), "replicaSet=two") {
		t.Errorf("%s and %s", one.URI(), two.URI())
	}
	name := func(k string, v any) bson.E { return bson.E{Key: k, Value: v} }
	admin(t, a, "ok", name("setParameter", 1), name("ttlMonitorSleepSecs", 7))
	admin(t, a, "ok", name("configureFailPoint", "failCommand"), name("mode", "alwaysOn"),
		name("data", bson.M{"failCommands": bson.A{"find"}, "errorCode": 2}))
	admin(t, a, "ok", name("profile", 2))
	if _, err := a.Database("test").Collection("c").InsertOne(t.Context(), bson.M{}); err != nil {
		t.Fatal(err)
	}
	one.Clock().Stop()
	one.Clock().Advance(24 * time.Hour)
	if ahead := one.Clock().Now().Sub(two.Clock().Now()); ahead < 23*time.Hour {
		t.Errorf("the clocks are %v apart", ahead)
	}
	for _, c := range []struct {
		field, one, two string
		cmd             []bson.E
	}{
		{"version", `"7.0`, `"8.0`, []bson.E{name("buildInfo", 1)}},
		{"ttlMonitorSleepSecs", `"7"`, `"60"`, []bson.E{name("getParameter", 1), name("ttlMonitorSleepSecs", 1)}},
		{"was", `"2"`, `"0"`, []bson.E{name("profile", -1)}},
		{"opcounters.insert", `"1"`, `"0"`, []bson.E{name("serverStatus", 1)}},
		{"argv", "--compat=7.0", `"two"`, []bson.E{name("getCmdLineOpts", 1)}},
	} {
		for i, client := range []*mongo.Client{a, b} {
			if got, want := admin(t, client, c.field, c.cmd...), []string{c.one, c.two}[i]; !strings.Contains(got, want) {
				t.Errorf("server %d: %v: %s is %s, want %s", i+1, c.cmd[0].Key, c.field, got, want)
			}
		}
	}
	if got := admin(t, a, "argv", name("getCmdLineOpts", 1)); strings.Contains(got, os.Args[0]) {
		t.Errorf("the program's own command line is shown: %s", got)
	}
	if n, err := b.Database("test").Collection("c").CountDocuments(t.Context(), bson.M{}); n != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.Database("test").Collection("c").Find(t.Context(), bson.M{}); err != nil {
		t.Errorf("the other server's fail point: %v", err)
	}
}

// A closed server leaves no goroutine, no descriptor and no file in TMPDIR, also if a client still has a change stream
// open.
func TestNothingIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	descriptors := openFiles()
	for i := range 12 {
		srv, err := cantle.Open(cantle.Options{Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := client.Database("test").Collection("c").Watch(t.Context(), mongo.Pipeline{})
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			stream.Close(t.Context())
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Close(); err != nil {
			t.Error("closed again:", err)
		}
		if _, err := srv.DialContext(t.Context(), "", ""); err == nil {
			t.Error("a closed server is dialled")
		}
		leave(client)
	}
	if left := goroutines(); left != "" {
		t.Errorf("goroutines are left:\n%s", left)
	}
	if n := openFiles(); n > descriptors {
		t.Errorf("%d descriptors of %d are left", n-descriptors, n)
	}
	if files, err := os.ReadDir(temp); len(files) > 0 || err != nil {
		t.Error(files, err)
	}
}

// goroutines returns the stacks of the goroutines that servers and their stores run. Goroutines of the driver are
// left out, because they end later.
func goroutines() (out string) {
	stacks := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		server := strings.Contains(stack, "github.com/cantledb/cantle/") && !strings.Contains(stack, "cantle_test.")
		if server || strings.Contains(stack, "github.com/cockroachdb/pebble") {
			out += stack + "\n\n"
		}
	}
	return out
}

// openFiles returns the number of open descriptors of the process, 0 if the system cannot list them.
func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// Options that make no sense are refused with an explanation.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		o    cantle.Options
		says string
	}{
		{cantle.Options{Flags: []string{"--partitoins=4"}}, "did you mean --partitions?"},
		{cantle.Options{Flags: []string{"serve"}}, `"serve" in Flags is no flag`},
		{cantle.Options{Flags: []string{"--config=x"}}, "--config is for cantle serve"},
		{cantle.Options{Flags: []string{"--data", dir}}, "--memory keeps nothing on disk"},
		{cantle.Options{Flags: []string{"--partitions=-4"}}, "--partitions is at least 1"},
		{cantle.Options{Listen: "127.0.0.1"}, "host:port"},
		{cantle.Options{Listen: "0.0.0.0:0"}, "--auth"},
		{cantle.Options{Data: "/dev/null/x"}, "cannot make the folder"},
	} {
		srv, err := cantle.Open(c.o)
		if err == nil {
			srv.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.says)
		}
	}
}

// A folder keeps its documents over a restart, and only one server at a time can open it.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		srv, err := cantle.Open(cantle.Options{Data: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cantle.Open(cantle.Options{Data: dir}); err == nil || !strings.Contains(err.Error(), "is in use") {
			t.Errorf("opened twice: %v", err)
		}
		c := connect(t, srv).Database("test").Collection("c")
		if _, err := c.InsertOne(t.Context(), bson.M{"_id": i}); err != nil {
			t.Error(err)
		}
		if n, err := c.CountDocuments(t.Context(), bson.M{}); n != int64(i)+1 || err != nil {
			t.Error(n, err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkPing compares a round trip without a socket with one over a socket.
func BenchmarkPing(b *testing.B) {
	srv, err := cantle.Open(cantle.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	for name, o := range map[string]*options.ClientOptions{"socket": options.Client(), "pipe": options.Client().SetDialer(srv)} {
		b.Run(name, func(b *testing.B) {
			client, err := mongo.Connect(o.ApplyURI(srv.URI()))
			if err != nil {
				b.Fatal(err)
			}
			defer client.Disconnect(b.Context())
			for b.Loop() {
				if err := client.Ping(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
