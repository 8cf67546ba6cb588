package mql

import "sync/atomic"

// WithRandomFlag returns a copy of e that sets drew when an expression of the copy or of its forks draws a random
// value. Results that depend on random values must not be cached.
func (e *Env) WithRandomFlag(drew *atomic.Bool) *Env {
	f := *e
	f.randomDrawn = drew
	return &f
}

// NoteRandom marks that an expression drew a random value ($rand, $sample, $sampleRate), so that its result is not
// cached.
func (e *Env) NoteRandom() {
	if e.randomDrawn != nil {
		e.randomDrawn.Store(true)
	}
}
