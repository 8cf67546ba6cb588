package mql

import "sync/atomic"

// Chance returns a copy of e that notes in drew when something is drawn by chance, in the
// copy or its forks: results of that kind are not kept to be used again.
func (e *Env) Chance(drew *atomic.Bool) *Env {
	f := *e
	f.drew = drew
	return &f
}

// Draw is called by what draws by chance: $rand, $sample, $sampleRate and the like.
func (e *Env) Draw() {
	if e.drew != nil {
		e.drew.Store(true)
	}
}
