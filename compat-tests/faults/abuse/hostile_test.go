package abuse

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// hostile is a test case of TestHostile: one command that costs the server as much as a client can make it cost.
type hostile struct {
	name string
	// often means that every run of the test includes the command; the others are drawn, or all run with
	// CANTLE_LONG and at night.
	often bool
	// cmd is the command as extended JSON; @name in it is a placeholder for a long text of that name.
	cmd string
	// undo is a command that reverts what cmd may have changed, such as dropping an index; "" if nothing.
	undo string
}

// Time limits of a hostile command: its maxTimeMS, the time after that until it must have ended, and the time
// until it must have ended after its client has closed its connection. The latter two are measured by stopwatch.
const (
	hostileMillis  = 1000
	endsWithin     = time.Second
	outlivesAtMost = 2 * time.Second
)

// hostileTries is the maximum number of attempts with a command that took too long, because the machine may have
// been busy.
const hostileTries = 3

// pingsMax is the maximum p99 latency of the pings (reads of one document) that two other clients send beside a
// hostile command; the measured value is printed.
const pingsMax = 1500 * time.Millisecond

// dearest holds the latencies of other clients' pings beside one hostile command, for the table that the test
// prints.
type dearest struct {
	name      string
	took      time.Duration
	code      int64
	p99, most time.Duration
}

// TestHostile runs each hostile command twice, with a time limit and with a client that closes its connection,
// while two other clients send pings. The command must end soon after either.
func TestHostile(t *testing.T) {
	list, seed := dueHostiles(t)
	n, above := 0, 0
	programme.RecordAtEnd(t, "hostile", seed, func() (int, string) {
		return n, fmt.Sprintf("%d of %d with a p99 of two others' pings above 100 ms", above, n)
	})
	s := harness.Start(t, harness.Options{Data: t.TempDir()})
	begun := time.Now()
	fillHostile(t, s)
	texts := hostileTexts()
	t.Logf("ready after %v", time.Since(begun).Round(time.Millisecond))
	pings := [...]*probe{newReadProbe(t, s), newReadProbe(t, s)}
	for _, v := range pings {
		defer v.end()
	}
	var table []dearest
	for _, h := range list {
		n++
		t.Run(h.name, func(t *testing.T) {
			cmd := hostileCommand(t, h.cmd, texts)
			undo := func() {
				if h.undo != "" {
					errorCode(t, s, hostileCommand(t, h.undo, texts))
				}
			}
			for _, v := range pings {
				v.interval(t)
			}
			row := dearest{name: h.name}
			row.took, row.code = limited(t, s, cmd, undo)
			abandoned(t, s, cmd)
			undo()
			for _, v := range pings {
				l := v.interval(t)
				if l.Failure != "" {
					t.Errorf("another client: %s", l.Failure)
				}
				row.p99, row.most = max(row.p99, l.P99), max(row.most, l.Most)
			}
			if row.p99 > pingsMax {
				t.Errorf("the 99th of 100 pings of another client took %v", row.p99)
			}
			if err := s.Trouble(); err != nil {
				t.Error(err)
			}
			table = append(table, row)
		})
	}
	slices.SortFunc(table, func(a, b dearest) int { return cmp.Compare(b.p99, a.p99) })
	for i, row := range table {
		if row.p99 > 100*time.Millisecond {
			above++
		}
		if i < 15 || testing.Verbose() {
			t.Logf("%-44s took %6v  code %5d  pings p99 %8v  most %8v", row.name, row.took.Round(time.Millisecond), row.code,
				row.p99.Round(100*time.Microsecond), row.most.Round(100*time.Microsecond))
		}
	}
}

// dueHostiles returns the hostile commands of this run, and the seed: those that every run has and randomly drawn
// others, or all.
func dueHostiles(t *testing.T) (list []hostile, seed uint64) {
	t.Helper()
	seed = uint64(time.Now().UnixNano())
	all, due := hostiles(), programme.Amount(t, "hostile")
	if due == 0 || testenv.IsLong() {
		return all, 0
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b hostile) int { return cmp.Compare(weight(a), weight(b)) })
	return all[:min(due, len(all))], seed
}

// weight is a sort key that puts commands of every run (0) before those that are drawn (1).
func weight(h hostile) int {
	if h.often {
		return 0
	}
	return 1
}

// limited runs a command with maxTimeMS, checks that it ends within that limit and a second in one of hostileTries
// attempts, and returns how long it took and its error code.
func limited(t *testing.T, s *harness.Server, cmd bson.Raw, undo func()) (took time.Duration, code int64) {
	t.Helper()
	cmd = with(t, cmd, "maxTimeMS", hostileMillis)
	for try := range hostileTries {
		watch := startWatch(s)
		code = errorCode(t, s, cmd)
		var own time.Duration
		took, own = watch.elapsed()
		if code < 0 {
			t.Errorf("the connection ended after %v", took)
		}
		if inTime(own) {
			return took, code
		}
		t.Logf("try %d took %v, %v without waiting for a processor", try, took, own)
		undo()
	}
	t.Errorf("with maxTimeMS %d it took %v", hostileMillis, took)
	return took, code
}

// inTime reports whether a command with maxTimeMS ended at most endsWithin after this limit.
func inTime(took time.Duration) bool { return took <= hostileMillis*time.Millisecond+endsWithin }

// abandoned runs a command whose client closes its connection, and checks that the command ends soon after.
func abandoned(t *testing.T, s *harness.Server, cmd bson.Raw) {
	t.Helper()
	var lived time.Duration
	for range hostileTries {
		c, err := harness.DialAddr(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		me := c.LocalAddr().String()
		if err := c.Send("hostile", cmd, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		_ = c.Close()
		lived = outlives(t, s, me)
		if lived <= outlivesAtMost {
			return
		}
		t.Logf("it outlived its client by %v", lived)
	}
	t.Errorf("it outlives its client by %v", lived)
}

// outlives returns how long a command goes on after its client has closed its connection, at most 20 seconds, as
// measured by stopwatch.
func outlives(t *testing.T, s *harness.Server, client string) (lived time.Duration) {
	t.Helper()
	gone := startWatch(s)
	for whole := time.Duration(0); whole < 20*time.Second && runs(t, s, client); {
		time.Sleep(20 * time.Millisecond)
		whole, lived = gone.elapsed()
	}
	return lived
}

// runs reports whether a command of the client with an address is still running, by $currentOp.
func runs(t *testing.T, s *harness.Server, client string) bool {
	t.Helper()
	c, err := harness.DialAddr(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Command("admin", encode(t, bson.D{{Key: "aggregate", Value: 1}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
		bson.D{{Key: "$currentOp", Value: bson.D{}}}, bson.D{{Key: "$match", Value: bson.D{{Key: "client", Value: client}, {Key: "active", Value: true}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "op", Value: 1}}}}}}}))
	if err != nil {
		t.Fatalf("asking for its operations: %v; the server says\n%s", err, s.Log())
	}
	if code, _ := r.Lookup("code").AsInt64OK(); code != 0 {
		t.Fatal(r)
	}
	found, err := r.Lookup("cursor", "firstBatch").Array().Values()
	return err == nil && len(found) > 0
}

// with returns a command with one more field.
func with(t *testing.T, cmd bson.Raw, name string, v any) bson.Raw {
	var d bson.D
	if err := bson.Unmarshal(cmd, &d); err != nil {
		t.Fatal(err)
	}
	return encode(t, append(d, bson.E{Key: name, Value: v}))
}

// TestHostileCanary checks that outlives and inTime detect a command that goes on too long, by a command without a
// time limit whose client keeps its connection.
func TestHostileCanary(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--enable-test-commands"}})
	if code := errorCode(t, s, hostileCommand(t, `{configureFailPoint: "failCommand", mode: "alwaysOn", "$db": "admin", data: {failCommands: ["count"], blockConnection: true, blockTimeMS: 10000}}`, nil)); code != 0 {
		t.Fatal(code)
	}
	cmd := hostileCommand(t, `{count: "c"}`, nil)
	c := s.Dial(t)
	watch := startWatch(s)
	if err := c.Send("hostile", cmd, 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if lived := outlives(t, s, c.LocalAddr().String()); lived <= outlivesAtMost {
		t.Errorf("not noticed: a command that went on for %v", lived)
	}
	if _, err := c.Receive(); err != nil {
		t.Fatal(err)
	}
	if took, own := watch.elapsed(); inTime(own) {
		t.Errorf("not noticed: a command that took %v", took)
	}
}

// TestHostileNames checks that every hostile command has a unique name, and that there are enough commands.
func TestHostileNames(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range hostiles() {
		if seen[h.name] {
			t.Errorf("twice: %s", h.name)
		}
		seen[h.name] = true
	}
	if len(seen) < 80 {
		t.Errorf("%d hostile commands", len(seen))
	}
}

// fillHostile makes the collections of hostileDocuments.
func fillHostile(t *testing.T, s *harness.Server) {
	t.Helper()
	c := s.Dial(t)
	insert := func(coll string, docs ...any) {
		t.Helper()
		for len(docs) > 0 {
			n := min(len(docs), 1000)
			if len(docs) < 10 {
				n = 1 // they are large
			}
			r, err := c.Command("hostile", encode(t, bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: bson.A(docs[:n])}}))
			if err != nil {
				t.Fatal(err)
			}
			if stored, _ := r.Lookup("n").AsInt64OK(); stored != int64(n) {
				t.Fatalf("%s: %.500s", coll, r.String())
			}
			docs = docs[n:]
		}
	}
	for coll, docs := range hostileDocuments() {
		insert(coll, docs...)
	}
	for _, text := range hostileIndexes {
		r, err := c.Command("hostile", hostileCommand(t, text, nil))
		if err != nil || r.Lookup("ok").AsFloat64() != 1 {
			t.Fatal(fmt.Sprint(text, " ", r, err))
		}
	}
}
