package shardkeys

import (
	"fmt"
	"math"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
)

// rank ranks the keys of 2,000 orders of 50 customers in 20 cities, and returns the candidate of one field.
func rank(t *testing.T, requests ...Request) func(field string) *candidate {
	t.Helper()
	d := NewDocuments("customer,city")
	for i := range 2000 {
		d.Add(bson.D{{"_id", i}, {"customer", fmt.Sprint("c", i%50)}, {"city", fmt.Sprint("x", i%20)}}.Doc())
	}
	d.Stored = d.Seen
	r := &Ranking{Prices: ratelimit.Normative(), Partitions: 4, Top: 10, Docs: d, Requests: requests}
	r.Rank()
	return func(field string) *candidate {
		for _, c := range r.list {
			if len(c.fields) == 1 && c.fields[0] == field && c.suffix == "" {
				return c
			}
		}
		t.Fatalf("no %s", field)
		return nil
	}
}

// Requests count by their RU, those that were refused at the average of their shape, and inserts reduce the weight of
// filters.
func TestWeights(t *testing.T) {
	cheap := Request{Command: "find", Fixed: []string{"customer"}, Count: 900, RU: 900, Visited: 1}
	expensive := Request{Command: "find", Fixed: []string{"city"}, Count: 10, RU: 8100, Visited: 1}
	if got := rank(t, cheap, expensive)("city").targeted; math.Abs(got-0.9) > 0.001 {
		t.Errorf("10 of 910 requests have 90 %% of the RU: %v", got)
	}
	refused := expensive
	refused.Count, refused.Refused, refused.RU = 100, 90, 8100
	if got := rank(t, cheap, refused)("city").targeted; math.Abs(got-81.0/81.9) > 0.001 {
		t.Errorf("with the refused runs, it is 81000 of 81900 RU: %v", got)
	}
	before := rank(t, cheap)
	after := rank(t, cheap, Request{Command: "insert", Count: 1000, RU: 99 * 900})
	if a, b := before("customer").score-before("city").score, after("customer").score-after("city").score; b >= a/2 || b <= 0 {
		t.Errorf("filters decide by %.1f points, and by %.1f where inserts have 99 %% of the RU", a, b)
	}
}
