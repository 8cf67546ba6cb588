package pebblekv

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// Inspect returns the format version of the store in dir, and reports whether there is a store. It changes nothing
// except the store's lock, which it holds meanwhile. Errors: ErrLocked, ErrFormat, ErrCorruption, errors of the
// file system; then the version is 0, as for a store whose creation was interrupted.
func Inspect(dir string) (version int, exists bool, err error) {
	desc, err := pebble.Peek(dir, vfs.Default)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil || !desc.Exists {
		return 0, false, translate(err)
	}
	if desc.FormatMajorVersion > pebble.FormatNewest {
		return 0, true, fmt.Errorf("%w: files of Pebble's version %d, this program knows up to %d", storage.ErrFormat, desc.FormatMajorVersion, pebble.FormatNewest)
	}
	o := Options{}.defaults()
	s := &store{o: o, dir: dir}
	lock, err := lockFolder(dir, filescan.ForReading(o.FS))
	if err != nil {
		return 0, true, err
	}
	defer lock.Close()
	po := o.pebble(func() {}, &failureHandler{log: logger{o}, now: o.Clock})
	defer po.Cache.Unref()
	po.Lock, po.ReadOnly, po.EventListener = lock, true, nil
	po.FS = checkedFiles{po.FS, &s.damaged}
	if s.db, err = pebble.Open(dir, po); err != nil {
		return 0, true, translate(err)
	}
	defer s.db.Close()
	format, err := s.read(keyFormat)
	switch {
	case errors.Is(err, storage.ErrNotFound): // the process ended while it created the store
		return 0, true, nil
	case err != nil:
		return 0, true, err
	}
	if err := knownFormat(format); err != nil {
		return 0, true, err
	}
	return int(format[0]), true, nil
}
