package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// Progress describes how far a running backup or restore is, for operators.
type Progress struct {
	Phase       string // name of the current step
	Unit        string // unit of Done and Total
	Done, Total int64
}

// Report is a function that is called with the progress of a backup, a restore or a Verify; it may be nil. It must
// return quickly, because the work waits for it.
type Report func(Progress)

// meter returns a function that adds the work done in one phase, and calls the Report with the sum.
func (r Report) meter(phase, unit string, total int64) progress {
	p := Progress{Phase: phase, Unit: unit, Total: total}
	return func(n int64) error {
		p.Done += n
		if r != nil {
			r(p)
		}
		return nil
	}
}

// checkpointName is the name of a folder inside the store's folder, with links to the files that a backup is about
// to copy, so that the store cannot delete them meanwhile.
const checkpointName = "checkpoint"

// Options are the settings of one backup.
type Options struct {
	Program string // version of the program, stored in the base
	Now     func() time.Time
	Report  Report
	Rate    int64       // bytes per second at which files are copied; 0 = no limit
	Files   pebblekv.FS // the file system of the store; nil = the disk
}

// backupRun is a backup in progress.
type backupRun struct {
	ctx context.Context
	src Source
	o   Options
	f   *Folder
	id  *identity
	t   *Timeline
	// idle has the last segment of the Runner; nil: each ship writes a segment.
	idle *idleness
}

// start opens a backup folder for writing, removes the remains of interrupted backups, and finds the
// timeline of the store's folder. If the identity does not show that the store's folder has written the timeline's
// last segment, perhaps because a copy of it has, start begins a new timeline.
func start(ctx context.Context, src Source, a Archive, o Options) (*backupRun, error) {
	kept, err := src.KeepWrites()
	if err != nil {
		return nil, err
	}
	id, err := readIdentity(kept)
	if err == nil {
		err = id.checkMounted(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	f, err := openForWriting(ctx, a)
	if errors.Is(err, ErrBusy) { // perhaps by the server that was promoted in place of this one
		if f, _, bad := list(ctx, a); bad == nil {
			err = cmp.Or(checkTerm(ctx, f, id), err)
		}
	}
	if err != nil {
		return nil, err
	}
	x := &backupRun{ctx: ctx, src: src, o: o, f: f, id: id}
	if err = checkTerm(ctx, f, id); err == nil {
		err = x.f.clean(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	x.t = f.timeline(x.id.Timeline)
	if last := x.t.last(); last != nil && !x.id.wroteLast(f.ID, last) {
		x.id.begin()
		if err := x.id.save(); err != nil {
			return nil, errors.Join(err, f.close())
		}
		x.t = f.timeline(x.id.Timeline)
	}
	return x, nil
}

// checkTerm returns a DeposedError if another server was promoted in place of this one.
func checkTerm(ctx context.Context, f *Folder, id *identity) error {
	t, err := f.deposing(ctx, id.Timeline)
	if t != nil {
		return &DeposedError{*t}
	}
	return err
}

// last returns the timeline's last segment, by sequence numbers; nil if there is none.
func (t *Timeline) last() *Segment {
	if len(t.Segments) == 0 {
		return nil
	}
	return t.Segments[len(t.Segments)-1]
}

// Take makes a base in a backup folder, for which it copies no tables that the previous base has, and a segment
// up to its end. Then it merges small segments, unless a restore is running. Only one process at a time can do so.
// Errors: ErrBusy, ErrForeign, ErrFormat, ErrNoParent, ErrGone; storage.DamagedError if a file of the store is damaged;
// errors of ctx, of the source and of the file system.
func Take(ctx context.Context, src Source, a Archive, o Options) (base *Base, err error) {
	x, err := start(ctx, src, a, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.f.close()) }()
	return x.take()
}

// take is Take in an open backup folder.
func (x *backupRun) take() (base *Base, err error) {
	ctx, src, a, o := x.ctx, x.src, x.f.archive, x.o
	b := &Base{Format: formatVersion, Program: o.Program, Timeline: x.t.ID, Number: 1, Begun: o.Now().UTC()}
	if last := x.t.newest(); last != nil {
		b.Number, b.Previous = last.Number+1, last.Number
	}
	checkpoint := filepath.Join(src.Folder(), checkpointName)
	if err := os.RemoveAll(checkpoint); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(checkpoint)) }()
	if b.From, _, err = src.MarkPosition(ctx); err != nil {
		return nil, err
	}
	if err := src.Checkpoint(ctx, checkpoint); err != nil {
		return nil, err
	}
	segment, err := x.ship(b.From)
	if err != nil {
		return nil, err
	}
	b.Time = segment.Time
	if err := x.copyFiles(checkpoint, b); err != nil {
		return nil, err
	}
	b.Ended = o.Now().UTC()
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return nil, err
	}
	if err := writeFile(ctx, a, path.Join(x.t.baseDir(b), manifestName), withChecksum(text)); err != nil {
		return nil, err
	}
	if err := x.t.unmark(ctx, b); err != nil {
		return nil, err
	}
	x.t.Bases = append(x.t.Bases, b)
	if held, err := a.Held(ctx); err == nil && !held {
		_ = x.t.merge(ctx) // if the merge fails, the small segments stay
	}
	return b, nil
}

// Clear removes the checkpoint, a folder with links to files, that a killed backup has left in the folder of a
// store.
func Clear(src Source) error { return os.RemoveAll(filepath.Join(src.Folder(), checkpointName)) }

// errNoBase is the error of Ship if the timeline has no base or no segment yet that a new segment could follow.
var errNoBase = errors.New("there is no backup of this server in the folder yet")

// Ship writes a segment with all writes since the previous segment into a backup folder, so that moments up to now
// can be restored. Errors: as Take; storage.ErrLogTruncated if some of these writes are gone, and errNoBase, so
// that a Take is needed first.
func Ship(ctx context.Context, src Source, a Archive) (segment *Segment, err error) {
	x, err := start(ctx, src, a, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.f.close()) }()
	return x.shipNext()
}

// shipNext is Ship in an open backup folder.
func (x *backupRun) shipNext() (*Segment, error) {
	if len(x.t.Bases) == 0 || len(x.t.Segments) == 0 {
		return nil, errNoBase
	}
	return x.ship(0)
}

// reload reads the lists of the backup folder again, after files were merged or deleted.
func (x *backupRun) reload() error {
	f, err := Open(x.ctx, x.f.archive)
	if err != nil {
		return err
	}
	f.lock = x.f.lock
	x.f, x.t = f, f.timeline(x.id.Timeline)
	return nil
}

// ship writes a segment with the writes after the timeline's last segment, up to now, and lets the store delete
// the logs that it has copied. If there is no such segment or the writes after it are gone, the new one starts at
// sequence number orFrom, unless orFrom is 0.
func (x *backupRun) ship(orFrom uint64) (*Segment, error) {
	from := orFrom
	if last := x.t.last(); last != nil {
		if from = last.Next; orFrom == 0 && x.idle.skips(x.src.Written(), x.o.Now) {
			return last, x.f.lockLost()
		}
	}
	_, behind, err := x.src.MarkPosition(x.ctx)
	if err != nil {
		return nil, err
	}
	segment, err := x.segment(from, behind)
	if errors.Is(err, storage.ErrLogTruncated) && orFrom > from {
		segment, err = x.segment(orFrom, behind)
	}
	if err != nil {
		return nil, err
	}
	x.t.Segments = append(x.t.Segments, segment)
	x.idle.shipped(behind.Next, x.o.Now)
	return segment, x.src.DropWrites(behind.Next)
}

// segment creates a segment file with the writes of the source from sequence number from up to the position
// behind.
func (x *backupRun) segment(from uint64, behind pebblekv.LogPosition) (*Segment, error) {
	nonce, err := x.id.recordNext(x.f, x.t.last())
	if err != nil {
		return nil, err
	}
	w, err := x.t.newSegment(x.ctx, from, behind.Next, nonce)
	if err != nil {
		return nil, err
	}
	advance := x.o.Report.meter("copying the log", "writes", int64(behind.Next-from))
	err = x.src.Writes(x.ctx, from, behind.Next, func(write pebblekv.Write) error {
		return errors.Join(w.add(write), advance(int64(write.Count)))
	})
	if err != nil {
		w.abandon()
		return nil, err
	}
	return w.finish(x.t, behind.Time)
}

// immutable reports whether a file of a store, a table or a file of values, never changes under its name, so that
// bases can share one copy.
func immutable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// copyFiles copies the files of a checkpoint into the base b: tables that the previous base does not have, and all
// other files. It checks each copied table's checksums.
func (x *backupRun) copyFiles(checkpoint string, b *Base) error {
	entries, err := os.ReadDir(checkpoint)
	if err != nil {
		return err
	}
	have := map[string]File{}
	if last := x.t.newest(); last != nil {
		there, err := x.t.tableSizes(x.ctx)
		if err != nil {
			return err
		}
		for _, f := range last.Files {
			if f.Table && there[f.Name] == f.Size {
				have[f.Name] = f
			}
		}
	}
	var missing []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		if f, ok := have[e.Name()]; ok && f.Size == info.Size() {
			b.Files = append(b.Files, f)
			continue
		}
		missing = append(missing, e.Name())
		b.Copied += info.Size()
	}
	if err := x.t.mark(x.ctx, b); err != nil {
		return err
	}
	files := x.o.Files
	if files == nil {
		files = filescan.Disk
	}
	tables, err := listed(files, checkpoint)
	if err != nil {
		return err
	}
	advance := x.o.Report.meter("copying files", "bytes", b.Copied)
	b.Copied = 0
	pace := newPace(x.o.Rate)
	defer pace.stop()
	for _, name := range missing {
		f := File{Name: name, Table: immutable(name)}
		c := copier{ctx: x.ctx, report: advance, pace: pace, check: func(local string) error { return examine(tables, name, local) }}
		in, err := files.Open(filepath.Join(checkpoint, name))
		if err != nil {
			return err
		}
		out, err := x.f.archive.Create(x.ctx, x.t.path(b, &f))
		if err != nil {
			return errors.Join(err, in.Close())
		}
		if f.Size, f.Sum, err = c.file(in, out); err != nil {
			return err
		}
		b.Copied += f.Size
		b.Files = append(b.Files, f)
	}
	dirs := []string{x.t.baseDir(b), x.t.ID}
	if slices.ContainsFunc(missing, immutable) {
		dirs = append(dirs, x.t.rel(tablesName))
	}
	return x.f.archive.Settle(dirs...)
}

// tableSizes returns the sizes of the tables of the timeline, by name.
func (t *Timeline) tableSizes(ctx context.Context) (map[string]int64, error) {
	entries, err := t.archive.List(ctx, t.rel(tablesName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		sizes[e.Name] = e.Size
	}
	return sizes, nil
}
