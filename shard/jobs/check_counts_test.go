package jobs_test

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/shard/checkup"
	"github.com/cantledb/cantle/storage"
)

// A check of the store reports an index that does not fit its documents as findings about that index; the number of
// documents, which is right, is not a finding.
func TestCheckCounts(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 50)
		_, err := n.index(`{key: {a: 1}, name: "a"}`)
		n.must(err)
		n.older("a")
		report := &checkup.Report{Now: time.Now}
		_, err = report.Contents(t.Context(), n.store, func(int64) error { return nil })
		n.must(err)
		missing := int64(0)
		for _, x := range report.Findings {
			if x.Kind != "index" {
				t.Errorf("%+v", x)
			}
			missing += x.Count
		}
		if missing != 51 { // one of them is an entry without meaning
			t.Errorf("%+v", report.Findings)
		}
	})
}
