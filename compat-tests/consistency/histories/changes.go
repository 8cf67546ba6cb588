package histories

import (
	"cmp"
	"fmt"
	"slices"
)

// Change is a write of a document that belongs to one client. The client sends the write again until it is
// acknowledged, and only then sends the next one. So the changes of a client are a causal chain.
type Change struct {
	Client, Key int
	Version     int  // identifies the change, and grows with each change of the client
	Removes     bool // the change deletes the document
	// Together identifies the transaction of several consecutive changes; 0 = none.
	Together int
	// Begin is the time when the change, or the commit of its transaction, was sent. End is the time of
	// the acknowledgement, on the same clock. End is 0 if no acknowledgement arrived. Then the change is
	// the last one of its client.
	Begin, End int64
}

// Row is a document in the result of a read.
type Row struct{ Key, Version int }

// chains holds the changes of each client, in their order.
type chains map[int][]Change

func chainsOf(changes []Change) chains {
	c := chains{}
	for _, x := range changes {
		c[x.Client] = append(c[x.Client], x)
	}
	later := func(a, b Change) int { return cmp.Compare(a.Version, b.Version) }
	for _, chain := range c {
		if !slices.IsSortedFunc(chain, later) {
			slices.SortStableFunc(chain, later)
		}
	}
	return c
}

// clients returns the clients in order, so that violations are reported in the same order each time.
func (c chains) clients() []int {
	var out []int
	for client := range c {
		out = append(out, client)
	}
	slices.Sort(out)
	return out
}

// owners returns the clients of the documents, by key.
func (c chains) owners() map[int]int {
	out := map[int]int{}
	for client, chain := range c {
		for _, x := range chain {
			out[x.Key] = client
		}
	}
	return out
}

// span returns the minimum and the maximum number of changes of a chain that a read can contain. The read was
// sent at sent and its answer arrived at back.
func span(chain []Change, sent, back int64) (least, most int) {
	for i, x := range chain {
		if x.End != 0 && x.End < sent {
			least = i + 1
		}
		if x.Begin < back {
			most = i + 1
		}
	}
	return least, most
}

// between reports whether a cut of a chain would divide a transaction.
func between(chain []Change, cut int) bool {
	return cut > 0 && cut < len(chain) && chain[cut].Together != 0 && chain[cut].Together == chain[cut-1].Together
}

// found collects the first violations.
type found []string

func (f *found) bad(format string, args ...any) {
	if len(*f) < wrongMax {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// inOrder checks that rows are in the order of a reader, nil for none.
func (f *found) inOrder(rows []Row, order func(a, b Row) int) {
	if order == nil {
		return
	}
	for i := 1; i < len(rows); i++ {
		if order(rows[i-1], rows[i]) > 0 {
			f.bad("out of order: row %d is %v and row %d is %v", i-1, rows[i-1], i, rows[i])
		}
	}
}
