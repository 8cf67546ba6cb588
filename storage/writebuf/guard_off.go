//go:build !invariants

package writebuf

import "github.com/cantledb/cantle/storage"

// Guard returns the iterator unchanged. In builds with the tag invariants, it adds checks of the iterator's use.
func Guard(it storage.Iterator) storage.Iterator { return it }
