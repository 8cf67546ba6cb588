package jobs_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// older changes the store to the state that a program without versions of index entries leaves: the catalog entry has
// no versions, and the named index has a single, meaningless entry.
func (n *node) older(name string) {
	n.t.Helper()
	c := n.coll()
	txn, err := n.store.Begin(n.t.Context(), storage.TxnOptions{})
	n.must(err)
	defer txn.Close()
	key := keyspace.AppendMeta(nil, keyspace.MetaCollection, binary.BigEndian.AppendUint64(nil, uint64(c.ID)))
	value, err := txn.Get(n.t.Context(), key, nil)
	n.must(err)
	b := bson.NewBuilder(nil)
	for it := bson.Raw(value).Iter(); it.Next(); {
		if string(it.Name) != "indexes" {
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		b.BeginArray("indexes")
		list, _ := it.Value.Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			b.BeginDoc("")
			for of := d.Iter(); of.Next(); {
				if string(of.Name) != "keys" {
					b.ValueBytes(of.Name, of.Value)
				}
			}
			b.End()
		}
		b.End()
	}
	n.must(txn.Set(key, b.Doc()))
	within := keyspace.IndexRange(c.ID, c.Index(name).ID)
	first := true
	n.must(storage.Each(n.t.Context(), txn, within, func(key, value []byte) error {
		if first { // a meaningless entry in place of all
			first = false
			if err := txn.Set(append(slices.Clone(key), 'x'), value); err != nil {
				return err
			}
		}
		return txn.Delete(slices.Clone(key))
	}))
	_, err = txn.Commit(n.t.Context(), storage.Synced)
	n.must(err)
}

// cats returns the number of documents that the text index finds.
func (n *node) cats() (found int, err error) {
	o := n.op()
	s, err := n.Find(o, shop, plan.Find{Filter: bsontest.Doc(n.t, `{$text: {$search: "katze"}}`)})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for {
		row, err := s.Next(o.Env)
		if row == nil || err != nil {
			return found, err
		}
		found++
	}
}

// An index whose entries have another version is not read. It is rebuilt at the next start of a server, or,
// after a crash in between, at the start after that; documents written meanwhile are in it.
func TestRenew(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		for i, crash := range []bool{false, true} {
			if i == 0 {
				n.insert(`{_id: 1, text: "Katzen", a: 1}`, `{_id: 2, text: "Hunde", a: 2}`, `{_id: 3, text: "eine Katze", a: 3}`)
				_, err := n.index(`{key: {a: 1}, name: "a"}`, `{key: {text: "text"}, name: "text", default_language: "german"}`, `{key: {at: "2dsphere"}, name: "at"}`)
				n.must(err)
			}
			was := n.coll().Index("text").ID
			n.older("text")
			n = n.reopen()
			var told []jobs.Renewal
			n.jobs.Renewing = func(x jobs.Renewal) { told = append(told, x) }
			ix := n.coll().Index("text")
			if !ix.Outdated || ix.State != catalog.IndexBuilding || n.coll().Index("a").Outdated {
				t.Fatalf("as it was opened: %+v", ix)
			}
			if _, err := n.cats(); mongoerr.CodeOf(err) == 0 {
				t.Fatal("a query uses it")
			}
			n.insert([]string{`{text: "noch eine Katze", a: 9}`, `{text: "eine Katze mehr", a: 9}`}[i])
			if crash {
				n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
					c := m.Snapshot().ByID(n.coll().ID)
					n.must(jobs.Delete(m, c.ID, ix.ID))
					return m.Put(c.WithIndexRebuild(ix.ID))
				}))
				n = n.reopen()
				n.jobs.Renewing = func(x jobs.Renewal) { told = append(told, x) }
			}
			n.must(n.jobs.Resume(t.Context()))
			n.must(n.jobs.DeleteRecorded(t.Context()))
			ix = n.coll().Index("text")
			if ix.Outdated || ix.State != catalog.IndexReady || ix.ID == was || n.coll().Indexes[2] != ix {
				t.Errorf("it is %+v, of %d indexes", ix, len(n.coll().Indexes))
			}
			if got, err := n.cats(); err != nil || got != 3+i {
				t.Errorf("it finds %v, %v", got, err)
			}
			if k := n.keys(keyspace.IndexRange(n.coll().ID, was)); k != 0 {
				t.Errorf("%d old entries are left", k)
			}
			// The index of locations is outdated as well.
			if done := slices.ContainsFunc(told, func(x jobs.Renewal) bool {
				return x.Done && x.Err == nil && x.Index == "at" && x.Namespace == "shop.c" && x.From == 0 && x.To == 1
			}); !done || !crash && len(told) != 4 {
				t.Errorf("told %+v", told)
			}
			n = n.reopen()
			if slices.ContainsFunc(n.coll().Indexes, func(ix *catalog.Index) bool { return ix.Outdated || ix.State != catalog.IndexReady }) {
				t.Error("after another start it is made again")
			}
		}
	})
}
