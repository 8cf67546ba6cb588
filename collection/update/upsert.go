package update

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// Upsert returns the document that an upsert inserts if no document matches: the equalities of the filter, changed
// by the update, with _id in front. newID makes an _id if neither filter nor update has one. Manual:
// reference/method/db.collection.update#upsert-with-operator-expressions.
//
// Errors: NotSingleValueField and NotExactValueField (a filter that does not determine a field), ImmutableField (an
// update that changes the filter's _id), BadValue (a path or an _id that cannot be inserted), and the errors of
// Apply, in newer releases with BSONObjectTooLarge for 17419.
func (p *Program) Upsert(env *mql.Env, filter match.Node, s *expr.Scratch, newID func() bson.Value) (bson.Raw, error) {
	doc, err := p.upsert(env, filter, s, newID)
	if err != nil && env.Release.Has(release.UpsertTooLarge) {
		if e := mongoerr.From(err); e.Code == tooLarge {
			err = mongoerr.New(mongoerr.BSONObjectTooLarge, "%s", e.Msg)
		}
	}
	return doc, err
}

// tooLarge is the code of the error for an update that makes a document larger than 16 MiB.
const tooLarge = 17419

// upsert is Upsert with the error codes of an update.
func (p *Program) upsert(env *mql.Env, filter match.Node, s *expr.Scratch, newID func() bson.Value) (bson.Raw, error) {
	base, err := p.base(filter)
	if err != nil {
		return nil, err
	}
	b := bson.NewBuilder(nil)
	if _, err := p.Apply(env, b, base, Input{Insert: true}, s); err != nil {
		return nil, err
	}
	doc := b.Doc()
	id, has := doc.Lookup("_id")
	if !has {
		id = newID()
	} else if err := CheckID(id); err != nil {
		return nil, err
	}
	if f, ok := doc.First(); ok && string(f.Name) == "_id" {
		return doc, nil
	}
	b = bson.NewBuilder(make([]byte, 0, len(doc)+len(id.Data)+8))
	b.Value("_id", id)
	for it := doc.Iter(); it.Next(); {
		if string(it.Name) != "_id" {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	if doc = b.Doc(); len(doc) > bson.MaxDocumentBytes {
		return nil, mongoerr.New(17419, "Resulting document after update is larger than %d", bson.MaxDocumentBytes)
	}
	return doc, nil
}

// equality is a path with the value that the filter requires.
type equality struct {
	path  path.Path
	value bson.Value
}

// base returns the document from which an upsert starts: the equalities of the filter. If the update is a
// replacement, it has only their _id.
func (p *Program) base(filter match.Node) (bson.Raw, error) {
	var list []equality
	var err error
	match.Equalities(filter, func(text string, v bson.Value) {
		if err == nil {
			list, err = p.addEquality(list, text, v)
		}
	})
	if err != nil {
		return nil, err
	}
	// MongoDB sorts the clauses of a filter first.
	slices.SortStableFunc(list, func(a, b equality) int { return strings.Compare(a.path.String(), b.path.String()) })
	root := &node{step: step{index: -1}, filter: -1}
	for _, e := range list {
		f := &fieldPath{text: e.path.String()}
		for i := range e.path.Len() {
			f.steps = append(f.steps, step{name: e.path.Name(i), index: -1})
		}
		if err := root.insert(f, setAction{e.value, creates}, nil); err != nil {
			return nil, err
		}
	}
	b := bson.NewBuilder(nil)
	appendBase(b, root)
	return b.Doc(), nil
}

// appendBase writes the fields in order, _id first.
func appendBase(b *bson.Builder, n *node) {
	for _, id := range []bool{true, false} {
		for _, c := range n.children {
			if (c.path == "_id") != id {
				continue
			}
			if set, ok := c.do.(setAction); ok {
				b.Value(c.name, set.value)
				continue
			}
			b.BeginDoc(c.name)
			appendBase(b, c)
			b.End()
		}
	}
}

func (p *Program) addEquality(list []equality, text string, v bson.Value) ([]equality, error) {
	at, err := path.Compile(text)
	if err != nil || at.Len() > bson.MaxDepth {
		return list, mongoerr.New(mongoerr.BadValue, "The path '%s' of the query cannot be inserted", text)
	}
	if p.replacement != nil {
		if at.First() != "_id" {
			return list, nil
		}
		if at.Len() > 1 {
			return list, mongoerr.New(mongoerr.NotExactValueField, "field at '_id' must be exactly specified, field at sub-path '%s' found", text)
		}
	}
	for _, e := range list {
		switch {
		case e.path.Equal(at):
			return list, mongoerr.New(mongoerr.NotSingleValueField, "cannot infer query fields to set, path '%s' is matched twice", text)
		case at.HasPrefix(e.path):
			return list, mongoerr.New(mongoerr.NotSingleValueField, "cannot infer query fields to set, both paths '%s' and '%s' are matched", text, e.path)
		case e.path.HasPrefix(at):
			return list, mongoerr.New(mongoerr.NotSingleValueField, "cannot infer query fields to set, both paths '%s' and '%s' are matched", e.path, text)
		}
	}
	return append(list, equality{at, v.Clone()}), nil
}
