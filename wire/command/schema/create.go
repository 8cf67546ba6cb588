package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// createRequest is a create with parsed arguments.
type createRequest struct {
	ns collection.Namespace
	*createOptions
	outline *agg.Outline // of a view's pipeline; nil for a collection
}

// parseCreateRequest reads the arguments of create.
func parseCreateRequest(c *command.Call) (command.Request, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	o, err := parseCreate(c, ns)
	if err != nil {
		return nil, err
	}
	r := &createRequest{ns: ns, createOptions: o}
	if o.isView() {
		r.outline = c.OutlineOf(o.pipeline)
	}
	return r, nil
}

// Needs notes the privileges of a create, by its options. For a collection that is neither capped nor a view, the
// privilege to insert is enough.
func (r *createRequest) Needs(q *command.PrivilegeCheck) {
	if r.capped || r.isView() || !q.May(auth.Insert, r.ns) {
		q.Need(auth.CreateCollection, r.ns)
	}
	if r.capped {
		q.Need(auth.ConvertToCapped, r.ns)
	}
	if r.isView() {
		viewNeeds(q, r.ns, r.viewOn, r.outline)
	}
}

// Run answers create. Manual: reference/command/create.
func (r *createRequest) Run(c *command.Call) error {
	if err := c.CheckTxnLevel(); err != nil {
		return err
	}
	if err := checkCreatable(r.ns, r.createOptions); err != nil {
		return err
	}
	if r.isView() {
		if err := checkView(c, r.ns, r.viewOn, r.pipeline, r.outline); err != nil {
			return err
		}
	}
	return create(c, r.ns, r.createOptions)
}

// create creates the collection. In the form of create that Azure Cosmos DB has, the options can also contain a shard
// key and indexes, which it then creates too.
func create(c *command.Call, ns collection.Namespace, o *createOptions) error {
	if ns.Coll == "system.views" {
		return nil // the collection exists as soon as the database has a view
	}
	// Tools that restore a time-series collection create it under the name of its buckets.
	ns.Coll = strings.TrimPrefix(ns.Coll, bucketsPrefix)
	key, err := shard.WithSuffix(o.shardKey, o.suffix)
	if err != nil {
		return err
	}
	return c.Server.DDL.Create(&c.Op, ns, ddl.CreateOptions{Raw: o.document(), ShardKey: key, Indexes: o.indexes, UUID: c.ForcedUUID})
}

// checkCreatable refuses reserved names, and a validator where none is allowed. Errors: InvalidNamespace (73),
// IllegalOperation (20), InvalidOptions (72).
func checkCreatable(ns collection.Namespace, o *createOptions) error {
	if strings.HasPrefix(ns.Coll, bucketsPrefix) {
		if o.timeseries == nil {
			return mongoerr.New(mongoerr.IllegalOperation, "Creation of a timeseries bucket collection without timeseries options is not allowed: %s", ns)
		}
		return nil
	}
	if strings.HasPrefix(ns.Coll, "system.") && !command.SystemCollections[ns.Coll] {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid system namespace: %s", ns)
	}
	return checkValidated(ns, o.validator)
}

// checkValidated refuses a validator on a collection that cannot have one: in admin, local and config, and on system
// collections.
// Manual: core/schema-validation#restrictions. Errors: InvalidOptions (72).
func checkValidated(ns collection.Namespace, validator bson.Raw) error {
	if validator.IsEmpty() {
		return nil
	}
	switch {
	case ns.DB == "admin", ns.DB == "local", ns.DB == "config":
		return mongoerr.New(mongoerr.InvalidOptions, "Document validators are not allowed on collections in the %s database", ns.DB)
	case strings.HasPrefix(ns.Coll, "system."):
		return mongoerr.New(mongoerr.InvalidOptions, "Document validators are not allowed on system collection %s", ns)
	}
	return nil
}
