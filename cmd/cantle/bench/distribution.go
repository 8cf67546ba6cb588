package bench

import (
	"math"
	"math/rand/v2"
)

// Distributions by which operations choose documents.
const (
	Uniform = "uniform" // each as often
	Zipfian = "zipfian" // few are chosen often; they are spread over all numbers
	Latest  = "latest"  // like Zipfian, the newest the most often
)

// Distributions are the names of all distributions.
var Distributions = []string{Uniform, Zipfian, Latest}

// theta is the constant of the Zipfian distribution in YCSB: item n is chosen in proportion to 1/n^theta.
const theta = 0.99

// zipf chooses numbers below n by the Zipfian distribution, 0 the most often.
// Source: Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994.
type zipf struct {
	n                 int64
	zetaN, zeta2, eta float64
}

// newZipf prepares the constants of the distribution over n numbers.
func newZipf(n int64) *zipf {
	z := &zipf{zeta2: 1 + math.Pow(0.5, theta)}
	z.grow(n)
	return z
}

// grow extends the distribution to n numbers. Its cost is that of the new ones.
func (z *zipf) grow(n int64) {
	for i := z.n; i < n; i++ {
		z.zetaN += 1 / math.Pow(float64(i+1), theta)
	}
	z.n = max(z.n, n)
	z.eta = (1 - math.Pow(2/float64(z.n), 1-theta)) / (1 - z.zeta2/z.zetaN)
}

// next chooses a number.
func (z *zipf) next(r *rand.Rand) int64 {
	u := r.Float64()
	switch uz := u * z.zetaN; {
	case uz < 1 || z.n == 1:
		return 0
	case uz < z.zeta2:
		return min(1, z.n-1)
	}
	return min(int64(float64(z.n)*math.Pow(z.eta*u-z.eta+1, 1/(1-theta))), z.n-1)
}

// chooser chooses numbers of documents below a number that grows. Each thread has one of its own.
type chooser struct {
	distribution string
	random       *rand.Rand
	zipf         *zipf
}

// newChooser makes a chooser that begins with a copy of z.
func newChooser(distribution string, random *rand.Rand, z zipf) *chooser {
	return &chooser{distribution: distribution, random: random, zipf: &z}
}

// choose returns a number below n. n never falls.
func (c *chooser) choose(n int64) int64 {
	n = max(1, n)
	if c.distribution == Uniform {
		return c.random.Int64N(n)
	}
	if n > c.zipf.n {
		c.zipf.grow(n)
	}
	v := c.zipf.next(c.random)
	if c.distribution == Latest {
		return max(0, n-1-v)
	}
	return int64(scatter(uint64(v)) % uint64(n))
}

// scatter is a bijective mix of 64 bits, by which frequent numbers are spread over all documents.
// Source: Vigna, the finaliser of SplitMix64.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
