package schema

import (
	"strings"

	"github.com/cantledb/cantle/wire/command"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// runDrop answers drop. Manual: reference/command/drop.
func runDrop(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	var uuid bson.Value
	err = c.Each(func(name string, v bson.Value) (bool, error) {
		if name != "collectionUUID" {
			return false, nil
		}
		uuid = v
		return true, c.CheckUUIDArg(name, v)
	})
	if err != nil {
		return err
	}
	if ns.DB == "admin" && strings.HasPrefix(ns.Coll, "system.") {
		return mongoerr.New(mongoerr.IllegalOperation, "can't drop system collection %s", ns)
	}
	if ns.Coll == command.ProfileCollection && c.Server.Hooks.Profiled(ns.DB) {
		return mongoerr.New(mongoerr.IllegalOperation, "turn off profiling before dropping system.profile collection")
	}
	if ns.Coll == "system.views" && c.HasViews(ns.DB) {
		return dropViews(c, ns)
	}
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	if err := c.CheckUUID(ns, coll, uuid); err != nil {
		return err
	}
	found, err := c.Server.DDL.Drop(&c.Op, ns)
	if err == nil && !found {
		c.Server.Hooks.Gone(ns)
	}
	if err != nil || !found || coll == nil {
		return err
	}
	if !coll.IsView() {
		c.Reply.Int32("nIndexesWas", int32(len(shownIndexes(coll))))
	}
	c.Reply.String("ns", ns.String())
	return nil
}

// dropViews drops every view of a database: what dropping system.views does.
func dropViews(c *command.Call, ns collection.Namespace) error {
	for _, coll := range c.Cluster.Catalog.Peek().Collections(ns.DB) {
		if coll.IsView() {
			if _, err := c.Server.DDL.Drop(&c.Op, coll.Namespace); err != nil {
				return err
			}
		}
	}
	c.Reply.Int32("nIndexesWas", 1)
	c.Reply.String("ns", ns.String())
	return nil
}

// shownIndexes are the indexes that clients see: a clustered or time-series
// collection has none on _id.
func shownIndexes(coll *catalog.Collection) []*catalog.Index {
	if (coll.Options.Clustered || coll.Options.TimeSeries != nil) && len(coll.Indexes) > 0 {
		return coll.Indexes[1:]
	}
	return coll.Indexes
}

// runDropDatabase answers dropDatabase. Manual: reference/command/dropDatabase.
func runDropDatabase(c *command.Call) error {
	if err := c.Each(func(string, bson.Value) (bool, error) { return false, nil }); err != nil {
		return err
	}
	v := c.Value
	switch n, ok := command.RoundedLong(v); {
	case v.IsNullish():
		return mongoerr.MissingField("dropDatabase.dropDatabase")
	case !ok:
		return mongoerr.WrongType("dropDatabase.dropDatabase", v.Type.String(), "long", "int", "decimal", "double")
	case n != 1:
		return mongoerr.New(5255100, "Have to pass 1 as 'dropDatabase' parameter")
	}
	if c.DB == "admin" || c.DB == "config" || c.DB == "local" {
		return mongoerr.New(mongoerr.IllegalOperation, "Dropping the '%s' database is prohibited.", c.DB)
	}
	return c.Server.DDL.DropDatabase(&c.Op, c.DB)
}

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
				if command.HasField(c.Body, name) {
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
	if err := c.CheckUUID(from, snap.Collection(from), uuid); err != nil {
		return err
	}
	if !dropUUID.IsMissing() {
		if from.DB != to.DB {
			return mongoerr.New(mongoerr.InvalidOptions, "The `dropTarget` parameter must not be a UUID when renaming across databases")
		}
		if err := c.CheckUUID(to, snap.Collection(to), dropUUID); err != nil {
			return err
		}
	}
	return c.Server.DDL.Rename(&c.Op, from, to, drop)
}

// checkRenamable refuses names that can be neither source nor target.
// Errors: InvalidNamespace (73), IllegalOperation (20).
func checkRenamable(ns collection.Namespace) error {
	switch {
	case strings.Contains(ns.String(), "$"), len(ns.String()) > command.NamespaceNameMax && len(ns.DB) <= command.DatabaseNameMax:
		return mongoerr.New(mongoerr.IllegalOperation, "Invalid namespace for renameCollection: %s", ns)
	case strings.HasPrefix(ns.Coll, "system."), ns.DB == "local" && strings.HasPrefix(ns.Coll, "oplog.") && ns.Coll != "oplog.":
		return mongoerr.New(mongoerr.IllegalOperation, "renaming system collections is not allowed: %s", ns)
	case ns.Coll == "":
		return mongoerr.BadNamespace(ns.String())
	}
	return command.CheckNamespace(ns)
}
