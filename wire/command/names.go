package command

import (
	"crypto/md5"
	"strings"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Limits of names. Manual: reference/limits#naming-restrictions.
const (
	DatabaseNameMax  = 63
	NamespaceNameMax = 255
)

// CheckDatabaseName refuses what cannot name a database.
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

// CheckNamespace refuses what cannot name a collection.
// Errors: InvalidNamespace (73).
func CheckNamespace(ns collection.Namespace) error {
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

// The collection that the profiler writes to, and how much it keeps there.
// Manual: tutorial/manage-the-database-profiler.
const (
	ProfileCollection = "system.profile"
	ProfileBytes      = 1 << 20
	// ProfiledCommandMax is the largest command that is kept as a document.
	ProfiledCommandMax = 50 << 10
	// ProfileTimeMax bounds the time that keeping one entry may take.
	ProfileTimeMax = 2 * time.Second
)

// VirtualUUID is a UUID that a name always has.
func VirtualUUID(name string) [16]byte {
	u := md5.Sum([]byte(name))
	u[6] = u[6]&0x0f | 0x30 // version 3: from a name
	u[8] = u[8]&0x3f | 0x80
	return u
}
