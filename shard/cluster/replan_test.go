package cluster

import (
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/ratelimit"
)

// TestReplan: a running plan from the cache is abandoned if it does
// much worse than in its trial, and its entry becomes inactive until it wins again.
func TestReplan(t *testing.T) {
	s := newScene(t)
	s.create(made{Indexes: []bson.Raw{s.raw(`{key: {a: 1}, name: "a_1"}`), s.raw(`{key: {b: 1}, name: "b_1"}`)}})
	var docs []bson.Raw
	for i := range 3000 {
		a := 1
		if i < 5 {
			a = 5
		}
		docs = append(docs, s.raw(fmt.Sprintf(`{_id: %d, a: %d, b: %d}`, i, a, i)))
	}
	if _, errs, err := s.Insert(s.op(t.Context()), dbc, docs, true); err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	active := func() bool {
		t.Helper()
		entries := s.Plans.Entries(s.catalog.Peek().Collection(dbc))
		if len(entries) != 1 {
			t.Fatalf("%d entries of the plan cache", len(entries))
		}
		return entries[0].Active
	}
	// find returns the number of rows that match a filter and the number of documents charged.
	find := func(filter string) (rows int, loaded int64) {
		t.Helper()
		o := s.op(t.Context())
		r, err := s.Find(o, dbc, plan.Find{Filter: s.raw(filter)})
		if err != nil {
			t.Fatal(err)
		}
		for {
			row, err := r.Next(o.Env)
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				break
			}
			rows++
		}
		r.Close()
		return rows, o.Receipt.Sum(ratelimit.DocLoaded)
	}
	// An explain neither uses nor fills the cache.
	o := s.op(t.Context())
	o.Trace = &Trace{}
	if r, err := s.Find(o, dbc, plan.Find{Filter: s.raw(`{a: 5, b: {$gte: 0}}`)}); err != nil {
		t.Fatal(err)
	} else {
		r.Close()
	}
	if n := len(s.Plans.Entries(s.catalog.Peek().Collection(dbc))); n != 0 {
		t.Fatalf("%d entries after an explain", n)
	}
	const few, many = `{a: 5, b: {$gte: 0}}`, `{a: 1, b: {$gte: 2990}}`
	for i, want := range []bool{false, true, true} {
		if rows, _ := find(few); rows != 5 || active() != want {
			t.Fatalf("query %d: %d rows, entry active: %v", i, rows, active())
		}
	}
	// By the cached plan, with the index on a, this query would read nearly all documents: it changes to the index on
	// b.
	if rows, loaded := find(many); rows != 10 || loaded > 20 || active() {
		t.Errorf("%d rows, %d documents loaded, entry active: %v", rows, loaded, active())
	}
	for range 3 {
		find(few)
	}
	if !active() {
		t.Error("the entry was never confirmed")
	}
	// An update whose document is searched by the cached plan abandons that plan as well.
	program, err := update.Parse(s.op(t.Context()).Env, s.raw(`{u: {$set: {c: 1}}}`).Get("u"), nil, update.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o = s.op(t.Context())
	m, err := s.Modify(o, dbc, &Modify{Find: plan.Find{Filter: s.raw(many)}, Update: program})
	if err != nil || m.Changed != 1 {
		t.Fatal(m, err)
	}
	if got := o.Receipt.Sum(ratelimit.DocLoaded); got > 20 {
		t.Errorf("an update loaded %d documents", got)
	}
}

// TestReplanReadsAhead: the rows that a cached plan reads ahead do not count against it. A plan that does as well as
// in its trial of eleven rows stays, however many rows it delivers.
func TestReplanReadsAhead(t *testing.T) {
	s := newScene(t)
	s.create(made{Indexes: []bson.Raw{s.raw(`{key: {a: 1}, name: "a_1"}`), s.raw(`{key: {b: 1}, name: "b_1"}`)}})
	var docs []bson.Raw
	for i := range 500 {
		docs = append(docs, s.raw(fmt.Sprintf(`{_id: %[1]d, a: %[1]d, b: %[1]d}`, i)))
	}
	if _, errs, err := s.Insert(s.op(t.Context()), dbc, docs, true); err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	for i, n := range []int{11, 11, 500, 300, 120} {
		o := s.op(t.Context())
		r, err := s.Find(o, dbc, plan.Find{Filter: s.raw(fmt.Sprintf(`{a: {$lt: %[1]d}, b: {$lt: %[1]d}}`, n))})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for row, err := r.Next(o.Env); row != nil || err != nil; row, err = r.Next(o.Env) {
			if err != nil {
				t.Fatal(err)
			}
			rows++
		}
		r.Close()
		if e := s.Plans.Entries(s.catalog.Peek().Collection(dbc))[0]; rows != n || e.Active != (i > 0) {
			t.Errorf("query %d: %d rows of %d, entry active: %v", i, rows, n, e.Active)
		}
	}
}
