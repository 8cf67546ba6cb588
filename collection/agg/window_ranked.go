package agg

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// ranker is an accumulator that returns the first or last n documents of a window in an order of its own: $top, $topN,
// $bottom, $bottomN, $minN and $maxN.
type ranker interface {
	Func
	// rank returns the bytes by which a document is ordered, appended to dst, and the value that the accumulator
	// returns for it. ok is false if the document does not count.
	rank(env *mql.Env, dst []byte, doc bson.Raw, s *expr.Scratch) (key []byte, v bson.Value, ok bool, err error)
	// limits returns n. single reports that the result is a value and not an array, last that the last n documents
	// are returned.
	limits(env *mql.Env, s *expr.Scratch) (n int64, single, last bool, err error)
}

func (f *topFunc) rank(env *mql.Env, dst []byte, doc bson.Raw, s *expr.Scratch) (key []byte, v bson.Value, ok bool, err error) {
	if key, err = f.by.AppendKeyMeta(env, dst, doc, s.NamedMeta); err != nil {
		return nil, v, false, err
	}
	v, err = f.output.Eval(env, doc, s)
	return key, v, err == nil, err
}

func (f *topFunc) limits(env *mql.Env, s *expr.Scratch) (n int64, single, last bool, err error) {
	if f.n == nil {
		return 1, true, f.bottom, nil
	}
	n, err = startN(env, f.name, f.n, bson.Null, s)
	return n, false, f.bottom, err
}

func (f *nFunc) rank(env *mql.Env, dst []byte, doc bson.Raw, s *expr.Scratch) (key []byte, v bson.Value, ok bool, err error) {
	if v, err = f.input.Eval(env, doc, s); err != nil || v.IsNullish() {
		return nil, v, false, zeroDivision(err)
	}
	dir := keystring.Ascending
	if f.name == "$maxN" {
		dir = keystring.Descending
	}
	return keystring.Append(dst, v, dir, env.Order(), nil), v, true, nil
}

func (f *nFunc) limits(env *mql.Env, s *expr.Scratch) (n int64, single, last bool, err error) {
	n, err = startN(env, f.name, f.n, bson.Null, s)
	return n, false, false, err
}

// rankedBytesMax limits the memory of a rankedWindow, which holds all documents of its window and cannot spill. A larger
// window is accumulated anew for each document, which holds only n.
const rankedBytesMax = 64 << 20

// rankedWindow computes a ranker over a window that moves: the values of the documents in the window are kept in order,
// so that documents can enter and leave.
type rankedWindow struct {
	fn           ranker
	n            int64 // 0: not yet computed
	single, last bool
	rows         rankedRows
	queue        []*rankedRow // by position
	to, held     int
}

// newRankedWindow returns the rankedWindow of an accumulator; nil if the accumulator is another one, or no document
// leaves the window.
func newRankedWindow(fn Func, w *window) *rankedWindow {
	r, ok := fn.(ranker)
	if f, isN := fn.(*nFunc); !ok || w.lo.unbounded || isN && f.name != "$minN" && f.name != "$maxN" {
		return nil
	}
	return &rankedWindow{fn: r}
}

// start computes n, once.
func (k *rankedWindow) start(env *mql.Env, s *expr.Scratch) (err error) {
	if k.n == 0 {
		k.n, k.single, k.last, err = k.fn.limits(env, s)
	}
	return err
}

// leave removes the documents before from, which have left the window.
func (k *rankedWindow) leave(env *mql.Env, from int) {
	freed := 0
	for len(k.queue) > 0 && k.queue[0].at < from {
		r := k.queue[0]
		k.rows.remove(r)
		freed += r.bytes()
		k.queue[0] = nil
		k.queue = k.queue[1:]
	}
	if freed > 0 {
		k.held -= freed
		env.Memory.Shrink(freed)
	}
}

// enter adds a document. It returns false if there is no memory for it.
func (k *rankedWindow) enter(env *mql.Env, at int, doc bson.Raw, s *expr.Scratch) (ok bool, err error) {
	key, v, ok, err := k.fn.rank(env, nil, doc, s)
	if err != nil || !ok {
		return true, err
	}
	if err := env.Spend(len(v.Data)); err != nil {
		return true, err
	}
	if v.IsMissing() {
		v = bson.Null
	}
	r := &rankedRow{key: key, at: at, v: v.Clone()}
	k.held += r.bytes()
	if !env.Memory.Grow(r.bytes()) || k.held > rankedBytesMax {
		return false, nil
	}
	k.rows.insert(r)
	k.queue = append(k.queue, r)
	return true, nil
}

// append appends the result under name.
func (k *rankedWindow) append(b *bson.Builder, name string) {
	if k.single {
		v := bson.Null
		for r := range k.rows.first(1, k.last) {
			v = r.v
		}
		b.Value(name, v)
		return
	}
	b.BeginArray(name)
	for r := range k.rows.first(k.n, k.last) {
		b.Value("", r.v)
	}
	b.End()
}

// release frees the memory.
func (k *rankedWindow) release(env *mql.Env) {
	env.Memory.Shrink(k.held)
	*k = rankedWindow{fn: k.fn}
}

// rankTo moves the window of a ranker to the documents from (inclusive) to to (exclusive) and appends the result.
// Windows never move back. ok is false if the window is too large for a rankedWindow.
func (r *windowedRun) rankTo(env *mql.Env, b *bson.Builder, name string, from, to int) (ok bool, err error) {
	k := r.ranked
	if err := k.start(env, &r.scratch); err != nil {
		return true, err
	}
	k.leave(env, from)
	k.to = max(k.to, from)
	for ; k.to < to; k.to++ {
		d, _, err := r.enter.get(k.to)
		if err != nil {
			return true, err
		}
		r.scratch.Reset()
		if ok, err := k.enter(env, k.to, d, &r.scratch); !ok || err != nil {
			return ok, err
		}
		if err := env.Tick(); err != nil {
			return true, err
		}
	}
	k.append(b, name)
	return true, nil
}

// edgeN appends the values of $firstN or $lastN, which are evaluated for n documents only.
func (r *windowedRun) edgeN(env *mql.Env, b *bson.Builder, name string, from, to int) error {
	f := r.firstLast
	n, err := startN(env, f.name, f.n, bson.Null, &r.scratch)
	if err != nil {
		return err
	}
	if n < int64(to-from) {
		if f.name == "$lastN" {
			from = to - int(n)
		} else {
			to = from + int(n)
		}
	}
	held := 0
	b.BeginArray(name)
	defer b.End()
	for ; from < to; from++ {
		d, _, err := r.enter.get(from)
		if err != nil {
			return err
		}
		r.scratch.Reset()
		v, err := f.input.Eval(env, d, &r.scratch)
		if err != nil {
			return zeroDivision(err)
		}
		held += len(v.Data)
		if err := cmp.Or(checkHeld(f.name, held), env.Spend(len(v.Data)), env.Tick()); err != nil {
			return err
		}
		appendOrNull(b, "", v)
	}
	return nil
}

// rankedRow is a document of a rankedWindow.
type rankedRow struct {
	key []byte
	at  int // position in the partition
	v   bson.Value
}

// bytes returns the approximate memory of the row.
func (r *rankedRow) bytes() int { return len(r.key) + len(r.v.Data) + 128 }

// compare orders rows by key, rows with equal keys by position.
func (r *rankedRow) compare(o *rankedRow) int {
	return cmp.Or(bytes.Compare(r.key, o.key), cmp.Compare(r.at, o.at))
}

// rankedRows is a sorted list of rows in chunks of at most rankedChunk rows, so that a row can be inserted or removed
// without moving many others.
type rankedRows struct{ chunks [][]*rankedRow }

const rankedChunk = 256

// find returns the position of r, or the one at which it must be inserted, as chunk and index.
func (l *rankedRows) find(r *rankedRow) (chunk, at int) {
	chunk = sort.Search(len(l.chunks), func(i int) bool {
		c := l.chunks[i]
		return c[len(c)-1].compare(r) >= 0
	})
	if chunk == len(l.chunks) {
		if chunk == 0 {
			return 0, 0
		}
		return chunk - 1, len(l.chunks[chunk-1])
	}
	c := l.chunks[chunk]
	return chunk, sort.Search(len(c), func(i int) bool { return c[i].compare(r) >= 0 })
}

func (l *rankedRows) insert(r *rankedRow) {
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, []*rankedRow{r})
		return
	}
	i, at := l.find(r)
	c := slices.Insert(l.chunks[i], at, r)
	if len(c) > rankedChunk {
		half := len(c) / 2
		l.chunks = slices.Insert(l.chunks, i+1, slices.Clone(c[half:]))
		clear(c[half:])
		c = c[:half]
	}
	l.chunks[i] = c
}

// remove removes a row, which is in the list.
func (l *rankedRows) remove(r *rankedRow) {
	i, at := l.find(r)
	if l.chunks[i] = slices.Delete(l.chunks[i], at, at+1); len(l.chunks[i]) == 0 {
		l.chunks = slices.Delete(l.chunks, i, i+1)
	}
}

// first yields the first n rows in order; with last, the last n rows, also in ascending order.
func (l *rankedRows) first(n int64, last bool) func(yield func(*rankedRow) bool) {
	return func(yield func(*rankedRow) bool) {
		skip := int64(0) // rows before the last n
		if last {
			for _, c := range l.chunks {
				skip += int64(len(c))
			}
			skip = max(0, skip-n)
		}
		for _, c := range l.chunks {
			if skip >= int64(len(c)) {
				skip -= int64(len(c))
				continue
			}
			for _, r := range c[skip:] {
				if n == 0 || !yield(r) {
					return
				}
				n--
			}
			skip = 0
		}
	}
}
