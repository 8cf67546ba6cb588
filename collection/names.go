package collection

import (
	"strings"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// Limits of names. Manual: reference/limits#naming-restrictions.
const (
	DatabaseNameMax  = 63
	NamespaceNameMax = 255
)

// IsInternal reports whether a database belongs to the server and not to its users.
func IsInternal(db string) bool { return db == "admin" || db == "config" || db == "local" }

// CheckDatabaseName rejects names that a database cannot have.
// Errors: InvalidNamespace (73).
func CheckDatabaseName(db string) error {
	if db == "" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: ''")
	}
	if len(db) > DatabaseNameMax || strings.ContainsAny(db, "/\\. \"$\x00") && db != "$external" {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}

// CheckNamespace rejects names that a collection cannot have.
// Errors: InvalidNamespace (73).
func CheckNamespace(ns Namespace) error {
	if err := CheckDatabaseName(ns.DB); err != nil {
		return err
	}
	switch {
	case ns.Coll == "", strings.HasPrefix(ns.Coll, "."),
		strings.ContainsRune(ns.Coll, 0), strings.Contains(ns.Coll, "$") && !strings.HasPrefix(ns.Coll, "$cmd.") && ns.Coll != "oplog.$main":
		return mongoerr.BadNamespace(ns.String())
	case len(ns.DB)+1+len(ns.Coll) > NamespaceNameMax:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", ns, NamespaceNameMax)
	}
	return nil
}

// ProfileCollection is the collection of a database to which the profiler writes the database's slow commands.
// Manual: tutorial/manage-the-database-profiler.
const ProfileCollection = "system.profile"
