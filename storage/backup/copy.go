package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// copier copies files of a store, one after the other, at a limited rate.
type copier struct {
	ctx    context.Context
	report progress
	pace   *pace                    // nil = no limit
	check  func(local string) error // checks the finished copy before it gets its name: see Writer.Local; nil = no check
}

// file copies in, the file of a store, to out, and returns its size and SHA-256. Under its name the copy is complete
// and durable, or absent. It reads the original once. It closes in and ends out.
func (c *copier) file(in io.ReadCloser, out Writer) (size int64, sum string, err error) {
	defer in.Close()
	h := sha256.New()
	size, err = pump(c.ctx, io.MultiWriter(out, h), in, c.report, c.pace)
	if err == nil && c.check != nil {
		err = c.check(out.Local())
	}
	if err != nil {
		out.Abandon()
		return 0, "", err
	}
	return size, hex.EncodeToString(h.Sum(nil)), out.Commit()
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

// examine compares the checksums inside the copy of the table name, at the path part of this machine, before the copy
// gets its name, so that a damaged table does not replace a good copy. The copy is still in the page cache. Without a
// part, the copy is on another machine, which has compared its checksum: then examine reads the table. Errors:
// storage.DamagedError if the table is damaged; another error if only the copy is.
func examine(tables *filescan.Folder, name, part string) error {
	if part != "" {
		if found, _ := tables.VerifyCopy(name, filescan.Disk, part); len(found) == 0 {
			return nil
		}
	}
	if found, _ := tables.VerifyTable(name); len(found) > 0 {
		return &storage.DamagedError{Damages: found}
	}
	if part == "" {
		return nil
	}
	return fmt.Errorf("the copy %s is damaged and the table is not: look at the disk of the backups", part)
}
