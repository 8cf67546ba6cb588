package schema

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/command"
)

// The validationLevel constraint guarantees that every document of a collection satisfies the validator. Therefore
// bypassing validation is not allowed, a violation is always an error, and the validator cannot be changed. A
// collection gets this level only if all its documents satisfy the validator.
// Manual: core/schema-validation/specify-validation-level, release-notes/9.0.

// checkConstraint refuses a validationLevel constraint together with a validationAction that lets invalid documents
// pass.
// Errors: InvalidOptions (72).
func checkConstraint(level, action string) error {
	if level == catalog.LevelConstraint && action == "warn" {
		return mongoerr.New(mongoerr.InvalidOptions, "validationLevel 'constraint' needs the validationAction 'error' or 'errorAndLog'")
	}
	return nil
}

// constrains reports whether a collMod gives a collection the validationLevel constraint, which the collection did
// not have before. It refuses a new validator for a collection with that level, and what checkConstraint refuses.
// Errors: InvalidOptions (72).
func (a *collModArgs) constrains(coll *catalog.Collection) (bool, error) {
	o, set := coll.Options, a.options
	level, action := o.ValidationLevel, o.ValidationAction
	if s, ok := set.Get("validationLevel").Str(); ok {
		level = s
	}
	if s, ok := set.Get("validationAction").Str(); ok {
		action = s
	}
	had := o.ValidationLevel == catalog.LevelConstraint
	if had && a.validator != nil {
		return false, mongoerr.New(mongoerr.InvalidOptions, "The validator of %s cannot be changed while its validationLevel is 'constraint': set that to 'strict' first", coll.Namespace)
	}
	return level == catalog.LevelConstraint && !had, checkConstraint(level, action)
}

// confirmConstraint searches for a document that does not satisfy the validator, after a collection has got the
// validationLevel constraint: from then on no such document can be written. If it finds one, or the search fails, it
// restores the options of validation in before. The client gets its reply only after that.
// Errors: DocumentValidationFailure (121), errors of a find.
func confirmConstraint(c *command.Call, before *catalog.Collection) error {
	err := findInvalid(c, before.Namespace)
	if err == nil {
		return nil
	}
	back := bson.NewBuilder(nil)
	for _, name := range [...]string{"validator", "validationLevel", "validationAction"} {
		if v, ok := before.Options.Raw.Lookup(name); ok {
			back.Value(name, v)
		} else {
			back.Null(name)
		}
	}
	ctx := c.Ctx
	c.Env().SetContext(context.WithoutCancel(ctx)) // even if the command was interrupted
	defer c.Env().SetContext(ctx)
	if _, berr := c.Server.DDL.CollMod(&c.Op, before.Namespace, ddl.CollMod{Options: back.Doc()}); berr != nil {
		c.Server.Log.Warn().Err(berr).Stringer("collection", before.Namespace).Msg("validationLevel constraint could not be reverted although documents do not satisfy the validator")
	}
	return err
}

// findInvalid searches for one document that does not satisfy the validator of its collection.
// Errors: DocumentValidationFailure (121) if there is one, errors of a find.
func findInvalid(c *command.Call, ns collection.Namespace) error {
	coll := c.Cluster.Catalog().Collection(ns)
	if coll == nil {
		return nil
	}
	validator, _ := coll.Options.Raw.Get("validator").Doc()
	if validator.IsEmpty() {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.BeginArray("$nor")
	b.Raw("", validator)
	b.End()
	s, err := c.Cluster.FindInside(&c.Op, ns, plan.Find{Filter: b.Doc(), Limit: 1})
	if err != nil {
		return err
	}
	defer s.Close()
	row, err := s.Next(c.Env())
	if err != nil || row == nil {
		return err
	}
	id := bson.NewBuilder(nil)
	id.Value("_id", row.Doc.Get("_id"))
	return mongoerr.New(mongoerr.DocumentValidationFailure, "validationLevel of %s cannot be 'constraint': the document %s does not satisfy the validator", ns, id.Doc())
}
