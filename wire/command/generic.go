package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// checkAPI reads the arguments of the stable API. Spec: versioned-api.
// Manual: reference/stable-api. Errors: TypeMismatch (14), APIVersionError
// (322), APIStrictError (323), 4886600 without apiVersion.
func (c *Call) checkAPI() error {
	var version, strict, deprecation bson.Value
	for it := c.Body.Iter(); it.Next(); {
		if len(it.Name) < 9 || it.Name[0] != 'a' || it.Value.IsNullish() {
			continue
		}
		switch string(it.Name) {
		case "apiVersion":
			version = it.Value
		case "apiStrict":
			strict = it.Value
		case "apiDeprecationErrors":
			deprecation = it.Value
		}
	}
	if version.IsMissing() && strict.IsMissing() && deprecation.IsMissing() {
		return nil
	}
	if !version.IsMissing() && version.Type != bson.TypeString {
		return mongoerr.WrongType(c.Field("apiVersion"), version.Type.String(), "string")
	}
	isStrict, err := c.StrictBool("apiStrict", strict)
	if err != nil {
		return err
	}
	if _, err := c.StrictBool("apiDeprecationErrors", deprecation); err != nil {
		return err
	}
	if version.IsMissing() {
		return mongoerr.New(4886600, "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion")
	}
	if v, _ := version.Str(); v != "1" {
		return mongoerr.New(mongoerr.APIVersionError, "API version must be \"1\"")
	}
	if isStrict && !c.Def.Facts.Has(Stable) {
		return mongoerr.New(mongoerr.APIStrictError, "Provided apiStrict:true, but the command %s is not in API Version 1. "+
			"Information on supported commands and migrations in API Version 1 can be found at https://dochub.mongodb.org/core/manual-versioned-api", c.Name())
	}
	return nil
}

// checkConcerns refuses concerns on commands that do not take them. Inside a
// transaction any command may carry the read concern of its first.
// Errors: InvalidOptions (72).
func (c *Call) checkConcerns() error {
	if c.WriteConcern.Given && !c.Def.TakesWriteConcern() {
		return mongoerr.New(mongoerr.InvalidOptions, "Command does not support writeConcern")
	}
	if c.Args.InTxn {
		return nil
	}
	refused := false
	switch c.ReadConcern {
	case "", "local":
	case "snapshot":
		refused = c.Def.ReadConcern != AnyLevel
	default:
		refused = c.Def.ReadConcern == OnlyLocal
	}
	if refused {
		return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support { readConcern: { level: \"%s\" } }", c.Name(), c.ReadConcern)
	}
	return nil
}
