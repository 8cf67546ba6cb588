package ddl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// node is a data plane with its Definer over a store.
type node struct {
	*cluster.Cluster
	*ddl.Definer
	t       *testing.T
	store   storage.Store
	strict  bool                          // commands come by the Cosmos address
	dropped func(ns collection.Namespace) // called for each dropped collection; may be nil
}

// newNode makes a node over a fresh store.
func newNode(t *testing.T, limits ddl.Limits) *node {
	t.Helper()
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return openNode(t, store, limits)
}

// openNode makes a node over a store, like a starting process.
func openNode(t *testing.T, store storage.Store, limits ddl.Limits) *node {
	t.Helper()
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	budgets, board := &ratelimit.Budgets{}, &tally.Board{}
	runner := jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	d := &node{t: t, store: store}
	d.Cluster = cluster.New(cluster.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now, Dropped: func(ns collection.Namespace) {
		if d.dropped != nil {
			d.dropped(ns)
		}
	}})
	d.Definer = ddl.New(d.Cluster, ddl.Config{Store: store, Catalog: cat, Tally: board, Jobs: runner, Limits: limits})
	d.AttachDefiner(d.Definer)
	if err := runner.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.RestoreBudgets()
	return d
}

// op returns a command of a client.
func (d *node) op() *cluster.Op {
	o := &cluster.Op{Env: mql.NewEnv(context.Background())}
	if d.strict {
		o.Env.Cosmos = cosmos.NewAccount().Client()
	}
	return o
}

// raw parses a document; the empty text is none.
func (d *node) raw(text string) bson.Raw {
	d.t.Helper()
	if text == "" {
		return nil
	}
	r, err := ejson.Parse(text)
	if err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	return r
}

// raws parses documents.
func (d *node) raws(texts ...string) (out []bson.Raw) {
	d.t.Helper()
	for _, s := range texts {
		out = append(out, d.raw(s))
	}
	return out
}

// want checks the code of an error as a client sees it; 0 is none.
func (d *node) want(what string, err error, code mongoerr.Code) {
	d.t.Helper()
	var e *mongoerr.Error
	switch {
	case err == nil && code == 0:
	case errors.As(cluster.Translate(err), &e) && e.Code == code:
	default:
		d.t.Errorf("%s: got %v, want code %d", what, err, code)
	}
}

// ns parses a namespace.
func ns(s string) collection.Namespace { return collection.ParseNamespace(s) }

// insert adds documents to a collection.
func (d *node) insert(name string, docs ...string) {
	d.t.Helper()
	_, errs, err := d.Insert(d.op(), ns(name), d.raws(docs...), true)
	if err != nil || len(errs) > 0 {
		d.t.Fatal(err, errs)
	}
}

// logged lists the commands in the change log.
func (d *node) logged() string {
	d.t.Helper()
	var out []string
	if err := d.store.Sync(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	_, err := d.store.ReadLog(d.t.Context(), changelog.Stream, 0, func(_, _ storage.Timestamp, rec []byte) bool {
		r, err := changelog.Decode(rec)
		if err != nil {
			d.t.Error(err)
		}
		if r.Op == changelog.Command {
			o, _ := r.Doc.Get("o").Doc()
			f, _ := o.First()
			out = append(out, string(f.Name))
			if db, _ := r.Doc.Get("ns").Str(); !strings.HasSuffix(db, ".$cmd") {
				d.t.Error(r.Doc)
			}
		}
		return true
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// second returns the error of CreateIndexes.
func second(_ ddl.IndexesCreated, err error) error { return err }
