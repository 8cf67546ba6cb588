package data

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// emitted collects the values that the map function of a mapReduce emits, by key, and reduces them. Keys are compared
// by their keystrings, so that the collation applies.
type emitted struct {
	env    *mql.Env
	args   *mapReduceArgs
	vm     *expr.VM
	s      expr.Scratch
	groups map[string]*emittedKey
	key    []byte
	held   int // bytes counted in the memory budget
}

// emittedKey is one key that the map function emitted, with its values, which reduce replaces by one.
type emittedKey struct {
	key    bson.Value
	values []bson.Value
	bytes  int
}

const (
	// emittedKeyBytes is the approximate memory of a key besides its own bytes, emittedValueBytes that of a value,
	// both in bytes.
	emittedKeyBytes   = 160
	emittedValueBytes = 40
	// reduceBytes is the maximum size of the values, in bytes, in one call of the reduce function with more than two
	// values: the array of values must fit into a document.
	reduceBytes = 4 << 20
)

// start creates the VM and its globals.
func (e *emitted) start() (err error) {
	e.groups = map[string]*emittedKey{}
	if e.vm, err = e.s.Script(e.env); err != nil {
		return err
	}
	e.vm.OnEmit(e.emit)
	return e.vm.SetScope(e.env, e.args.scope)
}

// add maps one document.
func (e *emitted) add(doc bson.Raw) error {
	e.s.Reset()
	_, err := e.vm.Call(e.env, e.args.mapper, &e.s.Arena, doc.Value())
	if err != nil || e.fits() {
		return err
	}
	for _, g := range e.groups { // reduce every key to one value
		if err := e.reduce(g); err != nil {
			return err
		}
	}
	if !e.fits() {
		return e.env.Memory.ExceededError("mapReduce")
	}
	return nil
}

// fits reports whether the emitted values are within the memory budget of the command.
func (e *emitted) fits() bool { return e.env.Memory.Grow(0) }

// grow changes the memory counted in the budget.
func (e *emitted) grow(n int) {
	e.held += n
	if n > 0 {
		e.env.Memory.Grow(n)
	} else {
		e.env.Memory.Shrink(-n)
	}
}

// emit stores one key and value of the map function.
func (e *emitted) emit(key, value bson.Value) error {
	if key.IsMissing() || key.Type == bson.TypeUndefined {
		key = bson.Null
	}
	if len(value.Data) > bson.MaxDocumentBytes/2 {
		return mongoerr.New(mongoerr.BadValue, "Size of a value emitted by the map function is too large: %d bytes", len(value.Data))
	}
	e.key = keystring.Append(e.key[:0], key, keystring.Ascending, e.env.Order(), nil)
	g := e.groups[string(e.key)]
	if g == nil {
		g = &emittedKey{key: key.Clone()}
		e.groups[string(e.key)] = g
		e.grow(emittedKeyBytes + 2*len(e.key))
	}
	g.values = append(g.values, value.Clone())
	g.bytes += len(value.Data)
	e.grow(emittedValueBytes + len(value.Data))
	if e.held > 2*int(e.env.Memory.Max()) { // one call emits more than the memory budget allows
		return e.env.Memory.ExceededError("mapReduce")
	}
	return nil
}

// reduce reduces the values of a key to one value.
func (e *emitted) reduce(g *emittedKey) error {
	if len(g.values) == 1 {
		return nil
	}
	for len(g.values) > 1 {
		n, size := 0, 0
		for n < len(g.values) && (n < 2 || size+len(g.values[n].Data) <= reduceBytes) {
			size += len(g.values[n].Data)
			n++
		}
		v, err := e.reduced(g.key, g.values[:n])
		if err != nil {
			return err
		}
		e.grow(len(v.Data) - size - (n-1)*emittedValueBytes)
		g.bytes += len(v.Data) - size
		g.values[n-1] = v
		g.values = g.values[n-1:]
	}
	g.values = slices.Clone(g.values)
	return nil
}

// reduced calls the reduce function.
func (e *emitted) reduced(key bson.Value, values []bson.Value) (bson.Value, error) {
	e.s.Reset()
	v, err := e.vm.Call(e.env, e.args.reduce, &e.s.Arena, bson.Value{}, key, e.s.Array(values))
	return defined(v).Clone(), err
}

// result returns the result document of a key, {_id: key, value: v}; the finalize function may change the value.
func (e *emitted) result(key, v bson.Value) (bson.Raw, error) {
	if e.args.finalize != nil {
		e.s.Reset()
		f, err := e.vm.Call(e.env, e.args.finalize, &e.s.Arena, bson.Value{}, key, v)
		if err != nil {
			return nil, err
		}
		v = f
	}
	b := bson.NewBuilder(nil)
	b.Value("_id", key)
	b.Value("value", defined(v))
	return b.Doc(), nil
}

// defined returns the value to store for a result of a function: null in place of a missing or undefined value.
func defined(v bson.Value) bson.Value {
	if v.IsMissing() || v.Type == bson.TypeUndefined {
		return bson.Null
	}
	return v
}

// rereduce reduces the stored value of an earlier mapReduce together with a new value of the same key, for the output
// mode reduce. It returns the new result document.
func (e *emitted) rereduce(key, old, fresh bson.Value) (bson.Raw, error) {
	v, err := e.reduced(key, []bson.Value{defined(old), fresh})
	if err != nil {
		return nil, err
	}
	return e.result(key, v)
}

// each visits the results in the order of their keys.
func (e *emitted) each(visit func(bson.Raw) error) error {
	keys := make([]string, 0, len(e.groups))
	for k := range e.groups {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	for _, k := range keys {
		g := e.groups[k]
		if err := e.reduce(g); err != nil {
			return err
		}
		d, err := e.result(g.key, g.values[0])
		if err != nil {
			return err
		}
		if err := visit(d); err != nil {
			return err
		}
	}
	return nil
}

// close releases the memory.
func (e *emitted) close() { e.grow(-e.held) }
