package mql

import (
	"slices"
	"sync"
)

// Spilled is what blocking operators have put into temporary files.
type Spilled struct {
	Spills  int64 // how often they did
	Bytes   int64 // of memory that was free afterwards
	Records int64
	Storage int64 // bytes of the files
}

// Add counts more.
func (s *Spilled) Add(more Spilled) {
	s.Spills += more.Spills
	s.Bytes += more.Bytes
	s.Records += more.Records
	s.Storage += more.Storage
}

// StageSpills is what the operators of one kind of stage have spilled.
type StageSpills struct {
	Stage string // as in "$group"
	Spilled
}

// Spills counts what operators have spilled, by their stages. Safe for concurrent use.
type Spills struct {
	mu     sync.Mutex
	stages []StageSpills
}

// Add counts a spill of a stage.
func (s *Spills) Add(stage string, more Spilled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.stages, func(x StageSpills) bool { return x.Stage == stage })
	if i < 0 {
		i = len(s.stages)
		s.stages = append(s.stages, StageSpills{Stage: stage})
	}
	s.stages[i].Add(more)
}

// reset forgets everything. Nobody may add meanwhile.
func (s *Spills) reset() {
	if len(s.stages) > 0 {
		s.mu.Lock()
		s.stages = s.stages[:0]
		s.mu.Unlock()
	}
}

// List returns the stages that have spilled, the first to do so first.
func (s *Spills) List() []StageSpills {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stages)
}

// Of returns what a stage has spilled.
func (s *Spills) Of(stage string) Spilled {
	for _, x := range s.List() {
		if x.Stage == stage {
			return x.Spilled
		}
	}
	return Spilled{}
}

// Spilled is told what an operator has just spilled.
func (m *Memory) Spilled(stage string, s Spilled) {
	m.spills.Add(stage, s)
	if m.AllSpills != nil {
		m.AllSpills.Add(stage, s)
	}
}

// Spills is what the operators of the command have spilled.
func (m *Memory) Spills() []StageSpills { return m.spills.List() }
