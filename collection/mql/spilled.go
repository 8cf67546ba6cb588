package mql

import (
	"slices"
	"sync"
)

// Spilled counts what blocking operators have written to temporary files.
type Spilled struct {
	Spills  int64 // number of spills
	Bytes   int64 // of memory that the spills freed
	Records int64
	Storage int64 // bytes of the files
}

// Add adds the counts of more.
func (s *Spilled) Add(more Spilled) {
	s.Spills += more.Spills
	s.Bytes += more.Bytes
	s.Records += more.Records
	s.Storage += more.Storage
}

// StageSpills counts the rows and bytes that the operators of one kind of stage have spilled to temporary files.
type StageSpills struct {
	Stage string // for example "$group"
	Spilled
}

// Spills counts what operators have spilled to temporary files, by the kinds of their stages. Safe for concurrent
// use.
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

// reset removes all counts, before the next command. No Add may run at the same time.
func (s *Spills) reset() {
	if len(s.stages) > 0 {
		s.mu.Lock()
		s.stages = s.stages[:0]
		s.mu.Unlock()
	}
}

// List returns the counts of the stages that have spilled, in the order of their first spill.
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

// Spilled counts what an operator has just spilled.
func (m *Memory) Spilled(stage string, s Spilled) {
	m.spills.Add(stage, s)
	if m.AllSpills != nil {
		m.AllSpills.Add(stage, s)
	}
}

// Spills returns what the operators of the command have spilled.
func (m *Memory) Spills() []StageSpills { return m.spills.List() }
