package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

// Documents expire by the time to live of their collection: by the time field of a time-series collection, by the _id
// of a clustered one. In a time-series collection without a time to live none expires.
func TestExpireCollection(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		for name, options := range map[string]string{
			"series":    `{timeseries: {timeField: "at"}, expireAfterSeconds: 100}`,
			"clustered": `{clusteredIndex: {key: {_id: 1}, unique: true, name: "c"}, expireAfterSeconds: 100}`,
			"kept":      `{timeseries: {timeField: "at"}}`,
		} {
			t.Run(name, func(t *testing.T) {
				n := open(t, make)
				ns := collection.Namespace{DB: "db", Coll: name}
				n.must(n.Create(n.op(), ns, ddl.CreateOptions{Raw: bsontest.Doc(t, options)}))
				now := time.Now().UnixMilli()
				at := func(sec int64) string { return fmt.Sprintf(`{$date: {$numberLong: "%d"}}`, now+sec*1000) }
				var docs []string
				for i := range int64(300) {
					docs = append(docs, fmt.Sprintf(`{_id: %s, at: %s}`, at(-200-i), at(-200-i)))
				}
				docs = append(docs, fmt.Sprintf(`{_id: %s, at: %s}`, at(0), at(0)), fmt.Sprintf(`{_id: 7, at: %s}`, at(-50)))
				if _, errs, err := n.Insert(n.op(), ns, rawDocs(t, docs...), true); err != nil || len(errs) > 0 {
					t.Fatal(errs, err)
				}
				want := int64(300)
				if name == "kept" {
					want = 0
				}
				if deleted, err := n.jobs.Expire(t.Context()); err != nil || deleted != want {
					t.Fatal(deleted, err)
				}
				if deleted, err := n.jobs.Expire(t.Context()); err != nil || deleted != 0 {
					t.Fatal("again:", deleted, err)
				}
			})
		}
	})
}
