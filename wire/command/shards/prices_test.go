package shards

import (
	"math"
	"testing"
)

// A value with much of the cost has a price of its own, however many others come; those share theirs.
func TestPricesByValue(t *testing.T) {
	var p shapePrices
	if _, _, known := p.of(1); known {
		t.Error("a price before the first run")
	}
	for i := range uint64(20_000) {
		p.add(1000+i, 1, 5) // each value once
		if i%100 == 0 {
			p.add(1, 1, 2000)
		}
	}
	for hash, want := range map[uint64]float64{1: 2000, 500_000: 5, 0: 5} {
		if least, ru, known := p.of(hash); !known || least != ru || math.Abs(ru-want) > 0.05*want {
			t.Errorf("value %d costs %v, want %v", hash, ru, want)
		}
	}
	for range 1000 { // the cost of the value has doubled
		p.add(1, 1, 4000)
	}
	if _, ru, _ := p.of(1); math.Abs(ru-4000) > 40 {
		t.Errorf("after the cost has doubled: %v", ru)
	}
	p = shapePrices{}
	p.add(9, 1, 100)
	p.add(9, 0, 50) // its second page
	if _, ru, _ := p.of(9); ru != 150 {
		t.Errorf("a run of two pages costs %v", ru)
	}
	if least, ru, known := p.of(10); !known || least != refusedRU || ru != 150 {
		t.Errorf("an unknown value costs %v to %v", least, ru)
	}
}

// A statement counts as a repetition within a minute after its refusal, until it has run.
func TestRepeats(t *testing.T) {
	var r repeats
	const hash, at = 0x123456789abcdef0, 1_800_000_000
	if r.any(at) || r.ran(hash, at) || r.refused(hash, at) || !r.any(at) {
		t.Error("the first refusal")
	}
	if !r.refused(hash, at+repeatSeconds) || r.refused(hash^1<<40, at) {
		t.Error("a repetition, and another statement in its slot")
	}
	if r.refused(hash, at) || r.refused(hash, at+repeatSeconds+1) {
		t.Error("a displaced statement, and one that comes late")
	}
	if !r.ran(hash, at+repeatSeconds+2) || r.ran(hash, at+repeatSeconds+2) || r.refused(hash, at+repeatSeconds+3) {
		t.Error("after it has run")
	}
}
