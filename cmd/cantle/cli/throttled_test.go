package cli

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
)

// advancing is the error output of a verb. It advances the server's clock at each line about a wait.
type advancing struct {
	text    strings.Builder
	advance func()
}

func (a *advancing) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "throttled: waiting ") {
		a.advance()
	}
	return a.text.Write(p)
}

// exhaust reads test.slow until its budget is used up in the second at which the clock stands.
func exhaust(t *testing.T, db *mongo.Database) {
	t.Helper()
	for range 200 {
		if err := db.RunCommand(t.Context(), []byte(bsontest.Doc(t, `{count: "slow", query: {n: 1}}`))).Err(); err != nil {
			if _, refused := isThrottled(err); !refused {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("nothing is refused")
}

// While a client has used up the budget of a collection, advise, partitions and report answer at once, and export waits
// and shows it.
func TestVerbsWhileThrottled(t *testing.T) {
	t.Parallel()
	uri, db := start(t, "--enable-test-commands")
	run(t, db.Client().Database("admin"), `{shardCollection: "test.slow", key: {k: "hashed"}}`)
	fill(t, db, "slow", 300, func(i int) string { return fmt.Sprintf(`{_id: %d, k: %d, n: %d}`, i, i%20, i%3) })
	run(t, db, `{customAction: "UpdateCollection", collection: "slow", offerThroughput: 400}`)
	run(t, db.Client().Database("admin"), `{customAction: "Clock", stop: true}`)
	exhaust(t, db)
	for _, verb := range []string{"advise", "partitions", "report"} {
		var out, errs strings.Builder
		if code := verbStatus(t, verb, "", &out, &errs, uri, "test.slow"); code != 0 || strings.Contains(errs.String(), "throttled") {
			t.Errorf("%s: status %d\n%s", verb, code, errs.String())
		}
		if verb == "report" && !strings.Contains(out.String(), "\nrefused by the limit of: partition ") {
			t.Errorf("report: %s", out.String())
		}
	}
	exhaust(t, db)
	errs := &advancing{advance: func() { run(t, db.Client().Database("admin"), `{customAction: "Clock", advanceMs: 60000}`) }}
	var out strings.Builder
	code := verbStatus(t, "export", "", &out, errs, uri, "test.slow")
	if said := errs.text.String(); code != 0 || strings.Count(out.String(), "\n") != 300 || !strings.Contains(said, " ms, 1st time\n") || !strings.Contains(said, "throttled 1 time, waited ") || strings.Contains(said, "16500") {
		t.Errorf("export: status %d, %d documents\n%s", code, strings.Count(out.String(), "\n"), said)
	}
}

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 112: "112th", 103: "103rd"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
