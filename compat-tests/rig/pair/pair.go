// Package pair starts a primary with automatic backups and a server that follows it, as the two members of a replica set.
package pair

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/s3server"
	"github.com/cantledb/cantle/internal/testenv"
)

// patience bounds each wait for a condition.
const patience = 3 * time.Minute

// lookEvery is the interval at which a condition is examined.
const lookEvery = 100 * time.Millisecond

// Pair is a primary with automatic backups, and a follower of these.
type Pair struct {
	T                 *testing.T
	Backups, Data     string   // the place of backups, as the follower reaches it; --data of the follower
	First             string   // --data of the primary
	Place             string   // Backups, as the primary reaches them
	Env               []string // of both servers
	Flags             []string // further ones of the follower
	Ports             []string // addresses of the primary and of the follower
	Primary, Follower *harness.Server
}

// InFolder starts both servers over a place of backups in a folder.
func InFolder(t *testing.T) *Pair {
	t.Helper()
	backups := filepath.Join(t.TempDir(), "backups")
	p := &Pair{T: t, Backups: backups, Place: backups}
	p.start()
	return p
}

// InObjectStore starts both servers over a place of backups in an object store, which the primary reaches through the
// proxy. flags are further ones of the follower.
func InObjectStore(t *testing.T, flags ...string) (p *Pair, store *s3server.Server, proxy *s3server.Proxy) {
	t.Helper()
	store = s3server.Start(t)
	proxy = store.Interpose(t)
	p = &Pair{T: t, Backups: store.Location("shop", store.URL), Place: store.Location("shop", proxy.URL), Env: s3server.Environment(), Flags: flags}
	p.start()
	return p, store, proxy
}

// start starts both servers. The primary has the collection shop.orders with two documents and an index before the follower
// copies it.
func (p *Pair) start() {
	t := p.T
	t.Helper()
	testenv.SkipWithURI(t)
	if testenv.Storage() != "" {
		t.Skip("a server over a cluster has no files to back up")
	}
	p.Data = filepath.Join(t.TempDir(), "copy")
	p.Ports = []string{harness.FreeAddr(t), harness.FreeAddr(t)}
	p.First = filepath.Join(t.TempDir(), "data")
	p.Primary = p.Launch(p.First, p.Ports[0], p.Ports[1], "--backup-to", p.Place, "--backup-log-interval", "1s")
	c := p.Direct(p.Primary).Database("shop").Collection("orders")
	if _, err := c.InsertMany(harness.Context(t), []any{bson.D{{Key: "_id", Value: 1}, {Key: "n", Value: 1}}, bson.D{{Key: "_id", Value: 2}, {Key: "n", Value: 2}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Indexes().CreateOne(harness.Context(t), mongo.IndexModel{Keys: bson.D{{Key: "n", Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	p.Await(func() error {
		_, err := p.Status(p.Primary, "backup.coveredTo")
		return err
	})
	p.StartFollower()
	p.Await(func() error { // its first backup may be older than the documents and the index
		coll := p.Direct(p.Follower).Database("shop").Collection("orders", options.Collection().SetReadPreference(readpref.Secondary()))
		if list, err := coll.Indexes().ListSpecifications(harness.Context(t)); err != nil || len(list) != 2 {
			return fmt.Errorf("the copy has the indexes %v: %v", list, err)
		}
		return nil
	})
	t.Cleanup(func() {
		for _, s := range []*harness.Server{p.Follower, p.Primary} {
			if err := s.Stop(); err != nil {
				t.Errorf("stopping: %v", err)
			}
			if t.Failed() {
				t.Logf("log:\n%s", s.Log())
			}
		}
	})
}

// Launch starts a server as a member of the replica set.
func (p *Pair) Launch(data, own, other string, flags ...string) *harness.Server {
	p.T.Helper()
	s, err := p.TryLaunch(data, own, other, flags...)
	if err != nil {
		p.T.Fatal(err)
	}
	return s
}

// TryLaunch is Launch that may fail.
func (p *Pair) TryLaunch(data, own, other string, flags ...string) (*harness.Server, error) {
	return harness.Launch(harness.Options{Data: data, Env: p.Env, Args: append([]string{"--listen", own, "--replica-set", "rs0/" + own + "," + other}, flags...)})
}

// StartFollower starts the follower, also again.
func (p *Pair) StartFollower() {
	p.T.Helper()
	p.Follower = p.Launch(p.Data, p.Ports[1], p.Ports[0], append([]string{"--follow", p.Backups, "--backup-log-interval", "1s"}, p.Flags...)...)
}

// Burn kills the primary and deletes its folder.
func (p *Pair) Burn() {
	p.T.Helper()
	p.Primary.Kill()
	if err := os.RemoveAll(p.First); err != nil {
		p.T.Fatal(err)
	}
}

// URI returns the connection string with both hosts, as applications have it.
func (p *Pair) URI() string { return "mongodb://" + strings.Join(p.Ports, ",") + "/?replicaSet=rs0" }

// Direct returns a client of one server alone.
func (p *Pair) Direct(s *harness.Server) *mongo.Client {
	return p.Connect("mongodb://" + s.Addr + "/?directConnection=true")
}

// Both returns a client with both hosts.
func (p *Pair) Both() *mongo.Client { return p.Connect(p.URI()) }

// Connect returns a client, which is disconnected when the test ends.
func (p *Pair) Connect(uri string, more ...*options.ClientOptions) *mongo.Client {
	p.T.Helper()
	c, err := harness.Connect(uri, more...)
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { harness.Disconnect(c) })
	return c
}

// Await repeats try until it succeeds, for at most patience.
func (p *Pair) Await(try func() error) {
	p.T.Helper()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for begun := time.Now(); ; <-look.C {
		err := try()
		if err == nil {
			return
		}
		if time.Since(begun) > patience {
			p.T.Fatal(err)
		}
	}
}

// Status returns a field of serverStatus.
func (p *Pair) Status(s *harness.Server, path string) (v bson.RawValue, err error) {
	c, err := harness.Connect("mongodb://" + s.Addr + "/?directConnection=true")
	if err != nil {
		return v, err
	}
	defer harness.Disconnect(c)
	raw, err := c.Database("admin").RunCommand(harness.Context(p.T), bson.D{{Key: "serverStatus", Value: 1}}).Raw()
	if err != nil {
		return v, err
	}
	return raw.LookupErr(strings.Split(path, ".")...)
}

// Promote runs cantle promote for the follower, and returns its output.
func (p *Pair) Promote() string {
	p.T.Helper()
	out, err := p.TryPromote(harness.Context(p.T))
	if err != nil {
		p.T.Fatalf("cantle promote: %v\n%s", err, out)
	}
	return out
}

// TryPromote is Promote that may fail.
func (p *Pair) TryPromote(ctx context.Context) (string, error) {
	binary, err := harness.Binary()
	if err != nil {
		p.T.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, binary, "promote", "mongodb://"+p.Follower.Addr+"/").CombinedOutput()
	return string(out), err
}

// Hello returns the reply of one server.
func (p *Pair) Hello(s *harness.Server) bson.Raw {
	p.T.Helper()
	reply, err := p.Direct(s).Database("admin").RunCommand(harness.Context(p.T), bson.D{{Key: "hello", Value: 1}}).Raw()
	if err != nil {
		p.T.Fatal(err)
	}
	return reply
}
