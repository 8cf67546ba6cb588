package follower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// writer inserts documents with ascending _id by a client with both hosts until stop, and records what was acknowledged.
type writer struct {
	mu    sync.Mutex
	acked map[int]time.Time
	errs  []error
	stop  func()
}

func (p servers) startWriter() *writer {
	w := &writer{acked: map[int]time.Time{}}
	ctx, cancel := context.WithCancel(context.Background())
	coll := p.Both().Database("shop").Collection("acked")
	var all sync.WaitGroup
	w.stop = func() { cancel(); all.Wait() }
	for part := range 4 {
		all.Go(func() {
			for n := part; ctx.Err() == nil; n += 4 {
				_, err := coll.InsertOne(ctx, bson.D{{Key: "_id", Value: n}, {Key: "by", Value: part}})
				w.mu.Lock()
				if err == nil {
					w.acked[n] = time.Now()
				} else if ctx.Err() == nil {
					w.errs = append(w.errs, err)
				}
				w.mu.Unlock()
			}
		})
	}
	p.T.Cleanup(w.stop)
	return w
}

// ids returns the _ids of the collection acked at a server.
func (p servers) ids(c *mongo.Client) map[int]bool {
	p.T.Helper()
	ctx := harness.Context(p.T)
	cursor, err := c.Database("shop").Collection("acked").Find(ctx, bson.D{}, options.Find().SetHint(bson.D{{Key: "$natural", Value: 1}}))
	if err != nil {
		p.T.Fatal(err)
	}
	var docs []struct {
		ID int `bson:"_id"`
	}
	if err := cursor.All(ctx, &docs); err != nil {
		p.T.Fatal(err)
	}
	out := map[int]bool{}
	for _, d := range docs {
		if out[d.ID] {
			p.T.Errorf("the document %d is there twice", d.ID)
		}
		out[d.ID] = true
	}
	return out
}

// rolledBack returns the _ids in the rollback files of a data folder.
func rolledBack(t *testing.T, data string) map[int]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "rollback", "*", "removed.*.bson"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]bool{}
	for _, name := range files {
		rest, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for len(rest) > 0 {
			n := int(rest[0]) | int(rest[1])<<8 | int(rest[2])<<16 | int(rest[3])<<24
			doc := bson.Raw(rest[:n])
			if err := doc.Validate(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if id, ok := doc.Lookup("_id").Int32OK(); ok {
				out[int(id)] = true
			}
			rest = rest[n:]
		}
	}
	return out
}

// TestPromote promotes the follower while clients with both hosts write, and the primary still runs. Clients write to the new
// primary without a new connection string; the former one refuses writes, and what it acknowledged and the new one does not
// have is in its rollback files. Restarted, it refuses to serve, and follows the new primary on request.
func TestPromote(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	before := p.Hello(p.Primary).Lookup("electionId").ObjectID()
	w := p.startWriter()
	time.Sleep(3 * time.Second)
	begun := time.Now()
	t.Logf("%s", p.Promote())
	hello := p.Hello(p.Follower)
	after, ok := hello.Lookup("electionId").ObjectIDOK()
	if !ok || !hello.Lookup("isWritablePrimary").Boolean() || after.Hex() <= before.Hex() || hello.Lookup("setName").StringValue() != "rs0" {
		t.Fatalf("hello of the new primary: %s; the election before was %s", hello, before.Hex())
	}
	p.Await(func() error { // the former one notices it
		if hello := p.Hello(p.Primary); hello.Lookup("isWritablePrimary").Boolean() || !hello.Lookup("secondary").Boolean() {
			return fmt.Errorf("hello of the former primary: %s", hello)
		}
		return nil
	})
	noticed := time.Since(begun)
	if got, text := code(raw(ctx, t, p.Primary.Addr, "shop", bson.D{{Key: "insert", Value: "acked"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: -1}}}}})); got != 10107 {
		t.Errorf("a write at the former primary: %d %s", got, text)
	}
	p.Await(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		n := 0
		for _, at := range w.acked {
			if at.After(begun.Add(noticed)) {
				n++
			}
		}
		if n < 20 {
			return fmt.Errorf("%d writes after the promotion", n)
		}
		return nil
	})
	w.stop()
	p.check(w, begun, noticed)

	// Restarted with its flags, the former primary refuses to serve; its rollback files stay.
	data := p.First
	if err := p.Primary.Stop(); err != nil {
		t.Error(err)
	}
	flags := []string{"--backup-to", p.Backups, "--backup-log-interval", "1s"}
	if s, err := p.TryLaunch(data, p.Ports[0], p.Ports[1], flags...); err == nil {
		t.Error("the former primary starts as a primary")
		s.Kill()
	} else if !strings.Contains(err.Error(), "is the primary no more") || !strings.Contains(err.Error(), "cantle follow") {
		t.Errorf("the former primary ends with %v", err)
	}
	p.Await(func() error { // until the first backup of the new primary is complete
		s, err := p.TryLaunch(data, p.Ports[0], p.Ports[1], "--follow", p.Backups)
		if err != nil {
			return err
		}
		p.Primary = s
		coll := p.Direct(s).Database("shop").Collection("acked", options.Collection().SetReadPreference(readpref.Secondary()))
		if err := coll.FindOne(ctx, bson.D{{Key: "_id", Value: 0}}).Err(); err != nil {
			t.Errorf("the copy at the former primary: %v", err)
		}
		return nil
	})
	fresh := p.Both().Database("shop").Collection("acked")
	if _, err := fresh.InsertOne(ctx, bson.D{{Key: "_id", Value: -2}}); err != nil {
		t.Fatal(err)
	}
	p.Await(func() error {
		coll := p.Direct(p.Primary).Database("shop").Collection("acked", options.Collection().SetReadPreference(readpref.Secondary()))
		return coll.FindOne(ctx, bson.D{{Key: "_id", Value: -2}}).Err()
	})
	if got := len(rolledBack(t, data)); got == 0 && noticed > 2*time.Second {
		t.Error("the rollback files are gone")
	}

	// The same command line starts the new primary again, as a primary.
	p.Follower.Kill()
	p.StartFollower()
	if hello := p.Hello(p.Follower); !hello.Lookup("isWritablePrimary").Boolean() || hello.Lookup("electionId").ObjectID() != after {
		t.Errorf("hello after a restart: %s", hello)
	}
}

// check compares what was acknowledged with what the new primary and the rollback files have: nothing is missing in both, and
// what is only in the rollback files was acknowledged at most the shown lag before the promotion, or after it by the former primary.
func (p servers) check(w *writer, begun time.Time, noticed time.Duration) {
	p.T.Helper()
	there := p.ids(p.Direct(p.Follower))
	var lost map[int]bool
	missing := 0
	p.Await(func() error { // the rollback files are written after the writes are refused
		lost = rolledBack(p.T, p.First)
		missing = 0
		for n, at := range w.acked {
			if there[n] {
				continue
			}
			missing++
			if !lost[n] {
				return fmt.Errorf("the document %d, acknowledged %v after the promotion began, is neither at the new primary nor in a rollback file", n, at.Sub(begun))
			}
			if at.Before(begun.Add(-3 * time.Second)) {
				return fmt.Errorf("the document %d is lost, although it was acknowledged %v before the promotion", n, begun.Sub(at))
			}
		}
		return nil
	})
	first := time.Duration(1 << 62)
	for n, at := range w.acked {
		if there[n] && at.After(begun) {
			first = min(first, at.Sub(begun))
		}
	}
	p.T.Logf("%d writes acknowledged, %d of them only in rollback files, %d errors; first write at the new primary after %v; the former one noticed it after %v",
		len(w.acked), missing, len(w.errs), first.Round(time.Millisecond), noticed.Round(time.Millisecond))
}

// TestPromoteKilled promotes after the primary was killed, and kills the follower in the middle of the promotion, at random
// moments: it resumes or rolls back at its next start, and is promoted at last. The former primary, started again, writes its
// rollback files and refuses to serve.
func TestPromoteKilled(t *testing.T) {
	p := startPair(t)
	w := p.startWriter()
	time.Sleep(2500 * time.Millisecond)
	p.Primary.Kill()
	begun := time.Now()
	for _, delay := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond} {
		ctx, cancel := context.WithCancel(harness.Context(t))
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = p.TryPromote(ctx) }()
		time.Sleep(100*time.Millisecond + delay)
		p.Follower.Kill()
		cancel()
		<-ended
		p.StartFollower()
		if p.Hello(p.Follower).Lookup("isWritablePrimary").Boolean() {
			break
		}
	}
	p.Promote() // of a primary it changes nothing
	p.Await(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, at := range w.acked {
			if at.After(begun.Add(time.Second)) {
				return nil
			}
		}
		return errors.New("no write after the promotion")
	})
	w.stop()
	if _, err := p.TryLaunch(p.First, p.Ports[0], p.Ports[1], "--backup-to", p.Backups, "--backup-log-interval", "1s"); err == nil || !strings.Contains(err.Error(), "is the primary no more") {
		t.Errorf("the former primary starts: %v", err)
	}
	p.check(w, begun, 0)
	validate, err := p.Direct(p.Follower).Database("shop").RunCommand(harness.Context(t), bson.D{{Key: "validate", Value: "acked"}}).Raw()
	if err != nil || !validate.Lookup("valid").Boolean() {
		t.Errorf("validate: %v, %v", validate, err)
	}
}

// TestPromotePlanned stops the primary and promotes the follower: nothing that was acknowledged is lost, and there are no
// rollback files.
func TestPromotePlanned(t *testing.T) {
	p := startPair(t)
	w := p.startWriter()
	time.Sleep(2500 * time.Millisecond)
	if err := p.Primary.Stop(); err != nil {
		t.Error(err)
	}
	p.Promote()
	w.stop()
	there := p.ids(p.Direct(p.Follower))
	for n := range w.acked {
		if !there[n] {
			t.Errorf("the document %d is lost", n)
		}
	}
	if _, err := p.TryLaunch(p.First, p.Ports[0], p.Ports[1], "--backup-to", p.Backups, "--backup-log-interval", "1s"); err == nil || !strings.Contains(err.Error(), "acknowledged no later writes") {
		t.Errorf("the former primary: %v", err)
	}
	if lost := rolledBack(t, p.First); len(lost) != 0 {
		t.Errorf("%d documents are in rollback files", len(lost))
	}
}

// TestPromoteUnnoticed promotes the follower after the primary was killed, which then starts with cantle follow at once: it writes
// its rollback files, and follows. The same happens the other way round: the new primary is killed, deposed, and starts with the
// command line that it was promoted with.
func TestPromoteUnnoticed(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	follow := func(data string, own, other int) *harness.Server {
		t.Helper()
		var s *harness.Server
		p.Await(func() (err error) { // until the first backup of the new primary is complete
			s, err = p.TryLaunch(data, p.Ports[own], p.Ports[other], "--follow", p.Backups, "--backup-log-interval", "1s")
			return err
		})
		if hello := p.Hello(s); hello.Lookup("isWritablePrimary").Boolean() || !hello.Lookup("secondary").Boolean() {
			t.Fatalf("hello of the former primary: %s", hello)
		}
		return s
	}
	acked := p.Both().Database("shop").Collection("acked")
	p.Follower.Kill() // what follows is not in the copy of the follower
	if _, err := p.Direct(p.Primary).Database("shop").Collection("acked").InsertOne(ctx, bson.D{{Key: "_id", Value: 7}}); err != nil {
		t.Fatal(err)
	}
	p.Primary.Kill()
	p.StartFollower()
	p.Promote()
	p.Primary = follow(p.First, 0, 1)
	p.Await(func() error {
		_, err := acked.InsertOne(ctx, bson.D{{Key: "_id", Value: 8}})
		return err
	})
	if there := p.ids(p.Direct(p.Follower)); !there[7] && !rolledBack(t, p.First)[7] || !there[8] {
		t.Errorf("the new primary has %v, the rollback files %v", there, rolledBack(t, p.First))
	}
	p.Await(func() error { // the copy has what the new primary has
		coll := p.Direct(p.Primary).Database("shop").Collection("acked", options.Collection().SetReadPreference(readpref.Secondary()))
		return coll.FindOne(ctx, bson.D{{Key: "_id", Value: 8}}).Err()
	})
	p.Follower.Kill()
	p.Primary, p.Follower, p.Ports[0], p.Ports[1] = p.Follower, p.Primary, p.Ports[1], p.Ports[0]
	p.Promote()
	p.Primary = follow(p.Data, 0, 1)
	if _, err := acked.InsertOne(ctx, bson.D{{Key: "_id", Value: 9}}); err != nil {
		t.Error(err)
	}
}

// TestPromoteDuringBackup promotes the follower while the primary copies the files of a backup, slowly: it refuses writes after
// the interval of segments.
func TestPromoteDuringBackup(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	if err := p.Primary.Stop(); err != nil {
		t.Fatal(err)
	}
	p.Primary = p.Launch(p.First, p.Ports[0], p.Ports[1], "--backup-to", p.Backups, "--backup-log-interval", "1s", "--backup-interval", "1s", "--backup-rate", "1")
	p.Await(func() error {
		running, err := p.Status(p.Primary, "backup.running")
		if err == nil && !running.Boolean() {
			err = errors.New("no backup is running")
		}
		return err
	})
	p.Promote()
	begun := time.Now()
	p.Await(func() error {
		got, text := code(raw(ctx, t, p.Primary.Addr, "shop", bson.D{{Key: "insert", Value: "acked"}, {Key: "documents", Value: bson.A{bson.D{}}}}))
		if got != 10107 {
			return fmt.Errorf("a write at the former primary: %d %s", got, text)
		}
		return nil
	})
	if took := time.Since(begun); took > 45*time.Second {
		t.Errorf("the former primary refuses writes after %v", took)
	}
}

// TestPromoteRefused promotes the follower while the place of backups does not accept the file of its term: nothing has changed afterwards, also not
// after a restart, and the follower goes on.
func TestPromoteRefused(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	inTheWay := filepath.Join(p.Backups, "term-00000002")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := p.TryPromote(ctx)
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err == nil || !strings.Contains(out, "given up") {
		t.Fatalf("cantle promote: %v, %s", err, out)
	}
	for n := range 2 {
		if _, err := p.Direct(p.Primary).Database("shop").Collection("acked").InsertOne(ctx, bson.D{{Key: "_id", Value: n}}); err != nil {
			t.Fatal(err)
		}
		p.Await(func() error {
			coll := p.Direct(p.Follower).Database("shop").Collection("acked", options.Collection().SetReadPreference(readpref.Secondary()))
			return coll.FindOne(ctx, bson.D{{Key: "_id", Value: n}}).Err()
		})
		p.Follower.Kill()
		p.StartFollower()
	}
	if _, err := os.Stat(filepath.Join(p.Data, "TERM")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record of the promotion: %v", err)
	}
}
