package ledger

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/cantledb/cantle/storage"
)

// HourRow is a row with its hour, in seconds since 1970.
type HourRow struct {
	Start int64
	Row
}

// pageRows is the number of rows after which a page ends with its hour.
const pageRows = 1000

// Page returns the rows of the hours that follow the hour after (in hours since 1970), those of all servers added up:
// several hours, until there are pageRows. Rows of other servers are those that they have written, rows of this server
// are complete. last is the last hour of the page. Without rows there is no later hour. Errors: those of the store.
func (l *Ledger) Page(ctx context.Context, after int64) (page []HourRow, last int64, err error) {
	l.mu.Lock()
	if err := l.collect(ctx); err != nil {
		l.mu.Unlock()
		return nil, 0, err
	}
	held := map[int64][]Row{}
	for n, h := range l.hours {
		if n > after {
			for _, r := range h.rows {
				held[n] = append(held[n], r.Row)
			}
		}
	}
	var snap storage.Reader
	if l.Store != nil {
		snap, err = l.Store.Snapshot(ctx, 0)
	}
	l.mu.Unlock()
	if err != nil {
		return nil, 0, err
	}
	hours, total := map[int64]map[rowID]*Row{}, 0
	add := func(n int64, r Row) {
		if hours[n] == nil {
			hours[n] = map[rowID]*Row{}
		}
		if x := hours[n][r.id()]; x != nil {
			x.add(r.sum)
			return
		}
		hours[n][r.id()] = &r
		total++
	}
	newest := int64(-1)
	cut := false
	if snap != nil {
		defer snap.Close()
		own := l.server()
		oldest := l.Now().Unix()/hourSeconds - KeptHours
		err = scan(ctx, snap, hoursFrom(max(after+1, oldest)), func(_ []byte, n int64, server []byte, id rowID, value []byte) bool {
			if n != newest && total >= pageRows {
				cut = true
				return false
			}
			newest = n
			if held[n] != nil && bytes.Equal(server, own) {
				return true // the rows in memory are newer
			}
			add(n, decodeRow(id, value))
			return true
		})
		if err != nil {
			return nil, 0, err
		}
	}
	for n, rows := range held {
		if !cut || n <= newest {
			for _, r := range rows {
				add(n, r)
			}
		}
	}
	for n, rows := range hours {
		last = max(last, n)
		for _, r := range rows {
			page = append(page, HourRow{n * hourSeconds, *r})
		}
	}
	slices.SortFunc(page, func(a, b HourRow) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Kind.Name(), b.Kind.Name()), cmp.Compare(order(&a.Row), order(&b.Row)),
			cmp.Compare(b.Hundredths, a.Hundredths), cmp.Compare(a.Name, b.Name))
	})
	return page, last, nil
}

// order puts the row of the others last.
func order(r *Row) int {
	if r.Others {
		return 1
	}
	return 0
}

// Hide adds up the rows by value of each collection for which hidden is true in one row without a value. The rows are those
// of a Page, and are changed.
func Hide(page []HourRow, hidden func(namespace string) bool) []HourRow {
	type place struct {
		start     int64
		namespace string
	}
	at := map[place]int{}
	out := page[:0]
	for _, r := range page {
		if r.Kind == Value && !r.Others && hidden(r.Namespace) {
			p := place{r.Start, r.Namespace}
			i, ok := at[p]
			if ok {
				out[i].add(r.sum)
				continue
			}
			at[p] = len(out)
			r.Name, r.Value = r.Namespace, nil
		}
		out = append(out, r)
	}
	return out
}
