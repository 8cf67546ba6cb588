package histories

import (
	"cmp"
	"fmt"
	"slices"
)

// Change is a write of a document by the client to which the document belongs. The client sends the write again
// until it is acknowledged, and only then sends the next one. So of two changes of one client, the later one depends
// on the earlier one.
type Change struct {
	Client, Key int
	Version     int  // identifies the change; increases with each change of the client
	Removes     bool // the change deletes the document
	// Together identifies the transaction if several consecutive changes were made in one; 0 = none.
	Together int
	// Begin is the time when the change, or the commit of its transaction, was first sent. End is the time of the
	// acknowledgement, on the same clock; 0 if no acknowledgement arrived, which can be only in the last change of a
	// client.
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

// clients returns the clients in ascending order, so that each run checks them in the same order.
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

// span returns how many changes of a client's chain a read can contain, at least and at most, if the read was sent
// at the time sent and answered at the time back.
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

// between reports whether the first cut changes of a chain would contain only a part of a transaction, which no read
// may return.
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

// inOrder adds a violation for each row that is not in the order that the reader requested; a nil order means none.
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
