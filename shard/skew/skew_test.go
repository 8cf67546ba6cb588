package skew

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// seconds is the length of the histories that the tests make: the default range of the console, by the second.
const seconds = 900

// demand returns the RU/s that clients send to partition i of n in a second.
type demand func(second, i, n int) float64

// rate is the RU/s of all clients together.
const rate = 4000

// hotAt has 86 % of the work on one partition.
func hotAt(hot func(n int) int) demand {
	return func(_, i, n int) float64 {
		switch {
		case n == 1:
			return rate
		case i == hot(n):
			return 0.86 * rate
		}
		return 0.14 * rate / float64(n-1)
	}
}

func evenly(_, _, n int) float64 { return rate / float64(n) }

var hot = hotAt(func(n int) int { return n / 2 })

// throttling is the budget of a test.
type throttling struct {
	name  string
	limit func(n int) float64 // RU/s of each partition; 0 without a limit
}

// past makes a history: what exceeds the limit is refused, at 5 RU each.
func past(n int, d demand, limit float64, ranged bool) *Past {
	p := &Past{Step: 1, Live: true, Ranged: ranged}
	for i := range n {
		t := Track{Part: i, Limit: limit, RU: make([]float64, seconds), Refused: make([]float64, seconds)}
		for j := range seconds {
			v := d(j, i, n)
			t.RU[j] = v
			if limit > 0 && v > limit {
				t.RU[j], t.Refused[j] = limit, (v-limit)/5
			}
		}
		p.Tracks = append(p.Tracks, t)
	}
	return p
}

// loadRow is a load with its expected judgement.
type loadRow struct {
	name   string
	demand demand
	ranged bool
	// judgement with one partition and with several, each without and with a budget that is used up
	one, oneFull, several, severalFull Kind
	check                              func(p Pattern, n int) string // "" if it is right
}

func onPart(want func(n int) int) func(p Pattern, n int) string {
	return func(p Pattern, n int) string {
		if n > 1 && (p.Part != want(n) || p.Share < 1.2/float64(n)) {
			return fmt.Sprintf("partition %d with %.2f", p.Part, p.Share)
		}
		return ""
	}
}

// rows has the loads of the matrix.
var rows = []loadRow{
	{"even", evenly, false, One, Full, Even, Full, nil},
	{"one hot value", hot, false, One, Full, Hot, Hot, onPart(func(n int) int { return n / 2 })},
	{"one hot partition, the last", hotAt(func(n int) int { return n - 1 }), false, One, Full, Hot, Hot, onPart(func(n int) int { return n - 1 })},
	{"all on one partition", func(_, i, _ int) float64 {
		if i == 0 {
			return rate
		}
		return 0
	}, false, One, Full, Hot, Hot, nil},
	{"sequential", func(second, i, n int) float64 {
		if second*n/seconds == i {
			return rate
		}
		return 0
	}, true, One, Full, Moving, Moving, nil},
	{"periodic", func(second, _, n int) float64 {
		return rate / float64(n) * (1 + math.Sin(float64(second)*2*math.Pi/60))
	}, false, Waves, Waves, Waves, Waves, func(p Pattern, _ int) string {
		if p.Period < 58 || p.Period > 62 {
			return fmt.Sprintf("period %d", p.Period)
		}
		return ""
	}},
	{"periodic, on one partition", func(second, i, n int) float64 {
		return hot(second, i, n) * (1 + 0.5*math.Sin(float64(second)*2*math.Pi/60))
	}, false, Waves, Full, Hot, Hot, nil},
	{"idle after heat", func(second, i, n int) float64 {
		if second < seconds-120 {
			return hot(second, i, n)
		}
		return 0
	}, false, Ended, Ended, Ended, Ended, func(p Pattern, n int) string {
		if n > 1 && (p.Cooled.Kind != Hot || !strings.Contains(p.Text(), "was hot")) || p.Last != seconds-121 || p.Serious() {
			return fmt.Sprintf("before %s, until %d: %s", p.Cooled.Kind, p.Last, p.Text())
		}
		return ""
	}},
	{"even after heat", func(second, i, n int) float64 {
		if second < seconds/2 {
			return hot(second, i, n)
		}
		return evenly(second, i, n) / 10
	}, false, One, One, Even, Even, func(p Pattern, n int) string {
		if n > 1 && (p.Cooled.Kind != Hot || !strings.Contains(p.Text(), "Earlier in this time range")) {
			return fmt.Sprintf("before %s: %s", p.Cooled.Kind, p.Text())
		}
		return ""
	}},
	{"heat after idle", func(second, i, n int) float64 {
		if second > seconds-30 {
			return hot(second, i, n)
		}
		return 0
	}, false, One, Full, Hot, Hot, func(p Pattern, _ int) string {
		if p.First != seconds-29 || p.Last != seconds-1 {
			return fmt.Sprintf("seen from %d to %d", p.First, p.Last)
		}
		return ""
	}},
	{"nothing", func(_, _, _ int) float64 { return 0 }, false, Idle, Idle, Idle, Idle, nil},
}

// TestMatrix judges each load with 1, 2, 3, 4 and 512 partitions, without a budget, with one that is not used up, and
// with one that is.
func TestMatrix(t *testing.T) {
	budgets := []throttling{
		{"no budget", func(int) float64 { return 0 }},
		{"a budget with room", func(int) float64 { return 10 * rate }},
		{"a budget that is hit", func(n int) float64 { return rate / 2 / float64(n) }},
	}
	for _, r := range rows {
		for _, n := range []int{1, 2, 3, 4, 512} {
			for i, b := range budgets {
				want := r.several
				switch {
				case n == 1 && i == 2:
					want = r.oneFull
				case n == 1:
					want = r.one
				case i == 2:
					want = r.severalFull
				}
				got := past(n, r.demand, b.limit(n), r.ranged).Judge()
				if got.Kind != want {
					t.Errorf("%s on %d partitions, %s: %s, want %s: %s", r.name, n, b.name, got.Kind, want, got.Text())
				} else if r.check != nil {
					if wrong := r.check(got, n); wrong != "" {
						t.Errorf("%s on %d partitions, %s: %s", r.name, n, b.name, wrong)
					}
				}
				if serious := got.Serious(); serious != (i == 2 && (want == Hot || want == Full)) {
					t.Errorf("%s on %d partitions, %s: serious %t", r.name, n, b.name, serious)
				}
				if got.Refused > 0 && (want == Hot || want == Full) && !strings.Contains(got.Text(), "refused") {
					t.Errorf("%s on %d partitions, %s: refusals are not in %q", r.name, n, b.name, got.Text())
				}
			}
		}
	}
}

// TestJudge has loads near the borders of the rule.
func TestJudge(t *testing.T) {
	all := func(limit float64, ru ...float64) (out []Load) {
		for i, v := range ru {
			out = append(out, Load{Part: i, RU: v, Busiest: v, Limit: limit})
		}
		return out
	}
	refusing := func(list []Load, i int, n float64) []Load { list[i].Refused = n; return list }
	spike := all(1000, 50, 20)
	spike[0].Busiest = 1000
	for _, c := range []struct {
		name  string
		loads []Load
		want  Kind
		part  int
		full  int
	}{
		{"86 % of two, no budget", all(0, 280, 1720), Hot, 1, 0},
		{"60 % of two", all(0, 800, 1200), Even, 1, 0},
		{"two hot ones of four", all(0, 450, 450, 50, 50), Hot, 0, 0},
		{"two of four at the limit", all(500, 500, 500, 50, 50), Hot, 0, 2},
		{"one of two at the limit, the other near it", all(1000, 1000, 800), Full, 0, 1},
		{"one of two at the limit, the other with room", all(1000, 1000, 500), Hot, 0, 1},
		{"a quarter of the load of 512 partitions", append(all(0, 1000), all(0, make([]float64, 511)...)...), Hot, 0, 0},
		{"chance among 512", func() []Load {
			list := all(0, make([]float64, 512)...)
			for i := range list {
				list[i].RU = float64(i % 5)
			}
			return list
		}(), Even, 4, 0},
		{"a small load", all(0, 5, 0), Even, 0, 0},
		{"one busy second without a refusal", spike, Even, 0, 0},
		{"one busy second with refusals", refusing(append([]Load(nil), spike...), 0, 40), Hot, 0, 1},
		{"refusals of a throughput bucket, with room", refusing(all(1000, 200, 180), 0, 40), Even, 0, 0},
		{"more of a larger share", []Load{{Part: 0, RU: 3000, Busiest: 3000, Limit: 9000}, {Part: 1, RU: 1000, Busiest: 1000, Limit: 1000, Refused: 5}}, Hot, 1, 1},
		{"one partition without a limit", all(0, 1e6), One, 0, 0},
		{"none", nil, Idle, -1, 0},
	} {
		if v := Judge(c.loads, minute); v.Kind != c.want || v.Part != c.part || v.AtLimit != c.full {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// TestOldMap checks that partitions that were split count only if nothing has run on their successors.
func TestOldMap(t *testing.T) {
	p := past(3, hot, 0, false)
	p.Tracks[1].Gone = true // which was hot
	if got := p.Judge(); got.Kind != Even || got.Partitions != 2 {
		t.Errorf("%+v", got)
	}
	for i := range p.Tracks {
		p.Tracks[i].Gone = true
	}
	if got := p.Judge(); got.Kind != Hot || got.Part != 1 {
		t.Errorf("all are gone: %+v", got)
	}
}

// TestAlerts checks that the alert rules have the constants of this package.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../packaging/monitoring/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	rule := func(name string) string {
		_, rest, ok := strings.Cut(string(text), "alert: "+name+"\n")
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		rest, _, _ = strings.Cut(rest, "labels:")
		return rest
	}
	for _, c := range []struct{ alert, part string }{
		{"CantleHotPartition", fmt.Sprintf("cantle_normalized_ru_consumption_percent >= %g", 100*AtLimit)},
		{"CantleHotPartition", fmt.Sprintf("< %g", Room)},
		{"CantleUnevenPartitions", fmt.Sprintf(">= %g * avg", float64(Times))},
		{"CantleUnevenPartitions", fmt.Sprintf(">= %g", float64(Least))},
		{"CantleUnevenPartitions", fmt.Sprintf(">= %g", Excess)},
		{"CantleThroughputUsedUp", fmt.Sprintf("cantle_normalized_ru_consumption_percent >= %g", 100*AtLimit)},
		{"CantleThroughputUsedUp", fmt.Sprintf("< %g", Room)},
	} {
		if !strings.Contains(rule(c.alert), c.part) {
			t.Errorf("%s does not contain %q:\n%s", c.alert, c.part, rule(c.alert))
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 3: "3", 6.664: "6.66", 99.5: "99.5", 100: "100", 999.6: "1,000", 12915: "12,915", 1234567: "1,234,567"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s", v, got)
		}
	}
}
