package order

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Meta returns metadata of the current document by name ("textScore"), for sorts by {$meta: …}; missing if there is
// none.
type Meta func(name string) bson.Value

// AppendKey appends to dst the sort key of doc: bytes.Compare of two keys is the order of the documents. Metadata in
// the pattern counts as null. Only dst is allocated, except under a collation.
//
// Errors: BadValue for parallel arrays; the errors of Env.Tick.
func (p Pattern) AppendKey(env *mql.Env, dst []byte, doc bson.Raw) ([]byte, error) {
	return p.AppendKeyMeta(env, dst, doc, nil)
}

// AppendKeyMeta is AppendKey for documents with metadata.
func (p Pattern) AppendKeyMeta(env *mql.Env, dst []byte, doc bson.Raw, meta Meta) ([]byte, error) {
	start, o := len(dst), env.Order()
	for i := range p.Parts {
		part := &p.Parts[i]
		var v bson.Value
		if part.Meta != "" {
			if meta != nil {
				v = meta(part.Meta)
			}
		} else if _, v = Descend(doc.Value(), part.Path, 0); v.Type == bson.TypeArray {
			return p.expandedKey(env, dst[:start], doc, meta)
		}
		dst = keystring.Append(dst, leaf(v), part.Dir, o, nil)
	}
	return dst, nil
}

// expandedKey is AppendKeyMeta for documents with arrays on the paths.
func (p Pattern) expandedKey(env *mql.Env, dst []byte, doc bson.Raw, meta Meta) ([]byte, error) {
	if len(p.Parts) == 1 {
		return p.onlyKey(env, dst, doc), nil
	}
	t := Borrow()
	defer t.Release()
	start, best, o := len(dst), -1, env.Order()
	parallel, err := t.Each(doc, p.paths, func(values []bson.Value) error {
		if err := env.Tick(); err != nil {
			return err
		}
		from, n := len(dst), 0
		for i := range p.Parts {
			part := &p.Parts[i]
			var v bson.Value
			switch {
			case part.Meta == "":
				v = values[n]
				n++
			case meta != nil:
				v = meta(part.Meta)
			}
			if err := env.Spend(len(v.Data)); err != nil { // one value may be in every tuple
				return err
			}
			dst = keystring.Append(dst, leaf(v), part.Dir, o, nil)
		}
		switch {
		case best < 0:
			best = len(dst)
		case bytes.Compare(dst[from:], dst[start:best]) < 0:
			best = start + copy(dst[start:], dst[from:])
			dst = dst[:best]
		default:
			dst = dst[:from]
		}
		return nil
	})
	if parallel {
		return dst[:start], mongoerr.New(mongoerr.BadValue, "cannot sort with keys that are parallel arrays")
	}
	return dst, err
}

// onlyKey appends to dst the sort key of a pattern with a single field. Of an array, it encodes only the element by
// which the document sorts.
func (p Pattern) onlyKey(env *mql.Env, dst []byte, doc bson.Raw) []byte {
	part, o := &p.Parts[0], env.Order()
	var best bson.Value
	part.Path.Walk(doc, path.LeafOnly, func(v bson.Value, _ []int32) bool {
		if best.Type == bson.TypeMissing || bson.Compare(v, best, o)*int(part.Dir) < 0 {
			best = v
		}
		return true
	})
	return keystring.Append(dst, leaf(best), part.Dir, o, nil)
}

// CompareDocs compares two documents by the pattern.
//
// Errors: as AppendKey.
func (p Pattern) CompareDocs(env *mql.Env, a, b bson.Raw) (int, error) {
	var buf [512]byte
	x, err := p.AppendKey(env, buf[:0], a)
	if err != nil {
		return 0, err
	}
	n := len(x)
	if x, err = p.AppendKey(env, x, b); err != nil {
		return 0, err
	}
	return bytes.Compare(x[:n], x[n:]), nil
}
