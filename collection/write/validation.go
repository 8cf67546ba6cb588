package write

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// validationFailure returns the error for a document that does not match the collection's validator, with MongoDB's
// details: the document's _id, and the conditions that did not hold.
// Manual: core/schema-validation/view-validation-rules (errInfo).
func validationFailure(env *mql.Env, v match.Node, doc bson.Raw, s *expr.Scratch) error {
	b := bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	b.Value("failingDocumentId", doc.Get("_id"))
	b.BeginDoc("details")
	details, err := match.Explain(env, v, doc, s)
	if err != nil {
		return err
	}
	b.Splice(details.Elements())
	b.End()
	b.End()
	return mongoerr.New(mongoerr.DocumentValidationFailure, "Document failed validation").WithFields(b.Doc().Elements())
}
