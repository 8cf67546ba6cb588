package histories

import (
	"fmt"
	"slices"
)

// Op is one operation of a transaction on a key: on a list it appends a value or reads the whole list; on a register
// it writes a value or reads it.
type Op struct {
	Key   int
	Write int   // the value; 0 = a read
	Read  []int // the result of a read: a list, or the value of a register if it has one
}

// Outcome is the outcome of a transaction, as far as its client received it.
type Outcome uint8

// The outcomes.
const (
	Committed Outcome = iota
	Aborted
	Unknown // the commit is undetermined
)

// Txn is a recorded transaction: its operations in order, and its outcome. Begin is the time when its first command
// was sent, End the time when its commit was acknowledged, on the same clock. If End is 0, the order in real time is
// not checked for it.
type Txn struct {
	Ops        []Op
	Outcome    Outcome
	Begin, End int64
}

// keyValue is a value of a key.
type keyValue struct{ key, value int }

// checker holds a history and the results of its analysis.
type checker struct {
	history []Txn
	writer  map[keyValue]int
	wrong   []string
	graph   [][]edge
}

// edge is a dependency of one transaction on another.
type edge struct {
	to   int
	kind kind
}

type kind uint8

const (
	ww kind = iota
	wr
	rt
	rw
)

func (k kind) String() string { return [...]string{"ww", "wr", "rt", "rw"}[k] }

// wrongMax bounds the number of violations that are reported.
const wrongMax = 20

func (c *checker) bad(format string, args ...any) {
	if len(c.wrong) < wrongMax {
		c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
	}
}

func (c *checker) link(from, to int, k kind) {
	if from != to {
		c.graph[from] = append(c.graph[from], edge{to, k})
	}
}

// newChecker records the writer of each value.
func newChecker(history []Txn) *checker {
	c := &checker{history: history, writer: map[keyValue]int{}, graph: make([][]edge, len(history))}
	for i, t := range history {
		for _, o := range t.Ops {
			if o.Write != 0 {
				c.writer[keyValue{o.Key, o.Write}] = i
			}
		}
	}
	return c
}

// finish adds the real-time dependencies and looks for cycles.
func (c *checker) finish() []string {
	if len(c.wrong) == 0 {
		c.realTime()
		c.cycles()
	}
	return c.wrong
}

// Lists judges transactions that append to lists.
func Lists(history []Txn) []string {
	c := newChecker(history)
	last := map[keyValue]bool{} // has the last append of each transaction to each key
	for _, t := range history {
		mine := map[int]int{}
		for _, o := range t.Ops {
			if o.Write != 0 {
				mine[o.Key] = o.Write
			}
		}
		for k, v := range mine {
			last[keyValue{k, v}] = true
		}
	}
	longest := map[int][]int{}
	for i, t := range history {
		if t.Outcome == Committed {
			c.lists(i, t, last, longest)
		}
	}
	if len(c.wrong) == 0 {
		c.orderLists(longest)
	}
	return c.finish()
}

// lists checks the lists that a transaction read.
func (c *checker) lists(i int, t Txn, last map[keyValue]bool, longest map[int][]int) {
	own := map[int][]int{}
	for _, o := range t.Ops {
		if o.Write != 0 {
			own[o.Key] = append(own[o.Key], o.Write)
			continue
		}
		list := o.Read
		n := len(list) - len(own[o.Key])
		if n < 0 || !slices.Equal(list[n:], own[o.Key]) {
			c.bad("transaction %d does not see its own appends %v of key %d in %v", i, own[o.Key], o.Key, list)
			continue
		}
		list = list[:n]
		seen := map[int]bool{}
		for _, v := range list {
			w, ok := c.writer[keyValue{o.Key, v}]
			switch {
			case !ok:
				c.bad("transaction %d read %d of key %d, which nobody appended", i, v, o.Key)
			case c.history[w].Outcome == Aborted:
				c.bad("G1a: transaction %d read %d of key %d from aborted transaction %d", i, v, o.Key, w)
			case seen[v]:
				c.bad("transaction %d read %d of key %d twice in %v", i, v, o.Key, list)
			}
			seen[v] = true
		}
		if n > 0 && !last[keyValue{o.Key, list[n-1]}] {
			c.bad("G1b: transaction %d read key %d up to %d, in the middle of transaction %d", i, o.Key, list[n-1], c.writer[keyValue{o.Key, list[n-1]}])
		}
		short, long := list, longest[o.Key]
		if len(short) > len(long) {
			short, long = long, short
			longest[o.Key] = list
		}
		if !slices.Equal(short, long[:len(short)]) {
			c.bad("key %d was read as %v and as %v", o.Key, short, long)
		}
	}
}

// orderLists adds to the graph of transactions the ww, wr and rw dependencies that follow from the lists. longest
// has, for each key, the longest list that was read.
func (c *checker) orderLists(longest map[int][]int) {
	for key, list := range longest {
		for i := 1; i < len(list); i++ {
			c.link(c.writer[keyValue{key, list[i-1]}], c.writer[keyValue{key, list[i]}], ww)
		}
	}
	for i, t := range c.history {
		if t.Outcome != Committed {
			continue
		}
		wrote := map[int]bool{}
		for _, o := range t.Ops {
			if o.Write != 0 {
				wrote[o.Key] = true
			}
			if wrote[o.Key] {
				continue
			}
			n, full := len(o.Read), longest[o.Key]
			if n > 0 {
				c.link(c.writer[keyValue{o.Key, o.Read[n-1]}], i, wr)
			}
			if n < len(full) {
				c.link(i, c.writer[keyValue{o.Key, full[n]}], rw)
			}
		}
	}
}

// Registers checks transactions that read and write registers, and returns the violations of snapshot isolation. A
// register that was never written has no value.
func Registers(history []Txn) []string {
	c := newChecker(history)
	after := map[keyValue][]int{} // the committed transactions that overwrote a value that they had read
	final := map[keyValue]bool{}  // has the last write of each transaction to each key
	for i, t := range history {
		read, mine := map[int]int{}, map[int]int{}
		for _, o := range t.Ops {
			_, wrote := mine[o.Key]
			switch {
			case o.Write != 0:
				if v, ok := read[o.Key]; ok && !wrote && t.Outcome == Committed {
					after[keyValue{o.Key, v}] = append(after[keyValue{o.Key, v}], i)
				}
				mine[o.Key] = o.Write
			case !wrote:
				read[o.Key] = value(o)
			}
		}
		for k, v := range mine {
			final[keyValue{k, v}] = true
		}
	}
	for p, over := range after {
		if len(over) > 1 {
			c.bad("lost update: transactions %v all wrote over %d of key %d, which they had read", over, p.value, p.key)
		}
		if w, ok := c.writer[p]; ok {
			c.link(w, over[0], ww)
		}
	}
	for i, t := range history {
		if t.Outcome == Committed {
			c.registers(i, t, after, final)
		}
	}
	return c.finish()
}

// value returns the value of a register that an operation read, 0 for none.
func value(o Op) int {
	if len(o.Read) == 0 {
		return 0
	}
	return o.Read[0]
}

// registers checks the registers that a transaction read.
func (c *checker) registers(i int, t Txn, after map[keyValue][]int, final map[keyValue]bool) {
	mine, seen := map[int]int{}, map[int]int{}
	for _, o := range t.Ops {
		if o.Write != 0 {
			mine[o.Key], seen[o.Key] = o.Write, o.Write
			continue
		}
		v := value(o)
		if before, ok := seen[o.Key]; ok && before != v {
			c.bad("transaction %d read key %d as %d, having read or written %d", i, o.Key, v, before)
		}
		seen[o.Key] = v
		if mine[o.Key] != 0 {
			continue
		}
		p := keyValue{o.Key, v}
		w, ok := c.writer[p]
		switch {
		case v != 0 && !ok:
			c.bad("transaction %d read %d of key %d, which nobody wrote", i, v, o.Key)
		case v != 0 && c.history[w].Outcome == Aborted:
			c.bad("G1a: transaction %d read %d of key %d from aborted transaction %d", i, v, o.Key, w)
		case v != 0 && !final[p]:
			c.bad("G1b: transaction %d read %d of key %d, in the middle of transaction %d", i, v, o.Key, w)
		case v != 0:
			c.link(w, i, wr)
		}
		for _, over := range after[p] {
			c.link(i, over, rw)
		}
	}
}
