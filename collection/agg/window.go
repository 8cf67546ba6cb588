package agg

import (
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// windowFunc is a parsed function of $setWindowFields. Immutable.
type windowFunc interface {
	// start returns the state with which the function runs over one partition.
	start(w *partition) windowRun
	// paths calls add with the dotted paths of the documents that the function reads.
	paths(add func(path string))
}

// windowRun computes a window function for the documents of one partition, one after the other.
type windowRun interface {
	// at appends under name the value of the function for document i of the partition, whose content is doc. at
	// is called for all documents in order, from 0.
	at(env *mql.Env, b *bson.Builder, name string, i int, doc bson.Raw) error
	// close releases the memory.
	close(env *mql.Env)
}

// WindowFunctionDef is the definition of a function that only $setWindowFields has, a row of the table
// WindowFunctions.
type WindowFunctionDef struct {
	// Name with the dollar sign.
	Name string
	// parse reads the function's argument.
	parse func(p *parser, c *windowCall) (windowFunc, error)
	// ranking reports that the function, such as $rank, depends only on the order of the documents and takes no
	// argument.
	ranking bool
	// Since is the first release of MongoDB with the function, such as "8.2". It is "" if the function is older
	// than 3.6 or not in the manual.
	Since string
	// Doc is the page of the manual.
	Doc string
}

// windowCall holds the arguments from which a window function is parsed.
type windowCall struct {
	name   string
	arg    bson.Value
	window *window // nil: not given
	stage  *windowStage
}

// windowFunction returns the row of a window function, nil if there is none.
func (t *tables) windowFunction(name string) *WindowFunctionDef {
	i := sort.Search(len(t.windows), func(i int) bool { return t.windows[i].Name >= name })
	if i < len(t.windows) && t.windows[i].Name == name {
		return &t.windows[i]
	}
	return nil
}

// partition holds the documents of one partition of a $setWindowFields, in sort order.
type partition struct {
	docs  *spool
	stage *windowStage
	metas metaKinds
	meta  bson.Raw // metadata of the current document
}

// cursor returns a cursor over the partition's documents that passes the metadata of each to the expressions of
// s.
func (p *partition) cursor(s *expr.Scratch) spoolCursor {
	return spoolCursor{s: p.docs, to: s, metas: p.metas}
}

// setCurrent resets s and passes it the metadata of the partition's current document, for the evaluation of
// expressions.
func (p *partition) setCurrent(s *expr.Scratch) {
	s.Reset()
	p.metas.giveStored(p.meta, s)
}

// windowKind is the kind of a window.
type windowKind uint8

const (
	byDocuments windowKind = iota
	byRange
)

// window is the window of a function of $setWindowFields: {documents: [lo, hi]} or {range: [lo, hi], unit}.
type window struct {
	kind   windowKind
	lo, hi bound
	unit   *expr.DateUnit // nil: numbers
}

// bound is one end of a window, relative to the current document. In a range, 'current' ends at the document
// itself, even if other documents have the same sort value, while 0 includes all of them.
type bound struct {
	unbounded, current bool
	n                  int64      // documents
	v                  bson.Value // range
}

// wholeWindow is a window without bounds.
var wholeWindow = window{lo: bound{unbounded: true}, hi: bound{unbounded: true}}

// parseWindow parses the field window of a function of $setWindowFields.
//
// Errors: FailedToParse; 5339900 for a lower bound above the upper one; errors of expr.Parse and expr.DateUnitOf.
func parseWindow(env *mql.Env, v bson.Value) (*window, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "'window' field must be an object")
	}
	var docs, rng, unit bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "documents":
			docs = it.Value
		case "range":
			rng = it.Value
		case "unit":
			unit = it.Value
		default:
			return nil, mongoerr.New(mongoerr.FailedToParse, "'window' field that specifies unknown argument: %s", it.Name)
		}
	}
	switch {
	case !docs.IsMissing() && !rng.IsMissing():
		return nil, mongoerr.New(mongoerr.FailedToParse, "Window bounds can specify either 'documents' or 'unit', not both.")
	case !docs.IsMissing() && !unit.IsMissing():
		return nil, mongoerr.New(mongoerr.FailedToParse, "Window bounds can only specify 'unit' with range-based bounds.")
	case docs.IsMissing() && rng.IsMissing():
		if !unit.IsMissing() {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Window bounds can only specify 'unit' with range-based bounds.")
		}
		w := wholeWindow
		return &w, nil
	}
	w := &window{}
	pair := docs
	if docs.IsMissing() {
		w.kind, pair = byRange, rng
		if !unit.IsMissing() {
			text, ok := unit.Str()
			if !ok {
				return nil, mongoerr.New(mongoerr.FailedToParse, "'unit' must be a string")
			}
			u, err := expr.DateUnitOf(env, text)
			if err != nil {
				return nil, err
			}
			w.unit = &u
		}
	}
	a, ok := pair.Array()
	if !ok || a.Len() != 2 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Window bounds must be a 2-element array: %s", pair.Type)
	}
	lo, _ := a.Index(0)
	hi, _ := a.Index(1)
	var err error
	if w.lo, err = w.bound(env, lo); err != nil {
		return nil, err
	}
	if w.hi, err = w.bound(env, hi); err != nil {
		return nil, err
	}
	return w, w.check()
}

// bound parses one end of a window: a word, or a constant numeric expression.
func (w *window) bound(env *mql.Env, v bson.Value) (bound, error) {
	switch text, isText := v.Str(); {
	case text == "unbounded":
		return bound{unbounded: true}, nil
	case text == "current":
		return bound{current: true, v: zeroValue}, nil
	case isText:
		return bound{}, mongoerr.New(mongoerr.FailedToParse, "Window bounds must be 'unbounded', 'current', or a number")
	}
	e, err := expr.Parse(env, v)
	if err != nil {
		return bound{}, err
	}
	v, constant := expr.IsConstant(e)
	switch {
	case !constant:
		return bound{}, mongoerr.New(mongoerr.FailedToParse, "Window bounds expression must be a constant.")
	case !v.IsNumber():
		return bound{}, mongoerr.New(mongoerr.FailedToParse, "Window bounds must be 'unbounded', 'current', or a number")
	}
	if w.kind == byRange {
		if w.unit != nil {
			n, ok := v.AsInt64()
			if !ok {
				return bound{}, mongoerr.New(mongoerr.FailedToParse, "With 'unit', range-based bounds must be an integer")
			}
			return bound{n: n, v: v.Clone()}, nil
		}
		return bound{v: v.Clone()}, nil
	}
	n, ok := v.AsInt64()
	if !ok {
		return bound{}, mongoerr.New(mongoerr.FailedToParse, "Numeric document-based bounds must be an integer")
	}
	return bound{n: min(max(n, -documentsMax), documentsMax)}, nil
}

// documentsMax limits the bounds of a window of documents, so that sums of positions and bounds fit into an
// int64. No partition has that many documents.
const documentsMax = 1 << 50

// zeroValue is the int32 0.
var zeroValue = bson.Value{Type: bson.TypeInt32, Data: []byte{0, 0, 0, 0}}

// check rejects a lower bound above the upper bound.
func (w *window) check() error {
	if w.lo.unbounded || w.hi.unbounded {
		return nil
	}
	less := w.lo.n <= w.hi.n
	if w.kind == byRange {
		less = bson.Compare(w.lo.v, w.hi.v, nil) <= 0
	}
	if !less {
		return mongoerr.New(5339900, "Lower bound must not exceed upper bound")
	}
	return nil
}

// documentsOf returns the window of document i by documents, in a partition of n: from (inclusive) to to
// (exclusive).
func (w *window) documentsOf(i, n int) (from, to int) {
	from, to = 0, n
	if !w.lo.unbounded {
		from = clamp(int64(i)+w.lo.n, n)
	}
	if !w.hi.unbounded {
		to = clamp(int64(i)+w.hi.n+1, n)
	}
	return from, max(from, to)
}

func clamp(at int64, n int) int { return int(min(max(at, 0), int64(n))) }
