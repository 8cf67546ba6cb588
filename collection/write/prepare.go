package write

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// DepthMax is the largest nesting of a stored document, more than the 100 levels that the manual guarantees.
// Observed: mongod 8.2. Manual: reference/limits#std-label-limit-nested-depth.
const DepthMax = 180

// Prepare validates a document to be inserted and moves _id to the front, making one if it is missing. The result
// aliases doc if nothing had to change. Empty timestamps at the top level, except as _id, become the time after the
// newest commit; Prepare reads this time from the store only if there are any. Errors: BSONObjectTooLarge (10334),
// BadValue (two fields _id), InvalidIdField (53), DollarPrefixedFieldName (52), Overflow (15).
func Prepare(doc bson.Raw, store storage.Store) (bson.Raw, error) {
	if len(doc) > bson.MaxDocumentBytes {
		return nil, mongoerr.DocumentTooLarge(len(doc), bson.MaxDocumentBytes)
	}
	id, hasID := bson.Value{}, false
	first, at, stamp, nested := true, false, false, false
	for it := doc.Iter(); it.Next(); first = false {
		if string(it.Name) == "_id" {
			if hasID {
				return nil, mongoerr.New(mongoerr.BadValue, "can't have multiple _id fields in one document")
			}
			id, hasID, at = it.Value, true, first
		}
		switch it.Value.Type {
		case bson.TypeDocument, bson.TypeArray:
			nested = true
		case bson.TypeTimestamp:
			if string(it.Name) == "_id" {
				break
			}
			if t, i, _ := it.Value.Timestamp(); t == 0 && i == 0 {
				stamp = true
			}
		}
	}
	if hasID {
		if err := CheckID(id); err != nil {
			return nil, err
		}
	}
	if nested && tooDeep(doc, DepthMax) {
		return nil, mongoerr.New(mongoerr.Overflow, "cannot insert document because it exceeds %d levels of nesting", DepthMax)
	}
	if hasID && at && !stamp {
		return doc, nil
	}
	b := bson.NewBuilder(make([]byte, 0, len(doc)+32))
	if hasID {
		b.Value("_id", id)
	} else {
		b.ObjectID("_id", bson.NewObjectID())
	}
	now := storage.Timestamp(0)
	if stamp {
		now = store.Latest() + 1
	}
	for it := doc.Iter(); it.Next(); {
		if string(it.Name) == "_id" {
			continue
		}
		if stamp && it.Value.Type == bson.TypeTimestamp {
			if t, i, _ := it.Value.Timestamp(); t == 0 && i == 0 {
				b.Timestamp(string(it.Name), now.Seconds(), now.Increment())
				continue
			}
		}
		b.ValueBytes(it.Name, it.Value)
	}
	out := b.Doc()
	if len(out) > bson.MaxDocumentBytes {
		return nil, mongoerr.DocumentTooLarge(len(out), bson.MaxDocumentBytes)
	}
	return out, nil
}

// CheckID returns an error for a value that cannot be an _id.
// Manual: core/document#the-_id-field. Errors: InvalidIdField (53), DollarPrefixedFieldName (52).
func CheckID(id bson.Value) error {
	switch id.Type {
	case bson.TypeArray:
		return mongoerr.New(mongoerr.InvalidIdField, "The '_id' value cannot be of type array")
	case bson.TypeRegex:
		return mongoerr.New(mongoerr.InvalidIdField, "The '_id' value cannot be of type regex")
	case bson.TypeUndefined:
		return mongoerr.New(mongoerr.InvalidIdField, "The '_id' value cannot be of type undefined")
	case bson.TypeDocument:
		if name, ok := bson.DollarField(id); ok {
			return mongoerr.DollarInID(name)
		}
	}
	return nil
}

// tooDeep reports whether the nesting exceeds levels.
func tooDeep(r bson.Raw, levels int) bool {
	if levels <= 0 {
		return true
	}
	for it := r.Iter(); it.Next(); {
		if t := it.Value.Type; (t == bson.TypeDocument || t == bson.TypeArray) && tooDeep(bson.Raw(it.Value.Data), levels-1) {
			return true
		}
	}
	return false
}
