package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// copier copies files of a store, one after the other, at a limited rate.
type copier struct {
	ctx    context.Context
	report progress
	pace   *pace                   // nil = no limit
	check  func(part string) error // checks the finished copy before it gets its final name; nil = no check
}

// file copies the file from to the path to, and returns its size and SHA-256. It syncs the copy before giving it
// its final name, so that under that name the file is complete or absent. It reads the original once.
func (c *copier) file(files pebblekv.FS, from, to string) (size int64, sum string, err error) {
	in, err := files.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	part := to + partSuffix
	out, err := filescan.CreatePart(part)
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	size, err = pump(c.ctx, io.MultiWriter(out, h), in, c.report, c.pace)
	if err == nil && c.check != nil {
		err = c.check(part)
	}
	if err != nil {
		return 0, "", errors.Join(err, out.Close())
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return 0, "", err
	}
	return size, hex.EncodeToString(h.Sum(nil)), os.Rename(part, to)
}

// listed reads the list of tables of a checkpoint, with which copies of its tables are checked. Errors:
// storage.DamagedError if a table is missing or has the wrong size.
func listed(files pebblekv.FS, checkpoint string) (*filescan.Folder, error) {
	f, err := filescan.ReadFolder(files, checkpoint)
	if err == nil {
		err = f.ListTables()
	}
	if err == nil && len(f.Damages) > 0 {
		err = &storage.DamagedError{Damages: f.Damages}
	}
	return f, err
}

// examine compares the checksums inside the copy of the table name, at the path part, before the copy gets its
// name, so that a damaged table does not replace a good copy. The copy is still in the page cache. Errors:
// storage.DamagedError if the table is damaged; another error if only the copy is.
func examine(tables *filescan.Folder, name, part string) error {
	if found, _ := tables.VerifyCopy(name, filescan.Disk, part); len(found) == 0 {
		return nil
	}
	if found, _ := tables.VerifyTable(name); len(found) > 0 {
		return &storage.DamagedError{Damages: found}
	}
	return fmt.Errorf("the copy %s is damaged and the table is not: look at the disk of the backups", part)
}
