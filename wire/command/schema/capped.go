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

// cappedTemporary is the number of bytes that the name tmpXXXXX.convertToCapped.NAME is longer than NAME. MongoDB
// converts a collection by filling a collection of that name, which must be a valid name as well. Observed: MongoDB
// 8.2.
const cappedTemporary = len("tmpXXXXX.convertToCapped.")

// runConvertToCapped replaces a collection by a capped collection of the same name with the newest documents that
// fit. Unknown arguments are ignored.
// Observed: mongod 8.2. Manual: reference/command/convertToCapped.
func runConvertToCapped(c *command.Call) error {
	s, ok := c.Value.Str()
	ns := collection.Namespace{DB: c.DB, Coll: s}
	switch {
	case !ok || s == "" || s[0] == '.' || strings.ContainsRune(s, 0):
		return mongoerr.BadNamespace(ns.String())
	case len(ns.String())+cappedTemporary > collection.NamespaceNameMax:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", ns, collection.NamespaceNameMax)
	}
	if err := checkCappable(ns); err != nil {
		return err
	}
	size, err := capSize(c)
	if err != nil {
		return err
	}
	return c.Server.DDL.ConvertToCapped(&c.Op, ns, size)
}

// parseCloneAsCapped reads the arguments of cloneCollectionAsCapped, which copies a collection into a new capped one.
// Unknown arguments are ignored.
// Observed: mongod 8.2. Manual: reference/command/cloneCollectionAsCapped.
func parseCloneAsCapped(c *command.Call) (command.Request, error) {
	from, ok := c.Value.Str()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'cloneCollectionAsCapped' must be of type String, but was %s", c.Value.Type)
	}
	to, ok := c.Body.Get("toCollection").Str()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "'toCollection' must be of type String")
	}
	source, target := collection.Namespace{DB: c.DB, Coll: from}, collection.Namespace{DB: c.DB, Coll: to}
	needs := func(q *command.PrivilegeCheck) { // to write the copy
		q.Need(auth.Insert, target)
		q.Need(auth.CreateIndex, target)
		q.Need(auth.ConvertToCapped, target)
	}
	return command.NewRequest(needs, func(c *command.Call) error {
		for _, ns := range [...]collection.Namespace{source, target} {
			long := ns == source && len(ns.String()) > collection.NamespaceNameMax
			if err := collection.CheckNamespace(ns); err != nil && !long {
				return err
			}
			if err := checkCappable(ns); err != nil {
				return err
			}
		}
		size, err := capSize(c)
		if err != nil {
			return err
		}
		if strings.HasPrefix(to, "system.") && to != "system.users" && to != "system.views" && to != "system.js" && to != "system.profile" {
			return mongoerr.New(mongoerr.InvalidNamespace, "Invalid system namespace: %s", target)
		}
		return c.Server.DDL.CloneAsCapped(&c.Op, source, target, size)
	}), nil
}

// checkCappable refuses the buckets of time series, and system.views.
// Errors: IllegalOperation (20), BadValue (2).
func checkCappable(ns collection.Namespace) error {
	switch {
	case strings.HasPrefix(ns.Coll, "system.buckets."):
		return mongoerr.New(mongoerr.IllegalOperation, "cannot make a capped collection of the buckets of a time-series collection: %s", ns)
	case ns.Coll == "system.views":
		return mongoerr.New(mongoerr.BadValue, "system.views cannot be capped: %s", ns)
	}
	return nil
}

// capSize reads size. Errors: InvalidOptions (72), BadValue (2).
func capSize(c *command.Call) (int64, error) {
	v := c.Body.Get("size")
	n, ok := arguments.RoundedLong(v)
	switch {
	case !ok || v.Type == bson.TypeBool:
		return 0, mongoerr.New(mongoerr.InvalidOptions, "Capped collection size must be a number greater than zero")
	case n <= 0:
		return 0, mongoerr.New(mongoerr.InvalidOptions, "Capped collection size must be greater than zero")
	case n > cappedBytesMax:
		return 0, mongoerr.New(mongoerr.BadValue, "Capped collection size must be at most %d bytes", int64(cappedBytesMax))
	}
	return n, nil
}
