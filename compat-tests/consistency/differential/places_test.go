package differential

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// places holds the servers that are used in addition to those in memory: each is started when a set of documents
// first needs it. Each function returns the addresses of all servers over the same data.
type places struct {
	files   func() ([]string, error)
	cluster func() ([]string, error)
}

// newPlaces returns places whose servers end with the test.
func newPlaces(t *testing.T) *places {
	start := func(build func() (string, error), options func() (harness.Options, error), n int) func() ([]string, error) {
		return sync.OnceValues(func() (addrs []string, err error) {
			program, err := build()
			if err != nil {
				return nil, err
			}
			o, err := options()
			if err != nil {
				return nil, err
			}
			for range n {
				s, err := harness.LaunchBinary(program, o)
				if err != nil {
					return nil, err
				}
				t.Cleanup(func() {
					if err := s.Stop(); err != nil {
						t.Errorf("stopping a server: %v\n%s", err, s.Log())
					}
				})
				addrs = append(addrs, s.Addr)
			}
			return addrs, nil
		})
	}
	return &places{
		files: start(harness.Binary, func() (harness.Options, error) { return harness.Options{Data: t.TempDir()}, nil }, 1),
		cluster: start(harness.Binary, func() (harness.Options, error) {
			where, _, end, err := harness.LaunchCluster()
			if err == nil {
				t.Cleanup(end)
			}
			return harness.Options{Storage: where}, err
		}, 3),
	}
}

// of returns the addresses of the servers at a place, and starts these servers if they do not run yet.
func (p *places) of(at where) ([]string, error) {
	switch at {
	case onFiles:
		return p.files()
	case onServers:
		return p.cluster()
	}
	addrs, err := p.cluster()
	return addrs[:min(1, len(addrs))], err
}

// settle gives a way of storage its connections, and starts its servers if they do not run yet. Errors: errors of
// starting servers and of connections.
func (k *populatedWay) settle() error {
	switch {
	case k.way.tight:
		k.conn = k.set.tight
		return nil
	case k.way.alone:
		return k.launch()
	case k.way.place == "":
		k.conn = k.set.normal
		return nil
	}
	addrs, err := k.set.places.of(k.way.place)
	if err != nil {
		return err
	}
	for _, addr := range addrs {
		c, err := dial(addr)
		if err != nil {
			return err
		}
		k.serverConns = append(k.serverConns, c)
	}
	k.conn = k.serverConns[0]
	return nil
}

// nextServer switches to the next of several servers.
func (k *populatedWay) nextServer() {
	if len(k.serverConns) > 1 {
		k.questionCount++
		k.conn = k.serverConns[k.questionCount%len(k.serverConns)]
	}
}

// launch starts a server for this way alone.
func (k *populatedWay) launch() error {
	binary, err := harness.Binary()
	if err != nil {
		return err
	}
	if k.data == "" {
		k.data = filepath.Join(k.set.scratch(), fmt.Sprintf("%s-%s", k.set.db, k.coll))
	}
	k.server, err = harness.LaunchBinary(binary, harness.Options{Data: k.data, Args: []string{"--cache-size", "16MB", "--backup-to", k.backups(), "--backup-interval", "0"}})
	if err != nil {
		return err
	}
	k.conn, err = dial(k.server.Addr)
	k.serverConns = []*conn{k.conn}
	return err
}

// backups returns the folder of backups.
func (k *populatedWay) backups() string { return k.data + "-backups" }

// restart kills the way's server, and starts it again.
func restart(k *populatedWay) error {
	k.server.Kill()
	_ = k.conn.Close()
	return k.launch()
}

// restored makes a backup, restores it into a new folder, and connects the way to a server over that folder.
func restored(k *populatedWay) error {
	binary, err := harness.Binary()
	if err != nil {
		return err
	}
	to := k.backups()
	if out, err := exec.Command(binary, "backup", "--to", to, k.server.URI).CombinedOutput(); err != nil {
		return fmt.Errorf("backup: %w\n%s", err, out)
	}
	if err := k.server.Stop(); err != nil {
		return err
	}
	_ = k.conn.Close()
	_ = os.RemoveAll(k.data)
	defer os.RemoveAll(to)
	k.data += "-restored"
	if out, err := exec.Command(binary, "restore", "--from", to, "--data", k.data).CombinedOutput(); err != nil {
		return fmt.Errorf("restore: %w\n%s", err, out)
	}
	return k.launch()
}

// passed makes all later queries of a way read at the present cluster time, and then changes documents and
// partitions, so that these queries read the past.
func passed(k *populatedWay) error {
	reply, err := k.conn.must(k.set.db, bson.D{{Key: "find", Value: k.coll}, {Key: "limit", Value: 1}, {Key: "readConcern", Value: one("level", "snapshot")}})
	if err != nil {
		return err
	}
	at := reply.Lookup("cursor", "atClusterTime")
	k.concern = bson.D{{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}, {Key: "atClusterTime", Value: at}}}}
	for _, coll := range []string{k.coll, k.foreign} {
		for _, command := range []bson.D{
			{{Key: "delete", Value: coll}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: one("_id", one("$mod", bson.A{3, 0}))}, {Key: "limit", Value: 0}}}}},
			{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}, {Key: "u", Value: bson.A{one("$set", bson.D{{Key: "n", Value: "$b"}, {Key: "later", Value: 1}})}}, {Key: "multi", Value: true}}}}},
		} {
			if _, err := k.conn.run(k.set.db, command); err != nil { // an index may refuse the new values
				return err
			}
		}
		if _, err := k.conn.run(k.set.db, bson.D{{Key: "createIndexes", Value: coll}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "k", Value: 1}, {Key: "later", Value: -1}}}, {Key: "name", Value: "later"}}}}}); err != nil {
			return err
		}
	}
	if k.shard != nil {
		k.move(0)
		k.move(1)
	}
	return nil
}

// move splits, merges, moves or reshards the collection of a way. The server may refuse the command, for example if
// there is nothing to merge.
func (k *populatedWay) move(kind int) {
	ns := k.set.db + "." + k.coll
	if k.rng == nil {
		k.rng = rand.New(rand.NewPCG(k.set.seed, 7))
	}
	at := bson.E{Key: "find", Value: bson.D{{Key: "_id", Value: int32(k.rng.IntN(60))}, {Key: "k", Value: int32(k.rng.IntN(keys))}}}
	to := fmt.Sprintf("p%d", k.rng.IntN(4))
	command := bson.D{{Key: "split", Value: ns}, at}
	switch kind {
	case 1:
		command = bson.D{{Key: "moveChunk", Value: ns}, at, {Key: "to", Value: to}}
	case 2:
		command = bson.D{{Key: "mergeAllChunksOnShard", Value: ns}, {Key: "shard", Value: to}}
	case 3:
		key := oneOf(drawer{Rand: k.rng}, one("_id", "hashed"), one("k", int32(1)), one("k", "hashed"))
		command = bson.D{{Key: "reshardCollection", Value: ns}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 1 + k.rng.IntN(3)}, {Key: "forceRedistribution", Value: true}}
	}
	_, _ = k.conn.run("admin", command)
}

// queryPlanKilled is the error code of a getMore whose collection was resharded since the cursor was opened.
const queryPlanKilled = 175

// excuses reports whether an error code is one that the server may return in this way of storage only.
func (w *way) excuses(code int32) bool {
	return w.tight && code == noSpilling || w.moves && code == queryPlanKilled
}

// between sometimes moves partitions of a way between two batches of a cursor, or before a query, if the way is one
// whose partitions move.
func (k *populatedWay) between(batches bool) {
	if !k.way.moves {
		return
	}
	if k.rng == nil {
		k.rng = rand.New(rand.NewPCG(k.set.seed, 7))
	}
	switch n := k.rng.IntN(24); {
	case n < 6:
		k.move(n % 3)
	case n == 6 && !batches: // resharding would end the cursor
		k.move(3)
	}
}
