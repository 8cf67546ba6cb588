package command

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// runDrop answers drop. Manual: reference/command/drop.
func runDrop(c *Call) error {
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
		return true, c.checkUUIDArg(name, v)
	})
	if err != nil {
		return err
	}
	if ns.DB == "admin" && strings.HasPrefix(ns.Coll, "system.") {
		return mongoerr.New(mongoerr.IllegalOperation, "can't drop system collection %s", ns)
	}
	if _, _, _, on := c.profiler.profiled(ns.DB); on && ns.Coll == profileCollection {
		return mongoerr.New(mongoerr.IllegalOperation, "turn off profiling before dropping system.profile collection")
	}
	if ns.Coll == "system.views" && c.hasViews(ns.DB) {
		return c.dropViews(ns)
	}
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	if err := c.checkUUID(ns, coll, uuid); err != nil {
		return err
	}
	found, err := c.DDL.Drop(&c.Op, ns)
	if err == nil && !found {
		c.namespaceGone(ns)
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
func (c *Call) dropViews(ns collection.Namespace) error {
	for _, coll := range c.Cluster.Catalog.Peek().Collections(ns.DB) {
		if coll.IsView() {
			if _, err := c.DDL.Drop(&c.Op, coll.Namespace); err != nil {
				return err
			}
		}
	}
	c.Reply.Int32("nIndexesWas", 1)
	c.Reply.String("ns", ns.String())
	return nil
}

func (c *Call) hasViews(db string) bool {
	for _, coll := range c.Cluster.Catalog.Peek().Collections(db) {
		if coll.IsView() {
			return true
		}
	}
	return false
}

// shownIndexes are the indexes that clients see: a clustered or time-series
// collection has none on _id.
func shownIndexes(coll *catalog.Collection) []*catalog.Index {
	if (coll.Options.Clustered || coll.Options.TimeSeries != nil) && len(coll.Indexes) > 0 {
		return coll.Indexes[1:]
	}
	return coll.Indexes
}

// checkUUIDArg checks that an argument is a UUID or absent.
// Errors: TypeMismatch (14), InvalidUUID (207).
func (c *Call) checkUUIDArg(name string, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	sub, b, ok := v.Binary()
	if !ok {
		return mongoerr.WrongType(c.field(name), v.Type.String(), "binData")
	}
	if sub != 4 || len(b) != 16 {
		return mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype, got: %s", v)
	}
	return nil
}

// checkUUID compares a collection with the UUID a client expects it to have; a
// missing value expects nothing. Errors: CollectionUUIDMismatch (361).
func (c *Call) checkUUID(ns collection.Namespace, coll *catalog.Collection, uuid bson.Value) error {
	_, want, ok := uuid.Binary()
	if !ok || coll != nil && string(coll.UUID[:]) == string(want) {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("db", ns.DB)
	b.Value("collectionUUID", uuid)
	b.String("expectedCollection", ns.Coll)
	b.Null("actualCollection")
	for _, other := range c.Cluster.Catalog.Peek().Collections(ns.DB) {
		if string(other.UUID[:]) == string(want) {
			b = bson.NewBuilder(nil)
			b.String("db", ns.DB)
			b.Value("collectionUUID", uuid)
			b.String("expectedCollection", ns.Coll)
			b.String("actualCollection", other.Namespace.Coll)
		}
	}
	return mongoerr.New(mongoerr.CollectionUUIDMismatch, "Collection UUID does not match that specified").WithFields(b.Doc().Elements())
}

// runDropDatabase answers dropDatabase. Manual: reference/command/dropDatabase.
func runDropDatabase(c *Call) error {
	if err := c.Each(func(string, bson.Value) (bool, error) { return false, nil }); err != nil {
		return err
	}
	v := c.Value
	switch n, ok := roundedLong(v); {
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
	return c.DDL.DropDatabase(&c.Op, c.DB)
}

// runRename answers renameCollection.
// Manual: reference/command/renameCollection.
func runRename(c *Call) error {
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
			target, err = c.stringArg(name, v)
		case "dropTarget":
			switch v.Type {
			case bson.TypeMissing:
				if hasField(c.Body, name) {
					err = mongoerr.WrongType(c.field(name), "null", "bool", "binData")
				}
			case bson.TypeBool:
				drop, _ = v.Boolean()
			case bson.TypeBinary:
				dropUUID, drop = v, true
				err = c.checkUUIDArg(name, v)
			default:
				err = mongoerr.WrongType(c.field(name), v.Type.String(), "bool", "binData")
			}
		case "stayTemp":
			_, err = c.strictBool(name, v)
		case "collectionUUID":
			uuid = v
			err = c.checkUUIDArg(name, v)
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
	if err := c.checkUUID(from, snap.Collection(from), uuid); err != nil {
		return err
	}
	if !dropUUID.IsMissing() {
		if from.DB != to.DB {
			return mongoerr.New(mongoerr.InvalidOptions, "The `dropTarget` parameter must not be a UUID when renaming across databases")
		}
		if err := c.checkUUID(to, snap.Collection(to), dropUUID); err != nil {
			return err
		}
	}
	return c.DDL.Rename(&c.Op, from, to, drop)
}

// checkRenamable refuses names that can be neither source nor target.
// Errors: InvalidNamespace (73), IllegalOperation (20).
func checkRenamable(ns collection.Namespace) error {
	switch {
	case strings.Contains(ns.String(), "$"), len(ns.String()) > namespaceNameMax && len(ns.DB) <= databaseNameMax:
		return mongoerr.New(mongoerr.IllegalOperation, "Invalid namespace for renameCollection: %s", ns)
	case strings.HasPrefix(ns.Coll, "system."), ns.DB == "local" && strings.HasPrefix(ns.Coll, "oplog.") && ns.Coll != "oplog.":
		return mongoerr.New(mongoerr.IllegalOperation, "renaming system collections is not allowed: %s", ns)
	case ns.Coll == "":
		return mongoerr.BadNamespace(ns.String())
	}
	return checkNamespace(ns)
}
