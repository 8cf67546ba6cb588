package abuse

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// abuses in the order they run.
var abuses = []struct {
	name string
	run  func(t *testing.T, s *harness.Server)
}{
	{"random frames", randomFrames},
	{"mutated frames", mutatedFrames},
	{"half-open connections", halfOpen},
	{"slow clients", slowClients},
	{"idle connections", idleConnections},
	{"opened and closed", churn},
	{"oversized batches", oversized},
	{"deep nesting", deepNesting},
	{"giant $in", giantIn},
	{"catastrophic regex", catastrophicRegex},
	{"endless $where", endlessWhere},
	{"cursors never closed", abandonedCursors},
}

// logLinesMax is the maximum number of lines that one abuse of the given duration may add to the server's log:
// 100, and 10 more for each second.
func logLinesMax(took time.Duration) int { return 100 + 10*int(took.Seconds()) }

// heapSlack is the maximum growth of the server's heap in bytes from the start of the test to its end, which only a
// soak checks.
const heapSlack = 64 << 20

func TestAbuse(t *testing.T) {
	s := harness.Start(t, harness.Options{Data: t.TempDir()})
	// Unused cursors are closed after two seconds, instead of the default of ten minutes, for which the test would
	// have to wait.
	if code := errorCode(t, s, encode(t, bson.D{{Key: "setParameter", Value: 1}, {Key: "cursorTimeoutMillis", Value: 2000}, {Key: "$db", Value: "admin"}})); code != 0 {
		t.Fatalf("setParameter: code %d", code)
	}
	v := newReadProbe(t, s)
	defer v.end()
	if soak { // only in a soak, because on a machine with other load the abuses would take very long with this priority
		giveWay(t)
	}
	time.Sleep(time.Second)
	v.interval(t)
	time.Sleep(time.Duration(size(2, 10)) * time.Second)
	start := look(t, s)
	quiet := v.interval(t)
	if quiet.Failure != "" {
		t.Fatal(quiet.Failure)
	}
	t.Logf("%-22s reads %5d  p50 %8v  p99 %8v         goroutines %3d  heap %3d MB  resident %3d MB", "quiet", quiet.Reads,
		quiet.P50.Round(10*time.Microsecond), quiet.P99.Round(10*time.Microsecond), start.goroutines, start.heap>>20, start.resident>>20)
	for _, a := range abuses {
		t.Run(a.name, func(t *testing.T) {
			lines := s.LogLines()
			begun := time.Now()
			v.interval(t)
			a.run(t, s)
			l := v.interval(t)
			peak := look(t, s)
			took := time.Since(begun)
			now := settled(t, s, start)
			if l.Failure != "" {
				t.Errorf("the other client: %s", l.Failure)
			}
			written := s.LogLines() - lines
			if written > logLinesMax(took) {
				t.Errorf("%d lines in the log", written)
			}
			if err := s.Trouble(); err != nil {
				t.Error(err)
			}
			t.Logf("%-22s reads %5d  p50 %8v  p99 %8v (x%.1f)  goroutines %3d  heap %3d MB  resident %3d MB  log %d lines  took %v", a.name, l.Reads,
				l.P50.Round(10*time.Microsecond), l.P99.Round(10*time.Microsecond), float64(l.P99)/float64(max(quiet.P99, 1)),
				now.goroutines, peak.heap>>20, now.resident>>20, written, took.Round(100*time.Millisecond))
		})
	}
	if !soak {
		return
	}
	// The heap is read until it is small enough: Go's runtime forces a garbage collection every two minutes at the
	// latest.
	var now state
	for range 200 {
		if now = look(t, s); now.heap < start.heap+heapSlack {
			t.Logf("at the end: %+v, at the start %+v", now, start)
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("memory at the end %+v, at the start %+v", now, start)
}
