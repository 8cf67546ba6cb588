package fulldisk

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// ways are the ways to fill a disk and then free space, each with the function that does it and checks the server.
var ways = []struct {
	name string
	live func(w *world)
}{
	{"insert", inserts},
	{"update", updates},
	{"deleteMany", deletesMany},
	{"single deletes", deletesSingly},
	{"drop", drops},
	{"index build", builds},
	{"backup", backsUp},
	{"restart", func(w *world) { restarts(w, false) }},
	{"kill", func(w *world) { restarts(w, true) }},
	{"stranger", strangers},
}

// TestFull fills a disk in as many rounds as are due, each in the next of ten ways; fewer rounds than ways begin at a
// random way. Passes over all ways alternate between small volumes in memory and ext4 volumes in a file.
func TestFull(t *testing.T) {
	rounds, first, done := programme.Amount(t, "full-disk"), 0, 0
	programme.RecordAtEnd(t, "full-disk", 0, func() (int, string) { return done, fmt.Sprintf("%d ways in turn", len(ways)) })
	if rounds < len(ways) { // over several runs all have their turn
		first = rand.IntN(len(ways))
	}
	if os.Getenv(harness.Planted) != "" { // with a planted bug, one way is enough: each finds the bug, after minutes
		rounds, first = 1, 0
	}
	for i := first; i < first+rounds; i++ {
		way := ways[i%len(ways)]
		t.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(way.name, " ", "-"), i/len(ways)), func(t *testing.T) {
			megabytes, ext4 := 160, false
			if i/len(ways)%2 == 1 {
				megabytes, ext4 = 400, true
			}
			way.live(live(t, megabytes, ext4))
			done++
		})
	}
}

// inserts fills the disk with documents. Then eight kinds of writes that add data must be refused with the same
// message, and a drop must free space.
func inserts(w *world) {
	w.fill("side", 30)
	w.fill("main", 0)
	sentences := map[string]bool{}
	ctx := w.ctx()
	id := w.ids("main", 1)[0]
	for what, add := range map[string]func(try int) error{
		"insert": func(int) error { return w.insert("main", docBytes) },
		"update": func(int) error {
			return result(w.db.Collection("main").UpdateByID(ctx, id, bson.D{{Key: "$set", Value: bson.D{{Key: "more", Value: pad(docBytes)}}}}))
		},
		"findAndModify": func(int) error {
			return w.db.Collection("main").FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$set", Value: bson.D{{Key: "more", Value: 1}}}}).Err()
		},
		"createIndexes": func(try int) error {
			return result(w.db.Collection("main").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: fmt.Sprint("v", try), Value: 1}}}))
		},
		"$out": func(int) error {
			return result(w.db.Collection("main").Aggregate(ctx, bson.A{bson.D{{Key: "$out", Value: "copy"}}}))
		},
		"$merge": func(int) error {
			return result(w.db.Collection("main").Aggregate(ctx, bson.A{bson.D{{Key: "$merge", Value: "copy"}}}))
		},
		"createCollection": func(try int) error { return w.db.CreateCollection(ctx, fmt.Sprint("new", try)) },
		"createUser": func(try int) error {
			return w.db.RunCommand(ctx, bson.D{{Key: "createUser", Value: fmt.Sprint("u", try)}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{}}}).Err()
		},
	} {
		err := w.untilFull(add)
		w.refused(what, err)
		if err != nil {
			_, text, _ := strings.Cut(err.Error(), "The disk")
			sentences[strings.TrimRight(text, "]")] = true
		}
	}
	if len(sentences) != 1 {
		w.Errorf("one condition has several sentences: %v", sentences)
	}
	w.compare()
	w.drop("side")
	w.well()
}

func result[T any](_ T, err error) error { return err }

// untilFull repeats a write until it fails, at most ten times, and returns its error. A compaction that ends late
// can free space on a disk that was full: then the write succeeds, and the disk is filled again.
func (w *world) untilFull(add func(try int) error) (err error) {
	w.Helper()
	for try := range 10 {
		if err = add(try); err != nil {
			return err
		}
		w.fill("main", 0)
	}
	return err
}

// updates fills the disk by changing documents, whose earlier versions the change log keeps, and checks that writes
// succeed after a drop.
func updates(w *world) {
	w.fill("side", 30)
	w.fill("main", 20)
	ids := w.ids("main", 1000)
	for i, refused := 0, 0; refused < 5; i++ {
		id, version := ids[i%len(ids)], i/len(ids)+2
		_, err := w.db.Collection("main").UpdateByID(w.ctx(), id, bson.D{{Key: "$set", Value: bson.D{{Key: "v", Value: version}, {Key: "pad", Value: pad(docBytes)}}}})
		switch c := code(err); c {
		case 0:
			w.acknowledged("main", id, version)
		case outOfDiskSpace:
			refused++
			time.Sleep(200 * time.Millisecond)
		default:
			w.Fatalf("an update: %v", err)
		}
	}
	w.drop("side")
	w.well()
}

// deletesMany fills the disk and deletes half of the documents by one command, which must go on as space is freed.
func deletesMany(w *world) {
	w.fill("main", 0)
	ids := w.ids("main", w.count("main")/2)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 2*recoveryTimeout)
	defer cancel()
	r, err := w.db.Collection("main").DeleteMany(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil || int(r.DeletedCount) != len(ids) {
		w.Fatalf("deleteMany of %d after %v: %+v, %v", len(ids), time.Since(begun), r, err)
	}
	w.Logf("%d were deleted in %v", len(ids), time.Since(begun).Round(100*time.Millisecond))
	for _, id := range ids {
		w.acknowledged("main", id, 0)
	}
	w.well()
}

// deletesSingly fills the disk and deletes half of the documents one by one.
func deletesSingly(w *world) {
	w.fill("main", 0)
	begun := time.Now()
	for _, id := range w.ids("main", w.count("main")/2) {
		for {
			_, err := w.db.Collection("main").DeleteOne(w.ctx(), bson.D{{Key: "_id", Value: id}})
			if err == nil {
				break
			}
			if c := code(err); c != outOfDiskSpace || time.Since(begun) > 2*recoveryTimeout {
				w.Fatalf("a delete after %v: %v", time.Since(begun), err)
			}
		}
		w.acknowledged("main", id, 0)
	}
	w.Logf("the half was deleted in %v", time.Since(begun).Round(100*time.Millisecond))
	w.well()
}

// drops drops the only collection, and the database.
func drops(w *world) {
	w.fill("main", 0)
	w.drop("main")
	w.well()
	w.fill("main", 0)
	if err := w.db.Drop(w.ctx()); err != nil {
		w.Errorf("dropDatabase: %v", err)
	}
	clear(w.held)
	w.well()
}

// builds creates indexes until the server refuses one for lack of space; then it drops them, and checks that writes
// succeed again.
func builds(w *world) {
	w.fill("side", 30)
	for len(w.ids("main", 60_000)) < 20_000 {
		docs := []any{}
		for range 500 {
			w.next++
			docs = append(docs, bson.D{{Key: "_id", Value: w.next}, {Key: "v", Value: 1}, {Key: "s", Value: pad(700)}})
			w.acknowledged("main", w.next, 1)
		}
		if _, err := w.db.Collection("main").InsertMany(w.ctx(), docs); err != nil {
			w.Fatal(err)
		}
	}
	var err error
	for i := 0; i < 60 && err == nil; i++ {
		_, err = w.db.Collection("main").Indexes().CreateOne(w.ctx(), mongo.IndexModel{Keys: bson.D{{Key: "s", Value: 1}, {Key: fmt.Sprint("x", i), Value: 1}}})
	}
	w.refused("createIndexes", err)
	w.compare()
	if err := w.db.Collection("main").Indexes().DropAll(w.ctx()); err != nil {
		w.Error(err)
	}
	w.well()
}

// backsUp restarts the server with backups onto the disk of the data, and fills that disk with documents. Reads must be
// right, and writes must succeed after drops.
func backsUp(w *world) {
	w.server.Kill()
	w.args = []string{"--backup-to", w.path + "/backups"}
	w.start()
	w.fill("side", 20)
	w.fill("main", 0)
	w.compare()
	w.drop("side")
	w.drop("main")
	w.well()
}

// restarts ends the server, by a kill or cleanly, and starts it on the full disk: it must answer reads, and a drop
// must free space.
func restarts(w *world, kill bool) {
	w.fill("side", 30)
	w.fill("main", 0)
	w.restart(kill)
	w.compare()
	w.fill("main", 0) // the restart has deleted old logs
	w.drop("side")
	w.well()
}

// strangers fills the free space of the disk with a file of another program while clients write, and restarts the
// server beside that file. When the file is gone, writes must succeed.
func strangers(w *world) {
	w.fill("main", 20)
	writing, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for writing.Err() == nil {
			if c := code(w.insert("main", docBytes)); c != 0 && c != outOfDiskSpace {
				w.Errorf("an insert beside a stranger has code %d", c)
				return
			}
		}
	}()
	gone := w.stranger(w, 1<<40)
	time.Sleep(3 * time.Second)
	stop()
	<-ended
	w.refused("insert", w.insert("main", docBytes))
	w.compare()
	w.restart(true)
	w.compare()
	gone()
	w.well()
}
