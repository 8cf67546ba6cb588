package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Docs returns the documents of an argument, which the client sent as an array in the body or as a document
// sequence; most is their maximum number. Errors: IDLFailedToParse (40414) if there is none, TypeMismatch (14),
// InvalidLength (16).
func (r *Reader) Docs(name string, most int) ([]bson.Raw, error) {
	if s, ok := r.Msg.Sequence(name); ok {
		if s.Count > most {
			return nil, TooMany(most, s.Count)
		}
		return s.AppendDocs(make([]bson.Raw, 0, s.Count)), nil
	}
	v, ok := r.Body.Lookup(name)
	if !ok || v.IsNullish() {
		return nil, mongoerr.MissingField(r.Field(name))
	}
	return r.DocArray(name, v, most)
}

// DocArray returns the documents of an argument that is an array; most is the maximum number of documents. Errors:
// TypeMismatch (14), InvalidLength (16).
func (r *Reader) DocArray(name string, v bson.Value, most int) ([]bson.Raw, error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(r.Field(name), v.Type.String(), "array")
	}
	var docs []bson.Raw
	for it := list.Iter(); it.Next(); {
		d, ok := it.Value.Doc()
		if !ok {
			return nil, mongoerr.WrongType(r.Field(name)+"."+string(it.Name), it.Value.Type.String(), "object")
		}
		if len(docs) == most {
			return nil, TooMany(most, list.Len())
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// TooMany returns the error InvalidLength (16) for a batch of n writes, which is empty or larger than the maximum.
func TooMany(most, n int) error {
	return mongoerr.New(mongoerr.InvalidLength, "Write batch sizes must be between 1 and %d. Got %d operations.", most, n)
}
