package mql

import "github.com/cantledb/cantle/bson"

// Vars holds the variables of a command, named values that expressions refer to by slot (an index). Names are
// declared before parsing. Values may be set again for each run: $lookup sets them for each input document. Values
// must stay valid while expressions run.
type Vars struct {
	names  []string
	values []bson.Value
}

// Declare adds a variable of this name, unless there is one, and returns its slot. An existing variable keeps its
// value; that of a new one is missing.
func (v *Vars) Declare(name string) int {
	if s, ok := v.Slot(name); ok {
		return s
	}
	v.names = append(v.names, name)
	v.values = append(v.values, bson.Value{})
	return len(v.names) - 1
}

// Slot finds a declared variable.
func (v *Vars) Slot(name string) (slot int, ok bool) {
	for i := len(v.names) - 1; i >= 0; i-- {
		if v.names[i] == name {
			return i, true
		}
	}
	return 0, false
}

// Set sets the value of a declared variable.
func (v *Vars) Set(slot int, x bson.Value) { v.values[slot] = x }

// Get returns the value in a slot.
func (v *Vars) Get(slot int) bson.Value { return v.values[slot] }

// Len returns the number of declared variables.
func (v *Vars) Len() int { return len(v.names) }

// Name returns the name of a slot.
func (v *Vars) Name(slot int) string { return v.names[slot] }

// Clone returns a copy of the variables with their values, for a nested scope or another goroutine.
func (v *Vars) Clone() *Vars { return v.clone() }

func (v *Vars) clone() *Vars {
	return &Vars{append([]string(nil), v.names...), append([]bson.Value(nil), v.values...)}
}
