package index

import (
	"bytes"
	"github.com/cantledb/cantle/bson/path"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// Add is called with each index entry of a document: the keystrings of its values and their type bits (see
// keystring.TypeBits). Both are valid only during the call.
type Add func(values, typeBits []byte) error

// Keys calls add for each index entry of doc, without duplicates and in ascending order. A document that the partial
// filter or sparseness leaves out has none. arrays records the fields with arrays on their paths or, in text and
// geospatial indexes, with several values; nil if there are none. Documents without arrays cost no allocation in a
// plain index.
//
// Errors: CannotIndexParallelArrays, the errors of evaluating the partial filter, CannotBuildIndexKeys if the entries
// are larger than keysBytesMax, the errors of add, numbered codes such as 16766 for arrays in a hashed index, and the
// errors of Env.Tick.
func (s *Spec) Keys(env *mql.Env, doc bson.Raw, sc *expr.Scratch, add Add) (arrays MultikeyPaths, err error) {
	if s.Partial != nil {
		if ok, err := s.Partial.Matches(env, doc, sc); !ok || err != nil {
			return nil, err
		}
	}
	g := generators.Get().(*generator)
	g.reset(env, s, doc)
	if err = s.Kind.keys(g); err == nil {
		arrays, err = g.arrays, g.emit(add)
	}
	g.release()
	return arrays, err
}

// keysBytesMax limits the total size in bytes of the entries of a document in one index: four times the largest
// document. Values outside of an array, and the names above it, are repeated in the entry of each of its elements: a
// document of 16 MB could have terabytes of entries.
const keysBytesMax = 64 << 20

// generator is the working memory of one call of Keys.
type generator struct {
	env *mql.Env
	s   *Spec
	doc bson.Raw

	keys    []byte // the entries one after the other
	bits    []byte // their type bits
	entries []entry
	arrays  MultikeyPaths

	tb    keystring.TypeBits
	arena bson.Arena
	start int // of the entry under construction
	field int // number of its keystrings so far
}

// entry is the position of one key and its type bits.
type entry struct{ from, to, bitsFrom, bitsTo int }

var generators = sync.Pool{New: func() any { return new(generator) }}

func (g *generator) reset(env *mql.Env, s *Spec, doc bson.Raw) {
	g.env, g.s, g.doc = env, s, doc
	g.keys, g.bits, g.entries, g.arrays = g.keys[:0], g.bits[:0], g.entries[:0], nil
	g.arena.Reset()
	g.begin()
}

func (g *generator) release() {
	g.env, g.s, g.doc, g.arrays = nil, nil, nil, nil
	if cap(g.keys) < 1<<20 {
		generators.Put(g)
	}
}

// begin starts an entry and discards an unfinished one.
func (g *generator) begin() {
	if len(g.entries) > 0 {
		g.keys = g.keys[:g.entries[len(g.entries)-1].to]
	} else {
		g.keys = g.keys[:0]
	}
	g.start, g.field = len(g.keys), 0
	g.tb.Reset()
}

// value appends the next keystring of the entry.
func (g *generator) value(v bson.Value) {
	g.keys = keystring.Append(g.keys, v, g.s.dirs[g.field], g.s.order(g.field), &g.tb)
	g.field++
}

// end finishes the entry and starts the next.
func (g *generator) end() error {
	from := len(g.bits)
	g.bits = append(g.bits, g.tb.Bytes()...)
	g.entries = append(g.entries, entry{g.start, len(g.keys), from, len(g.bits)})
	size := len(g.keys) - g.start // one value may be in every key
	g.begin()
	if len(g.keys) > keysBytesMax {
		return mongoerr.New(mongoerr.CannotBuildIndexKeys, "The index %s would have more than %d MiB of keys for one document: an array has many elements, and the key of each repeats a large value or a long field name; "+
			"shorten that, leave it out of the index, or divide the document: %s", g.s.Name, keysBytesMax>>20, g.doc.Clipped(errorTextMax))
	}
	if err := g.env.Row(size); err != nil {
		return err
	}
	return g.env.Tick()
}

// emit passes the entries to add in order, without duplicates.
func (g *generator) emit(add Add) error {
	if len(g.entries) > 1 {
		err := mql.Sort(g.env, g.entries, func(a, b entry) int {
			return bytes.Compare(g.keys[a.from:a.to], g.keys[b.from:b.to])
		})
		if err != nil {
			return err
		}
	}
	for i, e := range g.entries {
		key := g.keys[e.from:e.to]
		if i > 0 {
			if last := g.entries[i-1]; bytes.Equal(g.keys[last.from:last.to], key) {
				continue
			}
		}
		if err := add(key, g.bits[e.bitsFrom:e.bitsTo]); err != nil {
			return err
		}
	}
	return nil
}

// tuples calls yield for each tuple of values that the paths of the index have in the document, one for each index
// entry. It records the arrays on the paths. If the index is sparse, a tuple without any value is left out.
func (g *generator) tuples(yield func(values []bson.Value) error) error {
	for _, p := range g.s.paths {
		if p.HasPosition() {
			if err := unambiguous(g.env, g.doc.Value(), p, 0); err != nil {
				return err
			}
		}
	}
	t := order.Borrow()
	defer t.Release()
	parallel, err := t.Each(g.doc, g.s.paths, func(values []bson.Value) error {
		if g.s.Sparse && allMissing(values) {
			return g.env.Tick()
		}
		return yield(values)
	})
	if parallel {
		return g.parallel()
	}
	for i, set := range t.Arrays() {
		if set != 0 && g.arrays == nil {
			g.arrays = make(MultikeyPaths, len(g.s.paths))
			for k, p := range g.s.paths {
				g.arrays[k].Path = p
			}
		}
		if set != 0 {
			g.arrays[i].Arrays = set
		}
	}
	return err
}

// errorTextMax is the largest length in bytes of a document that an error message quotes; the rest is cut.
const errorTextMax = 300

// unambiguous returns an error for an array in which a component of p, from next on, is a position and also a field
// of a document in the array: a query would match both, but an entry can hold only one. Observed: mongod 7.0.
func unambiguous(env *mql.Env, v bson.Value, p path.Path, next int) error {
	next, v = order.Descend(v, p, next)
	arr, ok := v.Array()
	if !ok || next >= p.Len() {
		return nil
	}
	at, found := p.Element(arr, next)
	for e := range arr.Values() {
		if err := env.Tick(); err != nil {
			return err
		}
		d, isDoc := e.Doc()
		if !isDoc {
			continue
		}
		if found {
			if _, twice := d.Lookup(p.Name(next)); twice {
				return mongoerr.New(mongoerr.Code(16746), "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), field: '%s' for array: %s", p.Name(next), v.Clipped(errorTextMax))
			}
			continue
		}
		if err := unambiguous(env, e, p, next); err != nil {
			return err
		}
	}
	if found {
		return unambiguous(env, at, p, next+1)
	}
	return nil
}

func allMissing(values []bson.Value) bool {
	for _, v := range values {
		if v.Type != bson.TypeMissing {
			return false
		}
	}
	return true
}

// parallel returns the error for a document with arrays on the paths of two fields of the index. Such a document
// would have an entry for every pair of elements.
func (g *generator) parallel() error {
	var names [2]string
	n := 0
	for _, p := range g.s.paths {
		if _, v := order.Descend(g.doc.Value(), p, 0); v.Type == bson.TypeArray && n < 2 {
			names[n] = p.Last()
			n++
		}
	}
	return mongoerr.New(mongoerr.CannotIndexParallelArrays, "cannot index parallel arrays [%s] [%s]", names[1], names[0])
}
