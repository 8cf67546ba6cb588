package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// validateMetadata holds the arguments of validateDBMetadata.
type validateMetadata struct {
	only   collection.Namespace // without a DB: all collections; without a Coll: all of DB
	params bson.Raw
}

// Needs notes the privilege validate on the examined collections, which the arguments name, not the command's
// database.
func (a *validateMetadata) Needs(q *command.PrivilegeCheck) {
	if a.only.DB == "" {
		q.NeedEverywhere(auth.Validate)
	} else {
		q.Need(auth.Validate, a.only)
	}
}

// parseValidateDBMetadata reads the arguments of validateDBMetadata.
func parseValidateDBMetadata(c *command.Call) (command.Request, error) {
	a := &validateMetadata{}
	err := c.ReadArgs(
		arguments.Doc("apiParameters", &a.params).Required(),
		arguments.String("db", &a.only.DB).Check(func() error { return checkFilterDB(a.only.DB) }),
		arguments.String("collection", &a.only.Coll).Check(func() error {
			if a.only.Coll == "" || a.only.Coll[0] == '.' || strings.ContainsRune(a.only.Coll, 0) {
				return mongoerr.BadNamespace(a.only.String())
			}
			return nil
		}),
	)
	return a, err
}

// Run replies with the indexes that version 1 of the stable API does not allow, in the databases and collections of
// the arguments; with none unless apiParameters has version "1" and strict.
// Manual: reference/command/validateDBMetadata.
func (a *validateMetadata) Run(c *command.Call) error {
	version, strict, err := apiParameters(c, a.params)
	if err != nil {
		return err
	}
	c.Reply.BeginArray("apiVersionErrors")
	if version == "1" && strict {
		unstableIndexes(c, a.only)
	}
	c.Reply.End()
	return nil
}

// checkFilterDB refuses an invalid database name in the argument db, with the codes of validateDBMetadata.
// Observed: mongod 8.0. Errors: 28539, InvalidNamespace (73), 13280.
func checkFilterDB(db string) error {
	switch {
	case db == "":
		return mongoerr.New(28539, "Empty database name")
	case len(db) > collection.DatabaseNameMax || strings.ContainsAny(db, ".\x00"):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	case strings.ContainsAny(db, "/\\ \""):
		return mongoerr.New(13280, "invalid db name: %s", db)
	}
	return nil
}

// apiParameters reads the API version and strictness to check for.
func apiParameters(c *command.Call, params bson.Raw) (version string, strict bool, err error) {
	err = c.ReadFields("apiParameters", params,
		arguments.String("version", &version).Required(),
		arguments.StrictBool("strict", &strict).NotNull(),
		arguments.StrictBool("deprecationErrors", nil).NotNull(),
	)
	return version, strict, err
}

// unstableIndexes appends an error for each index that version 1 of the stable API does not have: text and sparse
// indexes.
// Manual: reference/stable-api#indexes.
func unstableIndexes(c *command.Call, only collection.Namespace) {
	for _, coll := range c.Cluster.Catalog().Collections(only.DB) {
		if only.Coll != "" && coll.Namespace.Coll != only.Coll {
			continue
		}
		for _, ix := range coll.Indexes {
			if ix.Text == nil && !ix.Sparse {
				continue
			}
			b := c.Reply
			b.BeginDoc("")
			b.String("ns", coll.Namespace.String())
			b.Int32("code", int32(mongoerr.APIStrictError))
			b.String("codeName", mongoerr.APIStrictError.String())
			b.String("errmsg", "The index with name "+ix.Name+" is not allowed in API version 1.")
			b.End()
		}
	}
}
