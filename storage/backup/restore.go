package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// scratchPrefix is the prefix of the names of temporary folders in a backup folder, for restores.
const scratchPrefix = "restore-"

// Restore creates the files of a store at the moment of a plan, in the existing empty folder dir: it copies the base
// and replays the writes of the segments. With documentsOnly, the store is only for reading documents: tables are
// linked instead of copied if possible, and index entries and change-log records are not replayed. After an error the
// folder is unusable. Errors: *DamagedError; errors of ctx and of the file system.
func (p *Plan) Restore(ctx context.Context, dir string, documentsOnly bool, report Report) error {
	advance := report.meter("copying files", "bytes", p.Base.Bytes())
	for i := range p.Base.Files {
		f := &p.Base.Files[i]
		from, to := p.timeline.path(p.Base, f), filepath.Join(dir, f.Name)
		if documentsOnly && f.Table && link(from, to, f.Size) {
			if err := advance(f.Size); err != nil {
				return err
			}
			continue
		}
		size, sum, err := (&copier{ctx: ctx, report: advance}).file(filescan.Disk, from, to)
		if errors.Is(err, fs.ErrNotExist) {
			return p.damaged(from, fmt.Errorf("%s is missing", from))
		}
		if err != nil {
			return err
		}
		if size != f.Size || sum != f.Sum {
			return p.damaged(from, fmt.Errorf("%s is damaged: it has %d of %d bytes, or fails its checksum", from, size, f.Size))
		}
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	total := int64(0)
	for _, s := range p.segments {
		if s.First > p.Base.From || s.Next > p.Base.From {
			total += s.Size
		}
	}
	advance = report.meter("making writes again", "bytes of log", total)
	return pebblekv.Replay(dir, documentsOnly, func(again func([]byte) error) error {
		for _, s := range p.segments {
			err := p.timeline.each(ctx, s, advance, func(w pebblekv.Write) error {
				switch {
				case w.Next() <= p.Base.From:
					return nil
				case w.Time > p.At:
					return errStopVisit
				}
				return again(w.Batch)
			})
			var damaged errDamaged
			switch {
			case errors.Is(err, errStopVisit):
				return nil
			case errors.As(err, &damaged):
				return p.damaged(p.timeline.segmentPath(s), fmt.Errorf("the part %s of the log is damaged: %w", p.timeline.segmentPath(s), err))
			case errors.Is(err, fs.ErrNotExist):
				return p.damaged(p.timeline.segmentPath(s), fmt.Errorf("the part %s of the log is missing", p.timeline.segmentPath(s)))
			case err != nil:
				return err
			}
		}
		return nil
	})
}

// DamagedError is the error of a restore that needs a file that is missing or damaged. The folder of the plan does not
// use the file any more: Find then plans the restore from another base, or returns the moments that are left.
type DamagedError struct{ error }

// damaged returns the error for a file of the backup folder, after which no plan uses the file.
func (p *Plan) damaged(path string, err error) error {
	p.timeline.lose(path)
	return &DamagedError{err}
}

// link creates a hard link, or else a symbolic link, to the file from at the path to, instead of a copy; ok is
// false if that is not possible, or the file does not have the expected size.
func link(from, to string, size int64) (ok bool) {
	info, err := os.Stat(from)
	if err != nil || info.Size() != size {
		return false
	}
	if os.Link(from, to) == nil {
		return true
	}
	whole, err := filepath.Abs(from)
	return err == nil && os.Symlink(whole, to) == nil
}

// Hold creates and locks a temporary folder for a restore: inside the backup folder, where tables can be linked,
// or else among the system's temporary files. While a temporary folder inside the backup folder is locked, backups
// there are neither deleted nor merged; so call Hold before Open. release removes the temporary folder.
func Hold(folder string) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp(folder, scratchPrefix); err != nil {
		dir, err = os.MkdirTemp("", "cantle-"+scratchPrefix)
	}
	if err != nil {
		return "", nil, err
	}
	lock, err := pebblekv.LockFolder(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() {
		_ = lock.Close()
		_ = os.RemoveAll(dir)
	}, nil
}
