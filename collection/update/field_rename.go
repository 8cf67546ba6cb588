package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opRename = Operator{Name: "$rename", parse: parseRename, Doc: "reference/operator/update/rename"}

// parseRename reads {$rename: {from: "to"}}. It adds two actions to the tree of the update: one removes the field
// from, the other sets the target to its value.
func parseRename(p *parser, from *fieldPath, arg bson.Value) (action, error) {
	text, ok := arg.Str()
	if !ok || arg.Type != bson.TypeString {
		return nil, mongoerr.New(mongoerr.BadValue, "The 'to' field for $rename must be a string: %s: %s", from.text, shown(arg))
	}
	to, err := parsePath(text)
	if err != nil {
		return nil, err
	}
	switch {
	case from.isDynamic():
		return nil, mongoerr.New(mongoerr.BadValue, "The source field for $rename may not be dynamic: %s", from.text)
	case to.isDynamic():
		return nil, mongoerr.New(mongoerr.BadValue, "The destination field for $rename may not be dynamic: %s", to.text)
	case from.text == to.text:
		return nil, mongoerr.New(mongoerr.BadValue, "The source and target field for $rename must differ: %s: \"%s\"", from.text, to.text)
	}
	src, dst := path.Must(from.text), path.Must(to.text)
	if src.Conflicts(dst) {
		return nil, mongoerr.New(mongoerr.BadValue, "The source and target field for $rename must not be on the same path: %s: \"%s\"", from.text, to.text)
	}
	if err := p.insert(from, &renameAction{src: src}); err != nil {
		return nil, err
	}
	return nil, p.insert(to, &renameAction{src: src, dst: dst})
}

// renameAction is one half of a $rename: without dst it removes the source, with dst it sets the target to the
// source's value.
type renameAction struct{ src, dst path.Path }

func (r *renameAction) isTarget() bool { return r.dst.Len() > 0 }

func (r *renameAction) traits() traits {
	if r.isTarget() {
		return creates
	}
	return 0
}

// idle reports whether the action has no effect: it sets the target of a rename, and the document lacks the source.
func (r *renameAction) idle(a *applier) bool {
	v, err := r.value(a, r.src, "source")
	return err == nil && v.IsMissing() && r.isTarget()
}

func (r *renameAction) apply(a *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	v, err := r.value(a, r.src, "source")
	if err != nil || v.IsMissing() {
		return old, keep, err
	}
	if r.src.First() == "_id" || r.dst.First() == "_id" {
		return old, keep, mongoerr.New(mongoerr.ImmutableField, "Performing an update on the path '_id' would modify the immutable field '_id'")
	}
	if !r.isTarget() {
		return bson.Value{}, remove, nil
	}
	if _, err := r.value(a, r.dst, "destination"); err != nil {
		return old, keep, err
	}
	return v, set, nil
}

// value returns the value at a path of the document, missing if there is none. An array on the path is an error;
// which names the path in it, "source" or "destination".
func (r *renameAction) value(a *applier, at path.Path, which string) (bson.Value, error) {
	v := a.doc.Value()
	for i := range at.Len() {
		switch v.Type {
		case bson.TypeDocument:
			v, _ = bson.Raw(v.Data).Lookup(at.Name(i))
		case bson.TypeArray:
			return v, mongoerr.New(mongoerr.BadValue, "The %s field cannot be an array element, '%s' in doc with %s has an array field called '%s'",
				which, at, a.docID(), at.Name(i-1))
		case bson.TypeMissing:
			return v, nil
		default:
			return bson.Value{}, nil
		}
	}
	return v, nil
}
