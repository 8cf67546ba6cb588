package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/storage"
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
		if documentsOnly && f.Table && p.timeline.archive.Link(from, to, f.Size) {
			if err := advance(f.Size); err != nil {
				return err
			}
			continue
		}
		size, sum, err := p.fetch(ctx, from, to, advance)
		if errors.Is(err, fs.ErrNotExist) {
			return p.damaged(from, fmt.Errorf("%s is missing", p.shown(from)))
		}
		if err != nil {
			return err
		}
		if size != f.Size || sum != f.Sum {
			return p.damaged(from, fmt.Errorf("%s is damaged: it has %d of %d bytes, or fails its checksum", p.shown(from), size, f.Size))
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
				return p.damaged(p.timeline.segmentPath(s), fmt.Errorf("the part %s of the log is damaged: %w", p.shown(p.timeline.segmentPath(s)), err))
			case errors.Is(err, fs.ErrNotExist):
				return p.damaged(p.timeline.segmentPath(s), fmt.Errorf("the part %s of the log is missing", p.shown(p.timeline.segmentPath(s))))
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
func (p *Plan) damaged(name string, err error) error {
	p.timeline.lose(name)
	return &DamagedError{err}
}

// shown returns the path or the URL of a file of the archive.
func (p *Plan) shown(name string) string { return p.timeline.archive.Within(name).Location() }

// fetch copies the file from of the archive to the path to.
func (p *Plan) fetch(ctx context.Context, from, to string, advance progress) (size int64, sum string, err error) {
	in, err := p.timeline.archive.Open(ctx, from, 0)
	if err != nil {
		return 0, "", err
	}
	part, err := filescan.CreatePart(to + partSuffix)
	if err != nil {
		return 0, "", errors.Join(err, in.Close())
	}
	return (&copier{ctx: ctx, report: advance}).file(in, &folderWriter{part, to})
}

// Hold opens the backup folder of an archive. Until release is called, its files are not deleted, and the folder dir, which is
// empty, exists for the caller. Errors: as Open; errors of the archive.
func Hold(ctx context.Context, a Archive) (dir string, f *Folder, release func(), err error) {
	if _, err := Open(ctx, a); err != nil { // before anything is made in it
		return "", nil, nil, err
	}
	if dir, release, err = a.Hold(ctx); err != nil {
		return "", nil, nil, err
	}
	if f, err = Open(ctx, a); err != nil {
		release()
	}
	return dir, f, release, err
}

// RestoreMoment makes the files of a store with the state of the moment at, 0 for the newest, in the new folder dir. If a file
// of the newest backup before the moment is damaged, it uses an older backup and more of the log. It calls begin before each
// try: report may be nil, and end gets the error of a backup that cannot be used, nil for the last one.
// Errors: ErrNotCovered, with the moments that can be restored; errors of the file system.
func (f *Folder) RestoreMoment(ctx context.Context, at storage.Timestamp, dir string, documentsOnly bool, begin func(*Plan) (report Report, end func(error))) (*Plan, error) {
	for {
		plan, err := f.Find(at)
		if err != nil {
			return nil, err
		}
		if at == 0 {
			at = plan.At // a damaged file must not turn the newest moment into an older one unnoticed
		}
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			return nil, err
		}
		report, end := begin(plan)
		err = plan.Restore(ctx, dir, documentsOnly, report)
		var damaged *DamagedError
		if !errors.As(err, &damaged) {
			end(nil)
			return plan, err
		}
		end(err)
	}
}
