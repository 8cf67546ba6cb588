package ddl

import (
	"strings"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Limits on names. Manual: reference/limits#naming-restrictions.
const (
	namespaceBytesMax = 255
	databaseBytesMax  = 63
)

// checkNamespace rejects names that no collection may have.
// Manual: reference/limits#naming-restrictions. Errors: InvalidNamespace (73).
func checkNamespace(ns collection.Namespace) error {
	if err := checkDatabase(ns.DB); err != nil {
		return err
	}
	switch {
	case ns.Coll == "":
		return mongoerr.BadNamespace(ns.DB + ".")
	case strings.ContainsRune(ns.Coll, 0):
		return mongoerr.New(mongoerr.InvalidNamespace, "namespaces cannot have embedded null characters")
	case ns.Coll[0] == '.':
		return mongoerr.New(mongoerr.InvalidNamespace, "Collection names cannot start with '.': %s", ns.Coll)
	case strings.ContainsRune(ns.Coll, '$'):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: %s", ns.Coll)
	case len(ns.String()) > namespaceBytesMax:
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", ns, namespaceBytesMax)
	}
	return nil
}

// checkDatabase rejects names that no database may have.
// Manual: reference/limits#naming-restrictions. Errors: InvalidNamespace (73).
func checkDatabase(db string) error {
	if db == "" || len(db) > databaseBytesMax || strings.ContainsAny(db, "/\\. \"$\x00") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", db)
	}
	return nil
}
