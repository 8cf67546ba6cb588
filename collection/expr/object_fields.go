package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// objectFields reads the fields of the document that the values of an object, such as the compound key of a $group,
// refer to, in one pass: otherwise each value searches the document for its field, and n values of a document of n
// fields cost n².
type objectFields struct {
	at   map[string]int // by the first name of a path: index among the fields that are read
	from []int          // for each value of the object: index of its field; -1 for other expressions
	rest [][]string     // for each value: the names of its path after the first
}

// objectFieldsMin is the number of values that are plain paths from which on one pass is faster than a search for each.
const objectFieldsMin = 16

// newObjectFields returns the objectFields of the values of an object; nil if too few are plain paths.
func newObjectFields(vals []Expr) *objectFields {
	if len(vals) < objectFieldsMin {
		return nil
	}
	o := &objectFields{at: map[string]int{}, from: make([]int, len(vals)), rest: make([][]string, len(vals))}
	plain := 0
	for i, e := range vals {
		o.from[i] = -1
		f, ok := e.(*fieldPath)
		if !ok || f.from != fromCurrent || len(f.list) == 0 {
			continue
		}
		at, ok := o.at[f.list[0]]
		if !ok {
			at = len(o.at)
			o.at[f.list[0]] = at
		}
		o.from[i], o.rest[i] = at, f.list[1:]
		plain++
	}
	if plain < objectFieldsMin {
		return nil
	}
	return o
}

// load pushes the fields onto the stack of s: the first one of each name, missing if there is none. The caller must
// truncate the stack again, unless there is an error.
// Errors: ExceededMemoryLimit (146); the reason why the command must end.
func (o *objectFields) load(env *mql.Env, doc bson.Raw, s *Scratch) error {
	base := len(s.stack)
	for range len(o.at) {
		if err := s.push(env, bson.Value{}); err != nil {
			s.stack = s.stack[:base]
			return err
		}
	}
	if err := env.Spend(len(doc)); err != nil {
		s.stack = s.stack[:base]
		return err
	}
	fields := s.stack[base:]
	missing := len(fields)
	for it := doc.Iter(); missing > 0 && it.Next(); {
		if i, ok := o.at[string(it.Name)]; ok && fields[i].IsMissing() {
			fields[i] = it.Value
			missing--
		}
	}
	return nil
}

// eval returns the value of the expression e, the i-th one of the object, from the fields that load pushed at base, or
// by evaluating it. o may be nil.
func (o *objectFields) eval(env *mql.Env, doc bson.Raw, s *Scratch, base, i int, e Expr) (bson.Value, error) {
	if o == nil || o.from[i] < 0 {
		return e.Eval(env, doc, s)
	}
	return follow(env, s.stack[base+o.from[i]], o.rest[i], s)
}
