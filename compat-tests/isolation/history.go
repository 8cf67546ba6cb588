package isolation

import (
	"fmt"
	"slices"
)

// action is an append of a value to the list of a key, or a read of the list.
type action struct {
	key    int
	append int   // the value; 0 = a read
	read   []int // what a read returned
}

// transaction is a list of actions and what became of them.
type transaction struct {
	actions []action
	outcome outcome
}

type outcome uint8

const (
	committed outcome = iota
	aborted
	unknown // the commit's outcome was not learned
)

// dependency is an edge between transactions: to depends on from.
type dependency struct {
	to   int
	kind string // ww, wr, rw
}

// check judges a history of transactions that append unique values to lists and
// read whole lists, and returns the violations of snapshot isolation. The order
// of writes is not guessed: the lists themselves show it.
func check(history []transaction) (violations []string) {
	bad := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	writer := map[[2]int]int{} // key, value → transaction
	last := map[[2]int]bool{}  // the last of its key that the transaction appended
	longest := map[int][]int{}
	for i, t := range history {
		mine := map[int]int{}
		for _, a := range t.actions {
			if a.append != 0 {
				writer[[2]int{a.key, a.append}] = i
				mine[a.key] = a.append
			}
		}
		for k, v := range mine {
			last[[2]int{k, v}] = true
		}
	}
	for i, t := range history {
		if t.outcome != committed {
			continue
		}
		own := map[int][]int{}
		for _, a := range t.actions {
			if a.append != 0 {
				own[a.key] = append(own[a.key], a.append)
				continue
			}
			list := a.read
			if n := len(list) - len(own[a.key]); n < 0 || !slices.Equal(list[n:], own[a.key]) {
				bad("transaction %d does not see its own appends %v of key %d in %v", i, own[a.key], a.key, list)
				continue
			} else {
				list = list[:n]
			}
			seen := map[int]bool{}
			for _, v := range list {
				w, ok := writer[[2]int{a.key, v}]
				switch {
				case !ok:
					bad("transaction %d read %d of key %d, which nobody appended", i, v, a.key)
				case history[w].outcome == aborted:
					bad("G1a: transaction %d read %d of key %d from aborted transaction %d", i, v, a.key, w)
				case seen[v]:
					bad("transaction %d read %d of key %d twice in %v", i, v, a.key, list)
				}
				seen[v] = true
			}
			if len(list) > 0 {
				if v := list[len(list)-1]; !last[[2]int{a.key, v}] {
					bad("G1b: transaction %d read key %d up to %d, in the middle of transaction %d", i, a.key, v, writer[[2]int{a.key, v}])
				}
			}
			short, long := list, longest[a.key]
			if len(short) > len(long) {
				short, long = long, short
				longest[a.key] = list
			}
			if !slices.Equal(short, long[:len(short)]) {
				bad("key %d was read as %v and as %v", a.key, short, long)
			}
		}
	}
	if len(violations) > 0 {
		return violations
	}
	graph := dependencies(history, longest, writer)
	return cycles(graph)
}

// dependencies makes the graph: who wrote after whom, read from whom, and read
// before whom.
func dependencies(history []transaction, longest map[int][]int, writer map[[2]int]int) [][]dependency {
	graph := make([][]dependency, len(history))
	link := func(from, to int, kind string) {
		if from != to {
			graph[from] = append(graph[from], dependency{to, kind})
		}
	}
	for key, list := range longest {
		for i := 1; i < len(list); i++ {
			link(writer[[2]int{key, list[i-1]}], writer[[2]int{key, list[i]}], "ww")
		}
	}
	for i, t := range history {
		if t.outcome != committed {
			continue
		}
		wrote := map[int]bool{}
		for _, a := range t.actions {
			if a.append != 0 {
				wrote[a.key] = true
				continue
			}
			if wrote[a.key] {
				continue
			}
			n := len(a.read)
			if n > 0 {
				link(writer[[2]int{a.key, a.read[n-1]}], i, "wr")
			}
			if full := longest[a.key]; n < len(full) {
				link(i, writer[[2]int{a.key, full[n]}], "rw")
			}
		}
	}
	return graph
}

// cycles finds what snapshot isolation forbids: cycles of writes and reads-from
// with at most one read-before.
func cycles(graph [][]dependency) (violations []string) {
	for from, edges := range graph {
		for _, e := range edges {
			if path := reach(graph, e.to, from); path != nil {
				name := "G-single"
				if e.kind != "rw" {
					name = "G1c"
				}
				violations = append(violations, fmt.Sprintf("%s: %d -%s-> %v", name, from, e.kind, path))
				if len(violations) > 10 {
					return violations
				}
			}
		}
	}
	return violations
}

// reach finds a way over ww and wr.
func reach(graph [][]dependency, from, to int) []int {
	before := map[int]int{from: -1}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			var path []int
			for ; at >= 0; at = before[at] {
				path = append(path, at)
			}
			slices.Reverse(path)
			return path
		}
		for _, e := range graph[at] {
			if _, seen := before[e.to]; !seen && e.kind != "rw" {
				before[e.to] = at
				queue = append(queue, e.to)
			}
		}
	}
	return nil
}
