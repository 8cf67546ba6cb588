package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// gateway is one of several servers over a store.
type gateway struct {
	*mongo.Client
	URI               string
	c                 *tikvfake.Cluster
	d                 *daemon.Daemon
	away              atomic.Bool  // cut off from the cluster
	timestampRequests atomic.Int64 // timestamps that the server has requested
	timestampLimit    atomic.Int64 // timestamps that it may request before it is cut off; 0 = any number
	ended             bool
}

// oracle returns an error if the server is cut off from the cluster's timestamps. Without new ones it neither
// renews its lease nor makes progress, like a suspended process.
func (g *gateway) oracle() error {
	n, last := g.timestampRequests.Add(1), g.timestampLimit.Load()
	if g.away.Load() || last > 0 && n > last {
		return errors.New("this gateway is cut off")
	}
	return nil
}

// shop is the keyspace of all servers.
const shop = "several"

// lease is the duration of a lease: the time that other servers wait for a silent one.
const lease = 4 * time.Second

// newCluster starts a simulated cluster that ends with the test.
func newCluster(t *testing.T) *tikvfake.Cluster {
	t.Helper()
	c, err := tikvfake.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// start starts a server over a cluster, with flags in addition to the usual ones.
func start(t *testing.T, c *tikvfake.Cluster, args ...string) *gateway {
	t.Helper()
	return startAtLevel(t, c, tikvkv.FormatVersion, args...)
}

// startAtLevel starts a server whose program reads formats up to a version.
func startAtLevel(t *testing.T, c *tikvfake.Cluster, level uint32, args ...string) *gateway {
	t.Helper()
	g := &gateway{c: c}
	cfg := daemon.Config{Wrap: func(own storage.Store) storage.Store {
		_ = own.Close()
		kv, err := c.ClientUntil(g.oracle)
		if err != nil {
			t.Fatal(err)
		}
		s, err := tikvkv.OpenOn(context.Background(), kv, tikvkv.Options{Keyspace: shop, Several: true, Lease: lease, ServerName: t.Name(), FormatVersion: level})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
	set := flags.New("cantle serve")
	cfg.Flags(set)
	if err := flags.Parse(set, append([]string{"--memory", "--enable-test-commands", "--listen", "127.0.0.1:0", "--drain", "1s"}, args...)); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Start(context.Background(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	g.d, g.URI = d, d.URI()
	g.Client = connect(t, g.URI)
	t.Cleanup(func() {
		g.stop()
		if panics, unforeseen := d.Defects(); panics+unforeseen > 0 {
			t.Errorf("the server met %d panics and answered %d errors that nobody has foreseen", panics, unforeseen)
		}
	})
	return g
}

// startLike starts another server over the cluster of a given one.
func startLike(t *testing.T, g *gateway, args ...string) *gateway {
	t.Helper()
	return start(t, g.c, args...)
}

// stop ends a server, once.
func (g *gateway) stop() {
	if !g.ended {
		g.ended = true
		_ = g.d.Stop()
	}
}

// connect returns a client that ends with the test.
func connect(t *testing.T, uri string, more ...*options.ClientOptions) *mongo.Client {
	t.Helper()
	c, err := mongo.Connect(append([]*options.ClientOptions{options.Client().ApplyURI(uri).SetServerSelectionTimeout(10 * time.Second)}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = c.Disconnect(ctx)
	})
	return c
}

// several starts n servers over one cluster.
func several(t *testing.T, n int, args ...string) (list []*gateway) {
	c := newCluster(t)
	for range n {
		list = append(list, start(t, c, args...))
	}
	return list
}

// coll returns a collection as a server sees it.
func (g *gateway) coll(name string) *mongo.Collection { return g.Database("test").Collection(name) }

// replace writes a document and replaces an earlier one with the same _id.
func (g *gateway) replace(t *testing.T, coll string, doc bson.M) error {
	_, err := g.coll(coll).ReplaceOne(t.Context(), bson.M{"_id": doc["_id"]}, doc, options.Replace().SetUpsert(true))
	return err
}

// Compares a result with the expected one.
func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, wanted %v", what, got, want)
	}
}
