package inprocess

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// TestRollingUpgrade replaces three servers of an older format version one after another by newer ones, each
// when clients have found the one before, while clients that use all three write. All acknowledged writes are
// there, none is there twice, and afterwards servers of the older version are refused. Drivers retry a write
// once. On a busy machine the next server can end before the retry: then the client counts the write as
// undetermined, as an application would.
func TestRollingUpgrade(t *testing.T) {
	const writers = 3
	const doubtfulMost = 3 // undetermined writes of a client: one for each server that ends
	c := newCluster(t)
	var hosts []string
	for range 3 {
		hosts = append(hosts, harness.FreeAddr(t))
	}
	var old []*gateway
	for _, host := range hosts {
		old = append(old, startAtLevel(t, c, 1, "--listen", host))
	}
	found := make(chan string, 100) // hosts that have answered a driver's heartbeat
	monitor := &event.ServerMonitor{ServerHeartbeatSucceeded: func(e *event.ServerHeartbeatSucceededEvent) {
		select {
		case found <- e.ConnectionID: // begins with the host
		default:
		}
	}}
	client := connect(t, "mongodb://"+strings.Join(hosts, ",")+"/?heartbeatFrequencyMS=500", options.Client().SetServerMonitor(monitor))
	coll := client.Database("test").Collection("counters")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	var acknowledged, doubtful [writers]int
	for w := range writers {
		_, err := coll.InsertOne(t.Context(), bson.M{"_id": w, "n": 0})
		bsontest.Must(t, err)
		group.Go(func() {
			for ctx.Err() == nil {
				_, err := coll.UpdateByID(context.WithoutCancel(ctx), w, bson.M{"$inc": bson.M{"n": 1}})
				switch {
				case err == nil:
					acknowledged[w]++
				case ofStop(err) && doubtful[w] < doubtfulMost:
					doubtful[w]++
				default:
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	var young []*gateway
	for i, host := range hosts {
		old[i].stop()
		for len(found) > 0 {
			<-found
		}
		young = append(young, startAtLevel(t, c, 2, "--listen", host))
		for at := range found { // wait: with two servers ending at once a retry could fail, and drivers retry only once
			if strings.HasPrefix(at, host+"[") {
				break
			}
		}
		bsontest.Must(t, young[i].Database("test").CreateCollection(t.Context(), "made by "+host)) // while older servers run
	}
	for admitsFormat(t, c, 1) { // until a server has noticed that no older one is left
		<-time.After(lease / 4)
	}
	cancel()
	group.Wait()
	for w := range writers {
		var doc struct{ N int }
		bsontest.Must(t, young[w].coll("counters").FindOne(t.Context(), bson.M{"_id": w}).Decode(&doc))
		if doc.N < acknowledged[w] || doc.N > acknowledged[w]+doubtful[w] {
			t.Errorf("%d increments, %d are acknowledged and %d doubtful", doc.N, acknowledged[w], doubtful[w])
		}
		if acknowledged[w] == 0 {
			t.Error("a writer did nothing")
		}
	}
}

// ofStop reports whether an error comes from a server that shuts down: its reply, or a broken connection.
func ofStop(err error) bool {
	return mongo.IsNetworkError(err) || strings.Contains(err.Error(), "ShutdownInProgress")
}

// admitsFormat reports whether a program of a format version may use the keyspace.
func admitsFormat(t *testing.T, c *tikvfake.Cluster, level uint32) bool {
	kv, err := c.Client()
	bsontest.Must(t, err)
	s, err := tikvkv.OpenOn(t.Context(), kv, tikvkv.Options{Keyspace: shop, Several: true, Lease: lease, FormatVersion: level})
	if errors.Is(err, storage.ErrFormat) {
		bsontest.Must(t, kv.Close())
		return false
	}
	bsontest.Must(t, err)
	bsontest.Must(t, s.Close())
	return true
}
