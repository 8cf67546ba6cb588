package inprocess

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// historyReply is the reply of a console to a request for the history.
type historyReply struct {
	Writes     []float64
	Rows       []struct{ Cells []byte }
	Incomplete []string
}

func (g *gateway) history(t *testing.T, path string) (out historyReply) {
	t.Helper()
	r, err := http.Get(strings.TrimSuffix(g.d.ConsoleURL(), "/") + "/api/v1" + path)
	bsontest.Must(t, err)
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, r.Status)
	}
	bsontest.Must(t, json.NewDecoder(r.Body).Decode(&out))
	return out
}

// TestHistory checks that the console of each server shows the work of all of them, and names those that do
// not answer.
func TestHistory(t *testing.T) {
	g := several(t, 2, "--console-listen", "127.0.0.1:0")
	waitListed(t, g...)
	for i, at := range g {
		for k := range 20 {
			insert(t, at.coll("x"), bson.M{"_id": i*100 + k})
		}
	}
	for i, at := range g {
		sum, busy := 0.0, 0
		for until := time.Now().Add(2 * time.Minute); sum < 39.5 && time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
			sum, busy = 0, 0
			lines := at.history(t, "/lines?from=-60")
			for _, n := range lines.Writes {
				sum += n
			}
			heat := at.history(t, "/heat?from=-60&metric=writes&ns=test.x")
			for _, r := range heat.Rows {
				for _, c := range r.Cells {
					if c > 0 {
						busy++
					}
				}
			}
			if lines.Incomplete != nil || heat.Incomplete != nil {
				t.Fatalf("%v and %v do not answer", lines.Incomplete, heat.Incomplete)
			}
		}
		if sum < 39.5 || sum > 40.5 || busy == 0 {
			t.Errorf("gateway %d shows %v writes, and work in %d cells", i, sum, busy)
		}
	}
	g[1].away.Store(true)
	for until := time.Now().Add(lease); ; time.Sleep(50 * time.Millisecond) {
		if l := g[0].history(t, "/lines?from=-60"); len(l.Incomplete) == 1 {
			break
		} else if time.Now().After(until) {
			t.Fatal("nobody says that a gateway does not answer")
		}
	}
	g[1].away.Store(false)
}
