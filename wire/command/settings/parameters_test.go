package settings

import "testing"

// TestParameterTable checks that the table of parameters is sorted by name, and that every computed parameter has a
// function for its value.
func TestParameterTable(t *testing.T) {
	last := ""
	for _, d := range paramTable() {
		if d.name <= last {
			t.Errorf("%s stands after %s", d.name, last)
		}
		last = d.name
		if d.kind == paramComputed && d.value == nil {
			t.Errorf("%s has no value", d.name)
		}
	}
}
