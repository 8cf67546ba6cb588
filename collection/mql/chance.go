package mql

import "sync/atomic"

// Chance returns a copy of e that sets drew when the copy or one of its forks draws a random value.
// Results that depend on random values are not cached.
func (e *Env) Chance(drew *atomic.Bool) *Env {
	f := *e
	f.drew = drew
	return &f
}

// Draw marks that a random value was drawn. $rand, $sample, $sampleRate and the like call it.
func (e *Env) Draw() {
	if e.drew != nil {
		e.drew.Store(true)
	}
}
