package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// runRename answers renameCollection.
// Manual: reference/command/renameCollection.
func runRename(c *command.Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField("renameCollection.renameCollection")
	}
	if c.Value.Type != bson.TypeString {
		return mongoerr.WrongType("renameCollection.renameCollection", c.Value.Type.String(), "string")
	}
	source, _ := c.Value.Str()
	var target string
	var hasTarget, drop bool
	var dropUUID, uuid bson.Value
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "to":
			hasTarget = !v.IsMissing()
			target, err = c.StringArg(name, v)
		case "dropTarget":
			switch v.Type {
			case bson.TypeMissing:
				if c.Body.Has(name) {
					err = mongoerr.WrongType(c.Field(name), "null", "bool", "binData")
				}
			case bson.TypeBool:
				drop, _ = v.Boolean()
			case bson.TypeBinary:
				dropUUID, drop = v, true
				err = c.CheckUUIDArg(name, v)
			default:
				err = mongoerr.WrongType(c.Field(name), v.Type.String(), "bool", "binData")
			}
		case "stayTemp":
			_, err = c.StrictBool(name, v)
		case "collectionUUID":
			uuid = v
			err = c.CheckUUIDArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && !hasTarget {
		err = mongoerr.MissingField("renameCollection.to")
	}
	if err != nil {
		return err
	}
	from, to := collection.ParseNamespace(source), collection.ParseNamespace(target)
	for _, ns := range []collection.Namespace{from, to} {
		if err := checkRenamable(ns); err != nil {
			return err
		}
	}
	snap := c.Cluster.Catalog.Peek()
	if err := snap.CheckUUID(from, snap.Collection(from), uuid); err != nil {
		return err
	}
	if !dropUUID.IsMissing() {
		if from.DB != to.DB {
			return mongoerr.New(mongoerr.InvalidOptions, "The `dropTarget` parameter must not be a UUID when renaming across databases")
		}
		if err := snap.CheckUUID(to, snap.Collection(to), dropUUID); err != nil {
			return err
		}
	}
	return c.Server.DDL.Rename(&c.Op, from, to, drop)
}

// checkRenamable refuses names that can be neither source nor target.
// Errors: InvalidNamespace (73), IllegalOperation (20).
func checkRenamable(ns collection.Namespace) error {
	switch {
	case strings.Contains(ns.String(), "$"), len(ns.String()) > collection.NamespaceNameMax && len(ns.DB) <= collection.DatabaseNameMax:
		return mongoerr.New(mongoerr.IllegalOperation, "Invalid namespace for renameCollection: %s", ns)
	case strings.HasPrefix(ns.Coll, "system."), ns.DB == "local" && strings.HasPrefix(ns.Coll, "oplog.") && ns.Coll != "oplog.":
		return mongoerr.New(mongoerr.IllegalOperation, "renaming system collections is not allowed: %s", ns)
	case ns.Coll == "":
		return mongoerr.BadNamespace(ns.String())
	}
	return collection.CheckNamespace(ns)
}

// renamePrivileges notes what is needed to rename: within a database there is an
// action for it; else it copies.
func renamePrivileges(q *command.PrivilegeCheck) {
	source := q.Namespace()
	s, _ := q.Arg("to").Str()
	target := collection.ParseNamespace(s)
	if source.DB == target.DB && q.Grants.May(auth.RenameCollectionSameDB, source) && q.Grants.May(auth.RenameCollectionSameDB, target) &&
		(q.Grants.May(auth.Find, source) || !q.Grants.May(auth.Find, target)) {
		if q.Arg("dropTarget").Truthy() {
			q.Need(auth.DropCollection, target)
		}
		return
	}
	q.Need(auth.Find, source)
	q.Need(auth.DropCollection, source)
	q.Need(auth.Insert, target)
	q.Need(auth.CreateIndex, target)
	if q.Arg("dropTarget").Truthy() {
		q.Need(auth.DropCollection, target)
	}
}
