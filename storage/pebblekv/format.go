package pebblekv

import (
	"context"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// formatVersion is the newest format version of a store that this program reads. A new store has the first
// version; a later one is set when something is stored that older programs would misread.
const formatVersion = storage.FormatIndexes

// knownFormat returns ErrFormat if a stored format version is not one byte, or newer than those that this program
// can read, so that the program does not misread the store.
func knownFormat(stored []byte) error {
	if len(stored) != 1 || stored[0] > formatVersion {
		return fmt.Errorf("%w: version %x, this program knows up to %d", storage.ErrFormat, stored, formatVersion)
	}
	return nil
}

// checkFormat refuses a store whose format version is newer than this program's, and stores the first version in a
// new store that is not ReadOnly. Errors: ErrFormat, errors of the file system.
func (s *store) checkFormat() error {
	stored, err := s.read(keyFormat)
	switch {
	case errors.Is(err, storage.ErrNotFound) && s.o.ReadOnly:
		return nil
	case errors.Is(err, storage.ErrNotFound):
		return translate(s.db.Set(keyFormat, []byte{storage.FormatFirst}, s.synced()))
	case err != nil:
		return err
	}
	return knownFormat(stored)
}

// RaiseFormat implements storage.Formatted.
func (s *store) RaiseFormat(ctx context.Context, version int) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	stored, err := s.read(keyFormat)
	if err != nil || len(stored) == 1 && int(stored[0]) >= version {
		return err
	}
	switch {
	case s.o.Follow:
		return storage.ErrFollower
	case s.o.ReadOnly:
		return storage.ErrNotWritable
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(keyFormat, []byte{byte(version)}, nil); err != nil {
		return s.translate(err)
	}
	ts, err := s.apply(b, &work{}, nil)
	if err != nil {
		return err
	}
	return s.syncer.wait(ts)
}
