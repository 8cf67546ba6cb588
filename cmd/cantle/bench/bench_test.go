package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLatencies compares quantiles with those of the sorted durations.
func TestLatencies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var l latencies
	var all []time.Duration
	for range 20_000 {
		d := time.Duration(math.Exp(r.Float64()*16)) * time.Microsecond
		all = append(all, d)
		l.add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.95, 0.99, 0.999} {
		want, got := all[int(q*float64(len(all)))], l.quantile(q)
		if got < want || float64(got) > float64(want)*1.017+1000 {
			t.Errorf("%v: %v, is %v", q, got, want)
		}
	}
	if l.quantile(1) != all[len(all)-1] || l.max != all[len(all)-1] {
		t.Errorf("maximum %v, is %v", l.quantile(1), all[len(all)-1])
	}
	for _, d := range []time.Duration{0, time.Microsecond, 127 * time.Microsecond, 128 * time.Microsecond, 255 * time.Microsecond, 100 * time.Hour} {
		var one latencies
		one.add(d)
		if one.quantile(0.5) != d {
			t.Errorf("%v becomes %v", d, one.quantile(0.5))
		}
	}
}

// TestZipf compares the frequencies of the most frequent numbers with the distribution.
func TestZipf(t *testing.T) {
	const n, draws = 1_000, 200_000
	z, r := newZipf(10), rand.New(rand.NewPCG(1, 1))
	z.grow(n)
	count := make([]int, n)
	for range draws {
		count[z.next(r)]++
	}
	for i := range 2 { // exact in Gray's algorithm; it approximates the others
		want := draws / math.Pow(float64(i+1), theta) / z.zetaN
		if got := float64(count[i]); math.Abs(got-want) > 4*math.Sqrt(want) {
			t.Errorf("%d is chosen %v times, by the distribution %.0f", i, got, want)
		}
	}
	head := 0
	for i := range 100 {
		head += count[i]
	}
	whole := 0.0
	for i := range 100 {
		whole += 1 / math.Pow(float64(i+1), theta) / z.zetaN
	}
	if got := float64(head) / draws; math.Abs(got-whole) > 0.03 {
		t.Errorf("the first hundred are chosen in %.3f of the draws, by the distribution %.3f", got, whole)
	}
}

// TestChoosers checks the range of each distribution, and what it prefers.
func TestChoosers(t *testing.T) {
	for _, d := range Distributions {
		for _, n := range []int64{1, 2, 3, 50} {
			c := newChooser(d, rand.New(rand.NewPCG(1, 1)), *newZipf(1))
			count := map[int64]int{}
			for range 5_000 {
				v := c.choose(n)
				if v < 0 || v >= n {
					t.Fatalf("%s of %d: %d", d, n, v)
				}
				count[v]++
			}
			if d == Latest && n == 50 && count[49] < count[0]*5 {
				t.Errorf("the latest is chosen %d times, the first %d times", count[49], count[0])
			}
			if d == Uniform && n == 50 && (count[0] < 50 || count[0] > 200) {
				t.Errorf("uniform: the first is chosen %d times of 5000", count[0])
			}
		}
	}
}

// TestMixes checks that the shares of each mix are 100 percent, and the proportions of YCSB's workload B.
func TestMixes(t *testing.T) {
	for _, m := range Mixes {
		sum := 0
		for _, s := range m.shares {
			sum += s.percent
		}
		if sum != 100 {
			t.Errorf("%s: %d percent", m.Name, sum)
		}
	}
	b, _ := MixNamed("b")
	reads := 0
	for i := range 100 {
		if b.choose(i) == opRead {
			reads++
		}
	}
	if reads != 95 {
		t.Errorf("%d reads", reads)
	}
}
