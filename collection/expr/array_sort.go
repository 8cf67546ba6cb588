package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// sortArray is $sortArray. With keys, it compares elements by the values at their paths, null if missing or if the
// element is no document; without keys, it compares whole values.
type sortArray struct {
	input Expr
	by    bson.Value // as given
	whole int        // 1 or -1 to compare whole values, without keys
	keys  []sortKey
}

type sortKey struct {
	path []string
	sign int
}

var sortArraySignature = &signature{
	fields:    []field{{name: "input", missing: 2942502}, {name: "sortBy", missing: 2942503}},
	notObject: 2942500, unknown: 2942501,
}

func parseSortArray(p *parser, op *Operator, v bson.Value) (Expr, error) {
	raw, err := p.namedValues(op, sortArraySignature, v)
	if err != nil {
		return nil, err
	}
	e := &sortArray{}
	if e.input, err = p.parse(raw[0]); err != nil {
		return nil, err
	}
	if err = e.setOrder(raw[1]); err != nil {
		return nil, err
	}
	return p.fold(e)
}

// setOrder reads the argument sortBy.
// Errors: 2942505, 2942506 and 2942507 for invalid ones.
func (e *sortArray) setOrder(by bson.Value) error {
	e.by = by.Clone()
	switch d, ok := by.Doc(); {
	case ok:
		if d.IsEmpty() {
			return mongoerr.New(2942505, "Invalid sortBy: an empty object")
		}
		for it := d.Iter(); it.Next(); {
			sign, ok := sortSign(it.Value)
			if !ok {
				return mongoerr.New(2942505, "Invalid sortBy: the value of '%s' must be 1 or -1", it.Name)
			}
			path := string(it.Name)
			if path == "" {
				return mongoerr.New(40352, "FieldPath cannot be constructed with empty string")
			}
			e.keys = append(e.keys, sortKey{strings.Split(path, "."), sign})
		}
	case by.IsNumber():
		if e.whole, ok = sortSign(by); !ok {
			return mongoerr.New(2942506, "Invalid sortBy: must be 1, -1 or an object")
		}
	default:
		return mongoerr.New(2942507, "sortBy requires either an object or a number, found: %s", by.Type)
	}
	return nil
}

func sortSign(v bson.Value) (int, bool) {
	n, ok := v.AsInt64()
	return int(n), ok && (n == 1 || n == -1)
}

func (e *sortArray) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	if v.IsNullish() {
		return bson.Null, nil
	}
	base := len(s.stack)
	defer func() { s.stack = s.stack[:base] }()
	if err = e.push(env, s, v, "$sortArray"); err != nil {
		return v, err
	}
	return s.arrayOf(env, s.stack[base:])
}

// push pushes the elements of an array, the input of the operator op, in their order onto the stack.
// Errors: 2942504 for another value, the reason why the command must end.
func (e *sortArray) push(env *mql.Env, s *Scratch, v bson.Value, op string) error {
	a, ok := v.Array()
	if !ok {
		return mongoerr.New(2942504, "The input argument to %s must be an array, but was of type: %s", op, v.Type)
	}
	base := len(s.stack)
	if err := env.Spend(len(a)); err != nil {
		return err
	}
	if err := s.pushAll(env, a); err != nil {
		return err
	}
	return e.sort(env, s.stack[base:])
}

// sort sorts the elements.
// Errors: the reason why the command must end.
func (e *sortArray) sort(env *mql.Env, vs []bson.Value) error {
	if e.keys == nil {
		return mql.SortValues(env, vs, e.whole)
	}
	o := env.Order()
	return mql.Sort(env, vs, func(x, y bson.Value) int {
		for _, k := range e.keys {
			if c := bson.Compare(keyAt(x, k.path), keyAt(y, k.path), o); c != 0 {
				return c * k.sign
			}
		}
		return 0
	})
}

// keyAt returns the value of an element at the path of a sort key. Positions in arrays are treated as names.
func keyAt(v bson.Value, path []string) bson.Value {
	if v.Type != bson.TypeDocument {
		return bson.Null
	}
	for _, name := range path {
		if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
			return bson.Null
		}
		v = bson.Raw(v.Data).Get(name)
	}
	if v.IsMissing() {
		return bson.Null
	}
	return v
}

func (e *sortArray) children(add func(Expr)) { add(e.input) }

func (e *sortArray) Paths(add func(string)) { pathsOf(e, add) }

func (e *sortArray) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$sortArray")
	e.input.Append(b, "input")
	b.Value("sortBy", e.by)
	b.End()
	b.End()
}
