package backup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Shape of a life.
const (
	writers = 3
	kills   = 4
)

// life is a data folder with its backups, used by several server processes one after the other, and the recorded
// changes of its writers.
type life struct {
	t         *testing.T
	bin       string
	data, to  string
	rnd       *rand.Rand
	clock     clock
	writers   []*writer
	reshapes  atomic.Int64 // number of completed splits and changes of shard keys
	first     moment       // the earliest moment in the backups
	certainly moment       // a moment up to which the backups can certainly be restored
}

// newLife creates a data folder, runs all rounds of writing and killing on it, and then destroys it; its backups
// remain.
func newLife(t *testing.T, bin string, seed uint64) *life {
	t.Helper()
	dir := t.TempDir()
	l := &life{t: t, bin: bin, data: filepath.Join(dir, "data"), to: filepath.Join(dir, "backups"), rnd: rand.New(rand.NewPCG(seed, 3))}
	for i := range writers {
		l.writers = append(l.writers, &writer{name: fmt.Sprintf("w%d", i), rnd: rand.New(rand.NewPCG(seed, uint64(10+i))), clock: &l.clock, now: database{}})
	}
	for round := range kills + 1 {
		l.round(round)
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	l.wreck()
	return l
}

// round runs one server process with writers, reshaping and backups, until it is killed.
func (l *life) round(n int) {
	interval := fmt.Sprintf("%dms", 1000+l.rnd.IntN(1500))
	s, err := harness.LaunchBinary(l.bin, harness.Options{Data: l.data, Args: []string{"--backup-to", l.to, "--backup-interval", interval, "--cache-size", "16MB"}})
	if err != nil {
		l.t.Fatal(err)
	}
	defer s.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client, err := harness.Connect(s.URI, options.Client().SetRetryWrites(false).SetRetryReads(false).SetServerSelectionTimeout(3*time.Second))
	if err != nil {
		l.t.Fatal(err)
	}
	defer harness.Disconnect(client)
	for _, w := range l.writers {
		if err := w.settle(ctx, client); err != nil {
			l.t.Error(err)
			return
		}
	}
	if n == 0 {
		l.first = l.backup(s.URI)
	}
	enough := int64(150 + l.rnd.IntN(400))
	var done atomic.Int64
	load, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, w := range l.writers {
		all.Go(func() {
			for done.Add(1) <= enough {
				if err := w.step(ctx, client); err != nil {
					return // killed
				}
			}
		})
	}
	reshape := rand.New(rand.NewPCG(l.rnd.Uint64(), 1))
	all.Go(func() { l.reshape(load, client, reshape) })
	if n < kills {
		for killAt := enough * int64(50+l.rnd.IntN(50)) / 100; done.Load() < killAt; {
			time.Sleep(time.Millisecond)
		}
		if l.rnd.IntN(2) == 0 { // while a backup is being made
			go func() { _ = exec.CommandContext(load, l.bin, "backup", "--to", l.to, s.URI).Run() }()
			time.Sleep(time.Duration(l.rnd.IntN(60)) * time.Millisecond)
		}
		s.Kill()
	} else {
		for done.Load() < enough {
			time.Sleep(time.Millisecond)
		}
		l.certainly = l.backup(s.URI)
	}
	stop()
	all.Wait()
	if err := s.Trouble(); err != nil && n == kills {
		l.t.Errorf("%v\n%s", err, s.Log())
	}
}

// backup makes a backup of the server at uri by the program cantle, and returns the moment whose state the backup
// has.
func (l *life) backup(uri string) moment {
	for {
		out, err := exec.Command(l.bin, "backup", "--to", l.to, uri).CombinedOutput()
		var t, i uint32
		if err == nil {
			text := string(out)
			for at := range text {
				if _, err := fmt.Sscanf(text[at:], "(%d,%d)", &t, &i); err == nil {
					return moment(t)<<32 | moment(i)
				}
			}
			l.t.Fatalf("no moment in %s", text)
		}
		if !contains(string(out), "is being made already") && !contains(string(out), "another process is writing") {
			l.t.Fatalf("backup: %v\n%s", err, out)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// reshape splits partitions, and sets and changes shard keys, until ctx ends; it ignores refusals.
func (l *life) reshape(ctx context.Context, client *mongo.Client, rnd *rand.Rand) {
	admin := client.Database("admin")
	for ctx.Err() == nil {
		ns := l.writers[rnd.IntN(writers)].name + ".c"
		key := bson.D{{Key: []string{"k", "_id"}[rnd.IntN(2)], Value: "hashed"}}
		var cmd bson.D
		switch rnd.IntN(4) {
		case 0:
			cmd = bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 3}}
		case 1:
			cmd = bson.D{{Key: "reshardCollection", Value: ns}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 1 + rnd.IntN(4)}, {Key: "forceRedistribution", Value: true}}
		default:
			cmd = bson.D{{Key: "split", Value: ns}, {Key: "find", Value: bson.D{{Key: "_id", Value: rnd.IntN(60)}, {Key: "k", Value: rnd.IntN(17)}}}}
		}
		if admin.RunCommand(ctx, cmd).Err() == nil {
			l.reshapes.Add(1)
		}
	}
}

// wreck destroys the data folder, as a failed disk would, so that only the backups remain.
func (l *life) wreck() {
	if l.rnd.IntN(2) == 0 {
		if err := os.RemoveAll(l.data); err != nil {
			l.t.Fatal(err)
		}
		return
	}
	files, _ := filepath.Glob(filepath.Join(l.data, "store", "*"))
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if err := os.WriteFile(path, []byte("gone"), 0o600); err != nil {
				l.t.Fatal(err)
			}
		}
	}
}

// drawMoment returns a random moment to restore: the operation time of a change of any writer, or up to four less.
func (l *life) drawMoment() moment {
	for {
		w := l.writers[l.rnd.IntN(writers)]
		c := w.changes[l.rnd.IntN(len(w.changes))]
		m := c.by
		if l.rnd.IntN(3) == 0 {
			m -= moment(l.rnd.IntN(5))
		}
		if m >= l.first && m <= l.certainly {
			return m
		}
	}
}
