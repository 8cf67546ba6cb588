package command

import (
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Limits of names. Manual: reference/limits#naming-restrictions.
const (
	databaseNameMax  = 63
	namespaceNameMax = 255
)

// checkDatabaseName refuses what cannot name a database.
// Errors: InvalidNamespace (73).
func checkDatabaseName(db string) error {
	if db == "" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: ''")
	}
	if len(db) > databaseNameMax || strings.ContainsAny(db, "/\\. \"$\x00") && db != "$external" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

// checkNamespace refuses what cannot name a collection.
// Errors: InvalidNamespace (73).
func checkNamespace(ns collection.Namespace) error {
	if err := checkDatabaseName(ns.DB); err != nil {
		return err
	}
	switch {
	case ns.Coll == "", strings.HasPrefix(ns.Coll, "."),
		strings.ContainsRune(ns.Coll, 0), strings.Contains(ns.Coll, "$") && !strings.HasPrefix(ns.Coll, "$cmd.") && ns.Coll != "oplog.$main":
		return mongoerr.BadNamespace(ns.String())
	case len(ns.DB)+1+len(ns.Coll) > namespaceNameMax:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", ns, namespaceNameMax)
	}
	return nil
}
