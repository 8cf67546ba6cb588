package write

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// validationFailure is the error of a document that the validator refuses, with
// the details MongoDB gives: which document, and what did not hold.
// Manual: core/schema-validation/view-validation-rules (errInfo).
func validationFailure(_ *mql.Env, v match.Node, doc bson.Raw) error {
	b := bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	b.Value("failingDocumentId", doc.Get("_id"))
	b.BeginDoc("details")
	b.String("operatorName", "validator")
	b.Raw("specifiedAs", match.String(v))
	b.String("reason", "expression did not match")
	b.End()
	b.End()
	return mongoerr.New(mongoerr.DocumentValidationFailure, "Document failed validation").WithFields(b.Doc().Elements())
}
