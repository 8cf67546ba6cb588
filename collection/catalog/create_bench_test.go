package catalog_test

import (
	"fmt"
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage/memkv"
)

// BenchmarkCreateBeside creates and drops a collection while the catalog has the given number of others.
func BenchmarkCreateBeside(b *testing.B) {
	for _, others := range []int{10, 1000, 6000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			store := memkv.Open(memkv.Options{})
			defer store.Close()
			cat, err := catalog.Open(b.Context(), store, release.Default)
			if err != nil {
				b.Fatal(err)
			}
			put := func(m *catalog.Mutation, i int) (*catalog.Collection, error) {
				c, err := m.NewCollection(mql.NewEnv(b.Context()), collection.Namespace{DB: "db", Coll: fmt.Sprint("c", i)}, nil)
				if err != nil {
					return nil, err
				}
				return c, m.Put(c)
			}
			err = cat.Change(b.Context(), func(m *catalog.Mutation) error {
				for i := range others {
					if _, err := put(m, i); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				var made *catalog.Collection
				err := cat.Change(b.Context(), func(m *catalog.Mutation) (err error) {
					made, err = put(m, others)
					return err
				})
				if err == nil {
					err = cat.Change(b.Context(), func(m *catalog.Mutation) error { m.Drop(made); return nil })
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
