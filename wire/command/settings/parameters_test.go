package settings

import "testing"

// TestParameterTable: the table is in order, and every row can be read.
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
