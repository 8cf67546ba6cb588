package traffic

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
)

// The merged samples of two servers equal the sample of one server with all statements.
func TestAddSamples(t *testing.T) {
	var one, a, b Recorder
	for i := range 90 {
		s := &Statement{NS: orders, At: begun.Add(time.Duration(i/30) * time.Minute), RU: 6 + float64(i%7), Visits: float64(i % 2), Write: i%2 == 0}
		if s.Write {
			s.Document = doc(t, `{_id: %d, tenant: "t%d", of%d: 1}`, i, i%4, i%2)
		} else {
			s.Filter = doc(t, `{order: %d, tenant: "t%d", with%d: 1}`, i, i%4, i%2)
		}
		one.Note(s)
		if i%3 == 0 {
			a.Note(s)
		} else {
			b.Note(s)
		}
	}
	from := begun.Unix() + 60
	all, sum := one.Sample(orders, from, math.MaxInt32), a.Sample(orders, from, math.MaxInt32)
	told := bson.NewBuilder(nil)
	Encode(told, b.Sample(orders, from, math.MaxInt32))
	if err := Add(sum, told.Doc()); err != nil {
		t.Fatal(err)
	}
	show := func(s *Sample) string {
		r, err := s.Replay(key(t, `{tenant: "hashed"}`), 4)
		if err != nil {
			t.Fatal(err)
		}
		loads := ""
		for _, m := range r.Minutes {
			loads += fmt.Sprintf("%d:%.3f%.3f ", m.At, m.RU, m.Loads)
		}
		texts := ""
		for _, v := range r.Values {
			texts += fmt.Sprintf("%v%.6f ", v.Texts, v.Share)
		}
		return fmt.Sprintf("%d %d %.3f %.6f %.6f %s %s %v", r.Statements, r.Samples, r.RU, r.Cost, r.One, loads, texts, s.Fields(9))
	}
	if got, want := show(sum), show(all); got != want || len(sum.minutes) != 2 {
		t.Errorf("\n%s, wanted\n%s", got, want)
	}
	bad := bson.NewBuilder(nil)
	bad.BeginArray("minutes")
	bad.BeginDoc("")
	bad.Binary("list", 0, make([]byte, headBytes-1))
	bad.End()
	bad.End()
	if err := Add(sum, bad.Doc()); err == nil {
		t.Error("half a statement was read")
	}
}
