package damage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// counts holds the outcomes of the rounds.
type counts struct {
	rounds, refused, errored, harmless, served, found, saved, lost, outside, fromLog, older int
}

func TestRandomDamage(t *testing.T) {
	bin, err := harness.Build("")
	if err != nil {
		t.Fatal(err)
	}
	rounds := programme.Amount(t, "bit-flip")
	folders := []*made{makeFolder(t, bin, false), makeFolder(t, bin, true), makeFolder(t, bin, false).forgetful(t)}
	first := time.Now().UnixNano() % 1e9
	if seed, ok := testenv.Seed(t); ok {
		first, rounds = int64(seed), 1
	}
	var c counts
	programme.RecordAtEnd(t, "bit-flip", uint64(first), func() (int, string) { return c.rounds, c.String() })
	for i := range rounds {
		seed := first + int64(i)
		m := folders[seed%int64(len(folders))]
		t.Run(fmt.Sprint(seed), func(t *testing.T) { c.round(t, bin, m, seed) })
	}
}

func (c *counts) String() string {
	return fmt.Sprintf("%d refused to start, %d answered some questions with an error, %d did not matter; %d were served read-only; check found %d; salvage saved %d documents, of them %d from the change log, set %d aside and lost %d in damaged blocks, %d outside",
		c.refused, c.errored, c.harmless, c.served, c.found, c.saved, c.fromLog, c.older, c.lost-c.outside, c.outside)
}

// round damages a copy of a prepared folder in one random place, runs check and salvage, starts a server on it,
// reads all data, and compares them with the model.
func (c *counts) round(t *testing.T, bin string, m *made, seed int64) {
	rng := rand.New(rand.NewPCG(uint64(seed), 7))
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		t.Fatal(err)
	}
	in := hurt(t, dir, rng)
	defer func() {
		if t.Failed() {
			t.Logf("seed %d: %s", seed, in)
		}
	}()
	c.rounds++
	report, status := run(t, bin, "check", "--data", dir)
	if status == 2 {
		t.Errorf("check cannot look: %s", report)
	}
	if status == 1 {
		c.found++
	}
	c.salvage(t, bin, dir, m, in, status == 1)
	work := dir + "-served"
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s := serve(t, bin, work)
	if s.uri == "" {
		c.refused++
		s.stop(t)
		if s.status != 4 || strings.Count(strings.TrimSpace(s.out()), "\n") > 8 || !strings.Contains(s.out(), "cantle salvage") {
			t.Errorf("status %d: %s", s.status, s.out())
		}
		if status != 1 {
			t.Errorf("check found nothing (%s) and the server does not start: %s", report, s.out())
		}
		if s = serve(t, bin, dir, "--serve-damaged"); s.uri == "" {
			s.stop(t)
			if s.status != 4 {
				t.Errorf("--serve-damaged: status %d: %s", s.status, s.out())
			}
			return
		}
		c.served++
		readEverything(t, s, m, in.kind == "log", rng, t.Errorf)
		readOnly(t, s)
		s.stop(t)
		return
	}
	if bad := readEverything(t, s, m, false, rng, t.Errorf); bad > 0 {
		c.errored++
		if status != 1 {
			t.Errorf("check found nothing (%s) and %d questions were not answered", report, bad)
		}
	} else {
		c.harmless++
	}
	s.stop(t)
}

// readEverything reads all documents, and many by _id and by an index, tries a write, and returns the number of reads
// that failed. With back, the state before the server's last life is right too. It calls wrong for each wrong
// result.
func readEverything(t *testing.T, s *server, m *made, back bool, rng *rand.Rand, wrong func(format string, args ...any)) (bad int) {
	t.Helper()
	client := s.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	defer func() { _ = client.Disconnect(ctx) }()
	right := func(ns string, id int32, got string) {
		t.Helper()
		want, ok := m.docs[ns][id]
		if ok && got == want || !ok && got == "" {
			return
		}
		if past, changed := m.past[ns][id]; back && changed && (got == past || got == "" || isReplacedVersion(m, ns, id, got)) {
			return
		}
		wrong("a wrong answer: %s %d is %q, not %q", ns, id, bson.Raw(got), bson.Raw(want))
	}
	for _, ns := range namespaces {
		db, name, _ := strings.Cut(ns, ".")
		coll := client.Database(db).Collection(name)
		seen, err := all(ctx, coll, bson.D{})
		bad += judge(err, wrong)
		if err == nil {
			for id := range m.docs[ns] {
				if _, ok := seen[id]; !ok {
					right(ns, id, "")
				}
			}
		}
		for id, got := range seen {
			right(ns, id, got)
		}
		for range 30 {
			id := int32(rng.IntN(620))
			got, err := all(ctx, coll, bson.D{{Key: "_id", Value: id}})
			if bad += judge(err, wrong); err == nil {
				right(ns, id, got[id])
			}
		}
		for v := range int32(20) {
			got, err := all(ctx, coll, bson.D{{Key: "v", Value: v}})
			bad += judge(err, wrong)
			for id, doc := range got {
				right(ns, id, doc)
			}
			if err == nil && !back {
				for id, doc := range m.docs[ns] {
					if n, _ := bson.Raw(doc).Lookup("v").Int32OK(); n == v && got[id] == "" {
						wrong("a wrong answer: %s %d is not found by its v %d", ns, id, v)
					}
				}
			}
		}
		n, err := coll.CountDocuments(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: -1}}}})
		if bad += judge(err, wrong); err == nil && !back && n != int64(len(m.docs[ns])) {
			wrong("a wrong answer: %s has %d documents, not %d", ns, n, len(m.docs[ns]))
		}
	}
	if _, err := client.Database("shop").Collection("new").InsertOne(ctx, bson.D{}); err != nil {
		var refused mongo.ServerError
		if !errors.As(err, &refused) || !refused.HasErrorCode(20) && !refused.HasErrorCode(301) {
			wrong("a write: %v", err)
		}
	}
	return bad
}

// isReplacedVersion reports whether the document got may be a version that the server's last life wrote and later
// replaced: the log may have been cut between the two writes.
func isReplacedVersion(m *made, ns string, id int32, got string) bool {
	doc := bson.Raw(got)
	n, ok := doc.Lookup("_id").Int32OK()
	return ok && n == id && doc.Validate() == nil && len(got) == len(m.sample(ns))
}

func (m *made) sample(ns string) string {
	for _, doc := range m.docs[ns] {
		return doc
	}
	return ""
}

// all finds documents, by _id.
func all(ctx context.Context, coll *mongo.Collection, filter bson.D) (map[int32]string, error) {
	out := map[int32]string{}
	cur, err := coll.Find(ctx, filter)
	if err != nil {
		return out, err
	}
	defer cur.Close(ctx)
	for cur.Next(ctx) {
		id, _ := cur.Current.Lookup("_id").Int32OK()
		out[id] = string(cur.Current)
	}
	return out, cur.Err()
}

// judge returns 1 for an error of a read and 0 for nil, for counting. It calls wrong if the error does not report
// that data are damaged, or has a stack trace.
func judge(err error, wrong func(format string, args ...any)) int {
	var refused mongo.ServerError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused) && refused.HasErrorCode(301):
		if m := stack.FindString(err.Error()); m != "" {
			wrong("%q was answered: %v", m, err)
		}
		return 1
	}
	wrong("an error that does not say what is wrong: %v", err)
	return 1
}

// readOnly checks that a server over damaged data reports itself as read-only to clients and refuses writes.
func readOnly(t *testing.T, s *server) {
	t.Helper()
	client := s.client(t)
	defer func() { _ = client.Disconnect(t.Context()) }()
	var hello struct {
		ReadOnly bool `bson:"readOnly"`
	}
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil || !hello.ReadOnly {
		t.Errorf("hello: %+v, %v", hello, err)
	}
	var refused mongo.ServerError
	_, err := client.Database("shop").Collection("orders").InsertOne(t.Context(), bson.D{{Key: "v", Value: 1}})
	if !errors.As(err, &refused) || !refused.HasErrorCode(20) {
		t.Errorf("a write: %v", err)
	}
}
