//go:build !invariants

package writebuf

import "github.com/cantledb/cantle/storage"

// Guard returns the iterator unchanged; in the invariants build it adds checks.
func Guard(it storage.Iterator) storage.Iterator { return it }
