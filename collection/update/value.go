package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// checkValue rejects values that an update may not write to the path at: for _id and below it, field names that
// begin with a dollar sign, except $ref, $id and $db, and as _id an array, a regular expression or undefined.
//
// Errors: DollarPrefixedFieldName, BadValue.
func checkValue(at *fieldPath, v bson.Value) error {
	if at.steps[0].name != "_id" {
		return nil
	}
	if len(at.steps) == 1 {
		return CheckID(v)
	}
	return checkDollars(v)
}

// CheckID returns an error for a value that cannot be an _id. Manual: core/document#the-_id-field.
//
// Errors: BadValue, DollarPrefixedFieldName.
func CheckID(v bson.Value) error {
	switch v.Type {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return mongoerr.New(mongoerr.BadValue, "The '_id' value cannot be of type %s", v.Type)
	}
	return checkDollars(v)
}

func checkDollars(v bson.Value) error {
	if name, ok := bson.DollarField(v); ok {
		return mongoerr.DollarInID(name)
	}
	return nil
}

// docID returns the _id of the document for a message.
func (a *applier) docID() string {
	id := a.doc.Get("_id")
	if id.IsMissing() {
		return "{}"
	}
	return "{_id: " + shown(id) + "}"
}
