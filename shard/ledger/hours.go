package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/history"
)

// Kind is the kind of a row.
type Kind byte

// The kinds of rows, by the letters under which they are stored.
const (
	User        Kind = 'u'
	Application Kind = 'a'
	Bucket      Kind = 'b'
	Collection  Kind = 'c'
	Shape       Kind = 's'
	Value       Kind = 'v'
)

// Kinds lists the kinds with their names.
var Kinds = []struct {
	Kind Kind
	Name string
}{{User, "user"}, {Application, "application"}, {Bucket, "bucket"}, {Collection, "collection"}, {Shape, "shape"}, {Value, "value"}}

// Name returns the name of a kind.
func (k Kind) Name() string {
	for _, x := range Kinds {
		if x.Kind == k {
			return x.Name
		}
	}
	return "?"
}

// rowID identifies a row of an hour.
type rowID struct {
	kind   Kind
	others bool
	name   string
}

// Row is the sum of one user, application, … in one hour.
type Row struct {
	Kind   Kind
	Others bool   // the row is the sum of all that have no row of their own
	Name   string // unique among the rows of a kind
	// Namespace is the collection of a row by bucket, collection, shape or value; the others are of shapes and values.
	Namespace             string
	Command, Filter, Sort string
	Value                 bson.Raw // the fields of the shard key
	sum
}

func (r *Row) id() rowID { return rowID{r.Kind, r.Others, r.Name} }

// hour holds this server's rows of one hour.
type hour struct {
	rows    map[rowID]*heldRow
	values  map[valueKey]*heldRow // the rows of values that had charges since the start of the server
	removed []rowID               // stored, but folded into the row of the others meanwhile
}

type heldRow struct {
	Row
	value   valueKey
	changed bool // since it was stored
	stored  bool // perhaps: the outcome of a commit may be unknown
}

// add adds to a row.
func (h *hour) add(r Row, s sum) *heldRow {
	x := h.rows[r.id()]
	if x == nil {
		x = &heldRow{Row: r}
		h.rows[r.id()] = x
	}
	x.add(s)
	return x
}

func (x *heldRow) add(s sum) {
	x.sum.add(s)
	x.changed = true
}

// enter adds the charges of an origin to a row of each kind, without that of a value.
func (h *hour) enter(k originKey, s sum) {
	if k.Caller == nil {
		h.add(Row{Kind: User, Others: true}, s)
		h.add(Row{Kind: Application, Others: true}, s)
	} else {
		h.add(Row{Kind: User, Name: k.Caller.User}, s)
		h.add(Row{Kind: Application, Name: k.Caller.App}, s)
	}
	if k.Shape == nil {
		k.Shape = &history.Shape{}
	}
	ns := k.Shape.Namespace
	switch {
	case k.Bucket == Operator:
		h.add(Row{Kind: Bucket, Name: "operator"}, s)
	case k.Bucket != 0 && ns != "":
		h.add(Row{Kind: Bucket, Name: fmt.Sprintf("%s %d", ns, k.Bucket), Namespace: ns}, s)
	default:
		h.add(Row{Kind: Bucket}, s)
	}
	h.add(Row{Kind: Collection, Others: ns == "", Name: ns, Namespace: ns}, s)
	name := ns
	for _, part := range []string{k.Shape.Command, k.Shape.Filter, k.Shape.Sort} {
		if part != "" {
			name += " " + part
		}
	}
	h.add(Row{Kind: Shape, Others: ns == "", Name: name, Namespace: ns, Command: k.Shape.Command, Filter: k.Shape.Filter, Sort: k.Shape.Sort}, s)
}

// enterValues adds the charges of values to their rows, and the rest of all charges to the row of the others. New rows are
// made for the RowsMax values with the highest sums, so that a flush does not decode more.
func (l *Ledger) enterValues(h *hour, values map[valueKey]*sum, all sum) {
	type newcomer struct {
		key valueKey
		sum
	}
	var list []newcomer
	rest := all
	for k, s := range values {
		if r := h.values[k]; r != nil {
			r.add(*s)
			rest.sub(*s)
		} else {
			list = append(list, newcomer{k, *s})
		}
	}
	slices.SortFunc(list, func(a, b newcomer) int {
		return cmp.Or(cmp.Compare(b.Hundredths, a.Hundredths), cmp.Compare(a.key.value, b.key.value))
	})
	for _, x := range list[:min(RowsMax, len(list))] {
		v, ok := l.ValueOf(collection.ParseNamespace(x.key.namespace), []byte(x.key.value))
		if !ok {
			continue
		}
		r := h.add(Row{Kind: Value, Name: x.key.namespace + " " + ejson.String(v), Namespace: x.key.namespace, Value: v}, x.sum)
		r.value = x.key
		h.values[x.key] = r
		rest.sub(x.sum)
	}
	if rest != (sum{}) {
		h.add(Row{Kind: Value, Others: true}, rest)
	}
}

// bytes estimates how many bytes the row takes in the store, before compression.
func (r *Row) bytes() int {
	return rowBytes + 2*len(r.Name) + len(r.Namespace) + len(r.Value)
}

// fold leaves the rows of each kind with the highest sums, at most RowsMax with kindBytesMax, and adds the rest to the row
// of the others, if a kind has more than times as many or as much.
func (h *hour) fold(times int) {
	by := map[Kind][]*heldRow{}
	size := map[Kind]int{}
	for id, r := range h.rows {
		if !id.others {
			by[id.kind] = append(by[id.kind], r)
			size[id.kind] += r.bytes()
		}
	}
	for kind, list := range by {
		if len(list) <= times*RowsMax && size[kind] <= times*kindBytesMax {
			continue
		}
		slices.SortFunc(list, func(a, b *heldRow) int {
			return cmp.Or(cmp.Compare(b.Hundredths, a.Hundredths), cmp.Compare(a.Name, b.Name))
		})
		kept, bytes := 0, 0
		for kept < min(RowsMax, len(list)) && bytes+list[kept].bytes() <= kindBytesMax {
			bytes += list[kept].bytes()
			kept++
		}
		for _, r := range list[kept:] {
			h.add(Row{Kind: kind, Others: true}, r.sum)
			delete(h.rows, r.id())
			delete(h.values, r.value)
			if r.stored {
				h.removed = append(h.removed, r.id())
			}
		}
	}
}

// collect takes the charges of all lanes and adds them to the rows of their hours. The caller holds l.mu. If the rows of an
// hour cannot be read, its charges stay pending. Errors: those of the store.
func (l *Ledger) collect(ctx context.Context) error {
	for i := range l.lanes {
		l.take(&l.lanes[i])
	}
	now := l.Now().Unix() / hourSeconds
	if _, err := l.hourOf(ctx, now); err != nil {
		return err
	}
	for n, p := range l.pending {
		h, err := l.hourOf(ctx, n)
		if err != nil {
			return err
		}
		var all sum
		for k, s := range p.origins {
			h.enter(k, *s)
			all.add(*s)
		}
		l.enterValues(h, p.values, all)
		delete(l.pending, n)
	}
	for n, h := range l.hours {
		if n < now {
			h.fold(1)
		} else {
			h.fold(2)
		}
	}
	return nil
}

// take moves the charges of a lane to l.pending. Values that have rows keep their entries in the lane, without a sum, so that
// new ones cannot take their places.
func (l *Ledger) take(x *lane) {
	held := 0
	for _, p := range l.pending {
		held += max(len(p.origins), len(p.values))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	of := func(hour int64) *taken {
		p := l.pending[hour]
		if p == nil {
			p = new(newTaken())
			l.pending[hour] = p
		}
		return p
	}
	for k, s := range x.origins {
		p := of(k.hour)
		if p.origins[k] == nil && held+len(x.origins) > pendingMax {
			k = originKey{hour: k.hour}
		}
		if p.origins[k] == nil {
			p.origins[k] = &sum{}
		}
		p.origins[k].add(*s)
	}
	clear(x.origins)
	for k, s := range x.values {
		if s.Commands != 0 {
			if p := of(k.hour); p.values[k] != nil {
				p.values[k].add(*s)
			} else if held+len(x.values) <= pendingMax {
				p.values[k] = new(*s)
			}
		}
		if h := l.hours[k.hour]; h != nil && h.values[k] != nil {
			*s = sum{}
		} else {
			delete(x.values, k)
		}
	}
	x.fresh = 0
}

// hourOf returns the rows of an hour, those that this server has stored included.
func (l *Ledger) hourOf(ctx context.Context, n int64) (*hour, error) {
	if h := l.hours[n]; h != nil {
		return h, nil
	}
	h := &hour{rows: map[rowID]*heldRow{}, values: map[valueKey]*heldRow{}}
	if l.Store != nil {
		if err := l.load(ctx, n, h); err != nil {
			return nil, err
		}
	}
	l.hours[n] = h
	return h, nil
}
