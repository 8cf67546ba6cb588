package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// renameArgs holds the arguments of renameCollection.
type renameArgs struct {
	from, to collection.Namespace
	drop     bool       // drop the target, if it exists
	dropUUID bson.Value // expected UUID of the target; missing for any
}

// parseRename reads the arguments of renameCollection.
func parseRename(c *command.Call) (command.Request, error) {
	if c.Value.IsNullish() {
		return nil, mongoerr.MissingField("renameCollection.renameCollection")
	}
	if c.Value.Type != bson.TypeString {
		return nil, mongoerr.WrongType("renameCollection.renameCollection", c.Value.Type.String(), "string")
	}
	source, _ := c.Value.Str()
	var target string
	a := &renameArgs{from: collection.ParseNamespace(source)}
	err := c.ReadArgs(
		arguments.String("to", &target).Required(),
		arguments.By("dropTarget", func(v bson.Value) error { return a.readDropTarget(c, v) }).WithNull(),
		arguments.StrictBool("stayTemp", nil),
		c.ExpectUUID(a.from),
	)
	if err != nil {
		return nil, err
	}
	a.to = collection.ParseNamespace(target)
	return a, nil
}

// readDropTarget reads the argument dropTarget of renameCollection: whether to drop an existing target, or the UUID
// that this target must have.
// Errors: TypeMismatch (14), InvalidUUID (207).
func (a *renameArgs) readDropTarget(c *command.Call, v bson.Value) error {
	const name = "dropTarget"
	switch v.Type {
	case bson.TypeMissing:
		return mongoerr.WrongType(c.Field(name), "null", "bool", "binData")
	case bson.TypeBool:
		a.drop, _ = v.Boolean()
		return nil
	case bson.TypeBinary:
		a.dropUUID, a.drop = v, true
		return c.CheckUUIDArg(name, v)
	}
	return mongoerr.WrongType(c.Field(name), v.Type.String(), "bool", "binData")
}

// Needs notes the privileges of a renameCollection. Within a database, the action renameCollectionSameDB is enough,
// unless the rename would make a collection readable for the user. Otherwise the user needs the privileges to copy
// the collection and to drop the source. Dropping the target requires dropCollection on it.
func (a *renameArgs) Needs(q *command.PrivilegeCheck) {
	if a.drop {
		q.Need(auth.DropCollection, a.to)
	}
	if a.from.DB == a.to.DB && q.May(auth.RenameCollectionSameDB, a.from) && q.May(auth.RenameCollectionSameDB, a.to) &&
		(q.May(auth.Find, a.from) || !q.May(auth.Find, a.to)) {
		return
	}
	q.Need(auth.Find, a.from)
	q.Need(auth.DropCollection, a.from)
	q.Need(auth.Insert, a.to)
	q.Need(auth.CreateIndex, a.to)
}

// Run answers renameCollection. Manual: reference/command/renameCollection.
func (a *renameArgs) Run(c *command.Call) error {
	for _, ns := range []collection.Namespace{a.from, a.to} {
		if err := checkRenamable(ns); err != nil {
			return err
		}
	}
	if err := c.Cluster.CheckExpected(&c.Op); err != nil {
		return err
	}
	if !a.dropUUID.IsMissing() {
		if a.from.DB != a.to.DB {
			return mongoerr.New(mongoerr.InvalidOptions, "The `dropTarget` parameter must not be a UUID when renaming across databases")
		}
		if err := c.Cluster.Catalog().CheckUUID(catalog.Expected{Namespace: a.to, UUID: a.dropUUID, Viewer: c}, c.Release()); err != nil {
			return err
		}
	}
	return c.Server.DDL.Rename(&c.Op, a.from, a.to, a.drop)
}

// checkRenamable refuses namespaces that renameCollection does not accept as source or target, such as system
// collections.
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
