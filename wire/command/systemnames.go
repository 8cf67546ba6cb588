package command

import (
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// SystemCollections holds the names with the prefix "system.", besides buckets, that a client may give a collection.
// Manual: reference/system-collections.
var SystemCollections = map[string]bool{
	"system.views": true, "system.profile": true, "system.js": true, "system.users": true, "system.roles": true,
	"system.version": true, "system.sessions": true, "system.keys": true, "system.healthlog": true,
}

// MayWriteTo refuses namespaces that clients may not write. system.views is changed only through commands such as
// create, collMod and drop, system.profile only by the profiler. In a transaction it also refuses what mayWriteInTxn
// refuses. how is the command's verb, such as "insert", for the error text.
// Errors: InvalidNamespace (73), CommandNotSupported (115), errors of mayWriteInTxn.
func (c *Call) MayWriteTo(ns collection.Namespace, how string) error {
	return c.mayWriteTo(ns, how, c.Def.Op == OpInsert)
}

// MayInsertInto is MayWriteTo for the inserts of a command with several kinds of writes.
func (c *Call) MayInsertInto(ns collection.Namespace) error {
	return c.mayWriteTo(ns, "insert into", true)
}

func (c *Call) mayWriteTo(ns collection.Namespace, how string, insert bool) error {
	if err := c.checkSystemName(ns, how, insert); err != nil {
		return err
	}
	return c.mayWriteInTxn(ns, how)
}

// checkSystemName refuses names with the prefix "system." that clients may not write, for MayWriteTo. Into the buckets
// of an existing time series, inserts are allowed. how is the command's verb for the error text.
func (c *Call) checkSystemName(ns collection.Namespace, how string, insert bool) error {
	if !strings.HasPrefix(ns.Coll, "system.") {
		return nil
	}
	series, isBuckets := strings.CutPrefix(ns.Coll, catalog.BucketsPrefix)
	switch {
	case isBuckets && c.Cluster.Catalog().Series(ns) == nil:
		return mongoerr.New(mongoerr.InvalidNamespace, "cannot write to %s: there is no time-series collection %s", ns, series)
	case isBuckets && !insert:
		return mongoerr.New(mongoerr.CommandNotSupported, "Cannot %s %s: measurements are not kept in buckets, write to %s instead", how, ns, series)
	case isBuckets:
		return nil
	case ns.Coll == "system.views" || ns.Coll == "system.profile" || !SystemCollections[ns.Coll]:
		return mongoerr.New(mongoerr.InvalidNamespace, "cannot write to %s", ns)
	}
	return nil
}
