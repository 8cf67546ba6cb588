package mql

import "sync/atomic"

// WithRandomFlag returns a copy of e that sets drew when the copy or one of its forks draws a random value.
// Results that depend on random values are not cached.
func (e *Env) WithRandomFlag(drew *atomic.Bool) *Env {
	f := *e
	f.randomDrawn = drew
	return &f
}

// NoteRandom marks that a random value was drawn. $rand, $sample, $sampleRate and the like call it.
func (e *Env) NoteRandom() {
	if e.randomDrawn != nil {
		e.randomDrawn.Store(true)
	}
}
