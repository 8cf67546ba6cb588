package command

import (
	"fmt"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// apiVersion, apiStrict and apiDeprecationErrors are the arguments of the stable API, represented by
// session.API. Spec: versioned-api. Manual: reference/stable-api.

// readAPI reads the arguments of the stable API from the body of a command. It does not check their types, because
// checkAPI did so when the command arrived.
func readAPI(body bson.Raw) (a session.API) {
	for it := body.Iter(); it.Next(); {
		if len(it.Name) < 9 || it.Name[0] != 'a' {
			continue
		}
		switch string(it.Name) {
		case "apiVersion":
			a.Version, _ = it.Value.Str()
		case "apiStrict":
			a.Strict = it.Value.Truthy()
		case "apiDeprecationErrors":
			a.Deprecation = it.Value.Truthy()
		}
	}
	return a
}

// StableOnly reports whether the client has set apiStrict: everything outside of version 1 of the stable API is then
// an error.
func (c *Call) StableOnly() bool { return c.API.Strict }

// Unstable returns the error for a field of a command that version 1 of the stable API does not have.
func (c *Call) Unstable(field string) error {
	return mongoerr.New(mongoerr.APIStrictError, "BSON field '%s' is not allowed with apiStrict:true.", field)
}

// checkAPI reads the arguments of the stable API. If apiStrict is set, it refuses commands, aliases and
// fields that are not in version 1.
// Errors: TypeMismatch (14), APIVersionError (322), APIStrictError (323), 4886600 without
// apiVersion.
func (c *Call) checkAPI() error {
	var version, strict, deprecation bson.Value
	for it := c.Body.Iter(); it.Next(); {
		if it.Value.IsNullish() {
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
	if _, err := c.StrictBool("apiStrict", strict); err != nil {
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
	if c.API = readAPI(c.Body); c.API.Strict {
		return c.checkStable()
	}
	return nil
}

// checkStable refuses the command if it, or one of its fields, does not exist in version 1 of the stable API. Aliases
// of commands do not exist there. Errors: APIStrictError (323).
func (c *Call) checkStable() error {
	if first, _ := c.Body.First(); !c.Def.Facts.Has(Stable) || string(first.Name) != c.Name() {
		return mongoerr.New(mongoerr.APIStrictError, "Provided apiStrict:true, but the command %s is not in API Version 1. "+
			"Information on supported commands and migrations in API Version 1 can be found at https://dochub.mongodb.org/core/manual-versioned-api", first.Name)
	}
	if len(c.Def.Unstable) == 0 {
		return nil
	}
	for it := c.Body.Iter(); it.Next(); {
		if name := string(it.Name); !it.Value.IsNullish() && slices.Contains(c.Def.Unstable, name) {
			return c.Unstable(c.Field(name))
		}
	}
	return nil
}

// SameAPI refuses a command that continues an earlier command, such as a getMore or a statement of a transaction, if
// its arguments of the stable API differ from those of the earlier command, first. what and began name the two in the
// error. Errors: APIMismatchError (347).
func (c *Call) SameAPI(first session.API, what, began string) error {
	if c.API == first {
		return nil
	}
	return mongoerr.New(mongoerr.APIMismatchError, "API parameter mismatch: %s used params %v, the %s used %v", what, apiText(c.API), began, apiText(first))
}

// SameAPIAsOpened refuses a getMore whose arguments of the stable API differ from those of opened, the command that
// opened the cursor.
// Errors: APIMismatchError (347).
func (c *Call) SameAPIAsOpened(opened bson.Raw) error {
	return c.SameAPI(readAPI(opened), "getMore", "cursor-creating command")
}

// apiText formats the arguments of the stable API for an error.
func apiText(a session.API) string {
	if a == (session.API{}) {
		return "{}"
	}
	return fmt.Sprintf("{ apiVersion: %q, apiStrict: %t, apiDeprecationErrors: %t }", a.Version, a.Strict, a.Deprecation)
}
