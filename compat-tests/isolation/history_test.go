package isolation

import (
	"strings"
	"testing"
)

// The checker must find each anomaly in a history that has it, and nothing in
// one that has none.
func TestChecker(t *testing.T) {
	w := func(key, v int) action { return action{key: key, append: v} }
	r := func(key int, list ...int) action { return action{key: key, read: list} }
	txn := func(a ...action) transaction { return transaction{actions: a} }
	failed := func(a ...action) transaction { return transaction{a, aborted} }
	for name, c := range map[string]struct {
		history []transaction
		want    string
	}{
		"serial":            {[]transaction{txn(w(1, 1), w(2, 2)), txn(r(1, 1), w(1, 3)), txn(r(1, 1, 3), r(2, 2))}, ""},
		"own appends":       {[]transaction{txn(w(1, 1), r(1, 1), w(1, 2), r(1, 1, 2)), txn(r(1, 1, 2))}, ""},
		"write skew":        {[]transaction{txn(r(1), w(2, 1)), txn(r(2), w(1, 2)), txn(r(1, 2), r(2, 1))}, ""},
		"aborted read":      {[]transaction{failed(w(1, 1)), txn(r(1, 1))}, "G1a"},
		"intermediate read": {[]transaction{txn(w(1, 1), w(1, 2)), txn(r(1, 1)), txn(r(1, 1, 2))}, "G1b"},
		"lost update":       {[]transaction{txn(r(1), w(1, 1)), txn(r(1), w(1, 2)), txn(r(1, 1, 2))}, "G-single"},
		"read skew":         {[]transaction{txn(w(1, 1), w(2, 2)), txn(r(1), r(2, 2)), txn(r(1, 1), r(2, 2))}, "G-single"},
		"dirty write":       {[]transaction{txn(w(1, 1), w(2, 2)), txn(w(1, 3), w(2, 4)), txn(r(1, 1, 3), r(2, 4, 2))}, "G1c"},
		"circular flow":     {[]transaction{txn(w(1, 1), r(2, 2)), txn(w(2, 2), r(1, 1))}, "G1c"},
		"forked":            {[]transaction{txn(w(1, 1)), txn(w(1, 2)), txn(r(1, 1)), txn(r(1, 2))}, "was read as"},
		"vanished own":      {[]transaction{txn(w(1, 1), r(1))}, "own appends"},
	} {
		got := strings.Join(check(c.history), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
