package filescan

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBlocksWithin: blocksWithin finds the same blocks between random bytes as a slow search that calls blockAt at
// each byte.
func TestBlocksWithin(t *testing.T) {
	const starts, limit = 3000, 2000
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		data := make([]byte, 6000)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		for range 6 { // blocks may overwrite earlier ones
			at, size := rng.IntN(3500), 1+rng.IntN(2400)
			if at+size+5 <= len(data) {
				binary.LittleEndian.PutUint32(data[at+size+1:], maskedSum(data[at:at+size+1]))
			}
		}
		var want []possibleBlock
		for at := range starts {
			if size := blockAt(data[at:], limit); size >= 0 {
				want = append(want, possibleBlock{at, size})
			}
		}
		got := slices.CompactFunc(blocksWithin(data, starts, limit), func(a, b possibleBlock) bool { return a.at == b.at })
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("seed %d: found %v, want %v", seed, got, want)
		}
	}
}

func TestBack(t *testing.T) {
	for _, r := range []uint32{0, 1, 0x80000000, 0xdeadbeef, ^uint32(0)} {
		if got := back(forth(r)); got != r {
			t.Errorf("%08x came back as %08x", r, got)
		}
		if unmask(mask(r)) != r {
			t.Errorf("%08x was not unmasked", r)
		}
	}
}
