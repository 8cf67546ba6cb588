package ratelimit

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// TestCallers checks that the callers with most of a load are found among a thousand others in bounded memory, with the
// share that they have, that a share is never too high, and that the recent load forgets.
func TestCallers(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var table CallerTable
	var x Callers
	shop, batch := table.Of("shop", "go", "ada@admin"), table.Of("batch", "java", "")
	for i := range 3000 {
		x.Add(shop, 1, 0, 6*RU, now)
		x.Add(batch, 1, 2, RU, now)
		x.Add(table.Of(fmt.Sprint("other-", i%1000), "", ""), 1, 0, RU, now)
	}
	x.Add(nil, 1, 0, 1000*RU, now)
	list := x.List(now)
	if len(list) > callersMax || list[0].App != "shop" || list[0].User != "ada@admin" || list[1].App != "batch" {
		t.Fatalf("%+v", list)
	}
	if u := list[0]; u.Runs != 3000 || u.RU != 18000*RU || u.Last != now.Unix() {
		t.Errorf("%+v", u)
	}
	if u := list[1]; u.Refused != 6000 || u.RecentRefused != 6000 || u.RU != 3000*RU {
		t.Errorf("%+v", u)
	}
	for _, u := range list[2:] {
		if u.RU > 3*RU {
			t.Errorf("%+v has more than it sent", u)
		}
	}
	if ru, refused := x.Recent(now); ru != 24000 || refused != 6000 {
		t.Errorf("%v RU, %v refused", ru, refused)
	}
	later := now.Add(recentMinutes * time.Minute)
	if ru, refused := x.Recent(later); math.Abs(ru-12000) > 1 || math.Abs(refused-3000) > 1 {
		t.Errorf("after the half-life %v RU, %v refused", ru, refused)
	}
	if u := x.List(later)[0]; u.RU != 18000*RU || math.Abs(u.RecentRU-9000) > 1 {
		t.Errorf("%+v", u)
	}
	much := later.Add(24 * time.Hour)
	x.Add(table.Of("new", "", ""), 1, 0, 3*RU, much)
	if u := x.List(much)[0]; u.App != "new" {
		t.Errorf("a day later most comes from %+v", u)
	}
}

// TestCallersMerge checks that the callers of two servers are added up.
func TestCallersMerge(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var a, b Callers
	for i := range callersMax {
		a.Add(&Caller{App: fmt.Sprint("a", i)}, 1, 0, 10*RU, now)
		b.Add(&Caller{App: fmt.Sprint("b", i)}, 1, 0, 10*RU, now)
	}
	a.Add(&Caller{App: "both"}, 1, 1, 100*RU, now)
	b.Add(&Caller{App: "both"}, 2, 0, 100*RU, now)
	ru, refused := b.Recent(now)
	a.Merge(ru, refused, b.List(now), now)
	if list := a.List(now); len(list) != callersMax || list[0].App != "both" || list[0].RU != 200*RU || list[0].Runs != 3 || list[0].Refused != 1 {
		t.Errorf("%+v", list)
	}
	if ru, refused := a.Recent(now); ru != 2*(10*callersMax+100) || refused != 1 {
		t.Errorf("%v RU, %v refused", ru, refused)
	}
}

// TestCallerTable checks that equal callers are one, that texts are cut, and that the table stays small.
func TestCallerTable(t *testing.T) {
	var table CallerTable
	if a, b := table.Of("a", "b", "c"), table.Of("a", "b", "c"); a != b {
		t.Error("equal callers are two")
	}
	if c := table.Of(strings.Repeat("ä", 100), "", ""); len(c.App) > callerTextMax || !strings.HasSuffix(c.App, "ä") {
		t.Errorf("%q", c.App)
	}
	for i := range 10 * callersShared {
		table.Of(fmt.Sprint(i), "", "")
	}
	if n := len(table.list); n > callersShared {
		t.Errorf("%d callers", n)
	}
}

// TestHotKeyCallers checks that a sketch has the callers of its heaviest keys, also of two servers together, and that a
// key that takes the place of another has none of its callers.
func TestHotKeyCallers(t *testing.T) {
	shop, batch := &Caller{App: "shop"}, &Caller{App: "batch"}
	s := NewSketch(2)
	for i := range 100 {
		s.AddBy([]byte("hot"), 9, shop)
		s.AddBy([]byte("hot"), 1, &Caller{App: fmt.Sprint("other", i)})
	}
	s.AddBy([]byte("cold"), 1, shop)
	s.AddBy([]byte("new"), 1, batch)
	top := s.Top(2)
	if by := top[0].By; by[0].App != "shop" || by[0].Weight != 900 || len(by) > keyCallersMax {
		t.Errorf("%+v", top)
	}
	if by := top[1].By; top[1].Key != "new" || len(by) != 1 || by[0].App != "batch" {
		t.Errorf("%+v", top)
	}
	if both := MergeHot(1, top, top); both[0].By[0].Weight != 1800 {
		t.Errorf("%+v", both)
	}
	s.Halve()
	if by := s.Top(1)[0].By; by[0].Weight != 450 {
		t.Errorf("%+v", by)
	}
}

// BenchmarkCallers measures what counting the caller of a command costs.
func BenchmarkCallers(b *testing.B) {
	var x Callers
	shop, now := &Caller{App: "shop", Driver: "go", User: "ada@admin"}, time.Unix(1_700_000_000, 0)
	for b.Loop() {
		x.Add(shop, 1, 0, 5*RU/2, now)
	}
}
