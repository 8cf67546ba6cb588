package abuse

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// soak makes everything larger.
var soak = testenv.IsNightly()

// size returns the amount of a test: n in each run, the larger value in a soak.
func size(n, larger int) int {
	if soak {
		return larger
	}
	return n
}

// state holds how much of each resource the server uses, which must not stay higher after abuse: counts, and bytes
// of memory.
type state struct {
	goroutines, connections, cursors, heap, resident int64
}

// look reads the server's use of resources by serverStatus, over a new connection.
func look(t *testing.T, s *harness.Server) state {
	t.Helper()
	c, err := harness.DialAddr(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Command("admin", encode(t, bson.D{{Key: "serverStatus", Value: 1}, {Key: "tcmalloc", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	number := func(path ...string) int64 {
		n, _ := r.Lookup(path...).AsInt64OK()
		return n
	}
	return state{
		goroutines: number("extra_info", "threads"), connections: number("connections", "current"),
		cursors: number("metrics", "cursor", "open", "total"), heap: number("tcmalloc", "generic", "current_allocated_bytes"),
		resident: number("mem", "resident") << 20,
	}
}

func encode(t *testing.T, doc any) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// settled waits until the server has no more goroutines, connections and cursors than before, and fails if that
// takes too long. There may be 16 more goroutines and connections than before, because the driver of the probe opens
// and closes some on its own.
func settled(t *testing.T, s *harness.Server, before state) state {
	t.Helper()
	const slack = 16
	var now state
	for range 300 {
		now = look(t, s)
		if now.goroutines <= before.goroutines+slack && now.connections <= before.connections+slack && now.cursors <= before.cursors {
			return now
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("before: %+v, and long after: %+v", before, now)
	return now
}
