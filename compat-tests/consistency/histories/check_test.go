package histories

import (
	"strings"
	"testing"
)

func read(key int, values ...int) Op { return Op{Key: key, Read: values} }
func write(key, value int) Op        { return Op{Key: key, Write: value} }
func txn(ops ...Op) Txn              { return Txn{Ops: ops} }

// TestCheck checks that each anomaly is found and reported under its name, and that nothing is reported for
// histories that snapshot isolation allows.
func TestCheck(t *testing.T) {
	aborted := txn(write(1, 1))
	aborted.Outcome = Aborted
	early, late := txn(write(1, 1)), txn(read(1))
	early.Begin, early.End, late.Begin, late.End = 1, 2, 3, 4
	for _, x := range []struct {
		name, lists, registers string
		list, register         []Txn
	}{
		{name: "in order", list: []Txn{txn(write(1, 1)), txn(read(1, 1), write(1, 2)), txn(read(1, 1, 2))},
			register: []Txn{txn(write(1, 1)), txn(read(1, 1), write(1, 2)), txn(read(1, 2))}},
		{name: "write skew", list: []Txn{txn(read(1), write(2, 1)), txn(read(2), write(1, 2)), txn(read(1, 2), read(2, 1))},
			register: []Txn{txn(read(1), read(2), write(2, 1)), txn(read(1), read(2), write(1, 2))}},
		{name: "aborted read", lists: "G1a", registers: "G1a", list: []Txn{aborted, txn(read(1, 1))}, register: []Txn{aborted, txn(read(1, 1))}},
		{name: "intermediate read", lists: "G1b", registers: "G1b", list: []Txn{txn(write(1, 1), write(1, 2)), txn(read(1, 1))},
			register: []Txn{txn(write(1, 1), write(1, 2)), txn(read(1, 1))}},
		{name: "circular flow", lists: "G1c", registers: "G1c", list: []Txn{txn(write(1, 1), read(2, 2)), txn(write(2, 2), read(1, 1))},
			register: []Txn{txn(write(1, 1), read(2, 2)), txn(write(2, 2), read(1, 1))}},
		{name: "dirty write", lists: "G0", list: []Txn{txn(write(1, 1), write(2, 1)), txn(write(1, 2), write(2, 2)), txn(read(1, 1, 2)), txn(read(2, 2, 1))}},
		{name: "lost update", lists: "G-single", registers: "lost update", list: []Txn{txn(read(1), write(1, 1)), txn(read(1), write(1, 2)), txn(read(1, 1, 2))},
			register: []Txn{txn(read(1), write(1, 1)), txn(read(1), write(1, 2))}},
		{name: "read skew", lists: "G-single", registers: "G-single", list: []Txn{txn(write(1, 1), write(2, 1)), txn(read(1), read(2, 1)), txn(read(1, 1))},
			register: []Txn{txn(read(1), read(2), write(1, 1), write(2, 1)), txn(read(1), read(2, 1))}},
		{name: "long fork", lists: "G-nonadjacent", registers: "G-nonadjacent",
			list:     []Txn{txn(write(1, 1)), txn(write(2, 2)), txn(read(1, 1), read(2)), txn(read(1), read(2, 2))},
			register: []Txn{txn(read(1), write(1, 1)), txn(read(2), write(2, 2)), txn(read(1, 1), read(2)), txn(read(1), read(2, 2))}},
		{name: "stale read", lists: "G-single-realtime", list: []Txn{early, late, txn(read(1, 1))}},
		{name: "own write not seen", lists: "own appends", registers: "having read or written", list: []Txn{txn(write(1, 1), read(1))}, register: []Txn{txn(write(1, 1), read(1))}},
	} {
		for _, k := range []struct {
			what, want string
			got        []string
		}{{"lists", x.lists, Lists(x.list)}, {"registers", x.registers, Registers(x.register)}} {
			text := strings.Join(k.got, "; ")
			if k.want == "" && text != "" || !strings.Contains(text, k.want) {
				t.Errorf("%s, %s: %q, want %q", x.name, k.what, text, k.want)
			}
		}
	}
}
