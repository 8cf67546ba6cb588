package backup

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Names in a folder of backups.
const (
	markerName   = "CANTLE-BACKUP"
	lockName     = "LOCK"
	tablesName   = "tables"
	logName      = "log"
	manifestName = "backup.json"
	basePrefix   = "base-"
	partSuffix   = ".part"
	lostFound    = "lost+found" // a folder that some file systems create themselves
)

// formatVersion is the newest format version of a backup folder that this program reads; a newer program may write
// a higher one.
const formatVersion = 1

// Errors of backup folders.
var (
	// ErrNoBackup: the folder is not a backup folder.
	ErrNoBackup = errors.New("there are no backups in it")
	// ErrBusy: another process is writing a backup into the folder, or deletes one.
	ErrBusy = errors.New("another process is writing a backup into it, or deleting one")
	// ErrFormat: the folder was written by a newer program.
	ErrFormat = errors.New("a newer cantle wrote it; use that one")
	// ErrNoParent: the parent of the backup folder does not exist; likely a disk is not mounted.
	ErrNoParent = errors.New("its parent folder does not exist and is not created: mount the disk that has it, or create it (mkdir -p)")
	// ErrGone: the folder had backups of this server earlier, and has none now; likely a disk is not mounted.
	ErrGone = errors.New("it had backups of this database and has none now: mount the disk that has them; if they were deleted on purpose, choose another folder")
	// ErrForeign: the folder has files that are no backups, so no backups are written into it.
	ErrForeign = errors.New("it is not empty, and what is in it are no backups: choose another")
)

// File is one file of a base.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
	// Table is true if the file lies in the timeline's folder of tables, which several bases share.
	Table bool `json:"table,omitempty"`
}

// Base is one copy of all files of a store in a backup folder, as its manifest describes it. The base is complete
// once its manifest exists.
type Base struct {
	Format   int       `json:"format"`
	Program  string    `json:"program"` // version of the program that made it
	Timeline string    `json:"timeline"`
	Number   int       `json:"number"`   // position among the bases of the timeline, from 1
	Previous int       `json:"previous"` // the number of the previous base, 0 = none
	Begun    time.Time `json:"begun"`
	Ended    time.Time `json:"ended"`
	// From is the sequence number from which on a restore replays the writes in segments.
	From uint64 `json:"from"`
	// Time is the earliest moment to which the base can be restored, a timestamp.
	Time storage.Timestamp `json:"time"`
	// Copied is the number of bytes that had to be copied, because the previous base did not have them.
	Copied int64  `json:"copied"`
	Files  []File `json:"files"`
}

// Bytes returns the size of all files of the base, shared ones included.
func (b *Base) Bytes() (n int64) {
	for _, f := range b.Files {
		n += f.Size
	}
	return n
}

// Timeline holds the bases and segments of one data folder. A data folder that is copied or restored gets a new
// timeline.
type Timeline struct {
	ID         string
	Bases      []*Base    // complete ones, by number
	Segments   []*Segment // complete ones, by first sequence number
	archive    Archive
	findings   []Finding // files that are incomplete or cannot be read
	superseded []string  // names of segments whose writes a merged segment has too, because a merge was interrupted
	// unusable has the names of missing and damaged files, as far as Verify or Restore have found them; moments that
	// need them are not covered.
	unusable map[string]bool
}

// Folder is a backup folder, with the timelines of one or more data folders.
type Folder struct {
	ID        string
	Timelines []*Timeline // in the order of their newest moments
	archive   Archive
	lock      io.Closer
	terms     []string // names of the files that begin terms
}

// Location returns the path or the URL of the folder.
func (f *Folder) Location() string { return f.archive.Location() }

// marker is the content of the file CANTLE-BACKUP, by which a backup folder is recognized.
type marker struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	About  string `json:"about"`
}

// Open reads the lists of bases and segments in a backup folder. It does not lock the folder. Errors: ErrNoBackup,
// ErrFormat; an error for a damaged marker; errors of the file system.
func Open(ctx context.Context, a Archive) (*Folder, error) {
	f, ids, err := list(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		t, err := openTimeline(ctx, a, id)
		if err != nil {
			return nil, err
		}
		f.Timelines = append(f.Timelines, t)
	}
	slices.SortStableFunc(f.Timelines, func(a, b *Timeline) int { return cmp.Compare(a.end(), b.end()) })
	f.dropIncompleteIfLocked(ctx)
	return f, nil
}

// list reads the marker of a backup folder, and the IDs of its timelines. Errors: as Open.
func list(ctx context.Context, a Archive) (f *Folder, ids []string, err error) {
	f = &Folder{archive: a}
	data, err := readFile(ctx, a, markerName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("the folder %s: %w", a.Location(), ErrNoBackup)
	}
	if err != nil {
		return nil, nil, err
	}
	var m marker
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, nil, fmt.Errorf("%s is damaged: %w", a.Within(markerName).Location(), err)
	}
	if m.Format > formatVersion {
		return nil, nil, fmt.Errorf("the folder %s: %w", a.Location(), ErrFormat)
	}
	f.ID = m.ID
	entries, err := a.List(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	f.terms = termNames(entries)
	for _, e := range entries {
		if !e.Folder || e.Name == lostFound || strings.HasPrefix(e.Name, scratchPrefix) {
			continue
		}
		if inner, err := isFolder(ctx, a.Within(e.Name)); err != nil {
			return nil, nil, err
		} else if inner {
			continue
		}
		ids = append(ids, e.Name)
	}
	return f, ids, nil
}

// isFolder reports whether an archive is a backup folder. One may lie inside another, and is not read as a timeline.
func isFolder(ctx context.Context, a Archive) (bool, error) { return exists(ctx, a, markerName) }

// dropIncompleteIfLocked drops the findings of incomplete files if a process is writing into the folder, because
// that process may be completing them.
func (f *Folder) dropIncompleteIfLocked(ctx context.Context) {
	incomplete := func(x Finding) bool { return x.Kind == "incomplete" }
	if !slices.ContainsFunc(f.Timelines, func(t *Timeline) bool { return slices.ContainsFunc(t.findings, incomplete) }) {
		return
	}
	if f.archive.Locked(ctx) {
		for _, t := range f.Timelines {
			t.findings = slices.DeleteFunc(t.findings, incomplete)
		}
	}
}

// openForWriting locks a backup folder and reads it, and creates it if necessary. The caller closes it. Errors:
// ErrBusy, ErrForeign, ErrFormat, ErrNoParent; errors of the archive.
func openForWriting(ctx context.Context, a Archive) (*Folder, error) {
	if err := a.Prepare(ctx); err != nil {
		return nil, err
	}
	if there, err := isFolder(ctx, a); err != nil {
		return nil, err
	} else if !there {
		if err := begin(ctx, a); err != nil {
			return nil, err
		}
	}
	lock, err := a.Lock(ctx)
	if err != nil {
		return nil, err
	}
	f, err := Open(ctx, a)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f.lock = lock
	return f, nil
}

// begin makes a backup folder of an archive that has no files but terms and other backup folders. Errors: ErrForeign; errors of
// the archive.
func begin(ctx context.Context, a Archive) error {
	entries, err := a.List(ctx, "")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name == lockName || e.Name == markerName+partSuffix || e.Name == lostFound || isTerm(e.Name) {
			continue
		}
		if inner, err := isFolder(ctx, a.Within(e.Name)); err != nil || !inner {
			return errors.Join(err, fmt.Errorf("the folder %s: %w", a.Location(), ErrForeign))
		}
	}
	text, _ := json.MarshalIndent(marker{formatVersion, hex.EncodeToString(random()), "backups of a Cantle server; see cantle backup list, cantle restore --from"}, "", " ")
	return writeFile(ctx, a, markerName, text)
}

// lockLost returns an error if another process has taken the lock of an archive in an object store.
func (f *Folder) lockLost() error {
	if l, ok := f.lock.(interface{ Lost() error }); ok {
		return l.Lost()
	}
	return nil
}

// close unlocks the folder.
func (f *Folder) close() error { return f.lock.Close() }

// timeline returns the timeline with an ID, or a new one without folders and files if the backup folder does not
// have it.
func (f *Folder) timeline(id string) *Timeline {
	for _, t := range f.Timelines {
		if t.ID == id {
			return t
		}
	}
	return &Timeline{ID: id, archive: f.archive}
}

// openTimeline reads the manifests of the bases, and the list of the segments, of the timeline id. Unreadable ones
// become findings.
func openTimeline(ctx context.Context, a Archive, id string) (*Timeline, error) {
	t := &Timeline{ID: id, archive: a}
	entries, err := a.List(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Folder || !strings.HasPrefix(e.Name, basePrefix) {
			continue
		}
		b, err := t.readBase(ctx, e.Name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) && t.lostManifest(ctx, t.rel(e.Name)) {
			t.addFinding("missing", t.rel(e.Name, manifestName), "no moment can be restored from this backup: copy the file back, or delete the folder of the backup")
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			t.addFinding("incomplete", t.rel(e.Name), "an unfinished backup; the next one removes it")
			continue
		}
		if err == nil && t.baseDir(b) != t.rel(e.Name) {
			err = errors.New("it belongs to another folder")
		}
		if err != nil {
			t.addFinding("damaged", t.rel(e.Name, manifestName), reason(err))
			continue
		}
		t.Bases = append(t.Bases, b)
	}
	slices.SortFunc(t.Bases, func(a, b *Base) int { return cmp.Compare(a.Number, b.Number) })
	return t, t.openSegments(ctx)
}

// readBase reads and checks the manifest of the base in the folder dir of the timeline. Errors: fs.ErrNotExist if the
// base is incomplete, ErrFormat, an error that describes the damage.
func (t *Timeline) readBase(ctx context.Context, dir string) (*Base, error) {
	data, err := readFile(ctx, t.archive, t.rel(dir, manifestName))
	if err != nil {
		return nil, err
	}
	text, ok := cutChecksum(data)
	if !ok {
		return nil, errors.New("the checksum does not match")
	}
	b := &Base{}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, err
	}
	if b.Format > formatVersion {
		return nil, ErrFormat
	}
	return b, nil
}

// baseDir returns the folder of a base in the archive.
func (t *Timeline) baseDir(b *Base) string { return t.rel(fmt.Sprintf("%s%06d", basePrefix, b.Number)) }

// path returns the name of a file of a base in the archive.
func (t *Timeline) path(b *Base, f *File) string {
	if f.Table {
		return t.rel(tablesName, f.Name)
	}
	return path.Join(t.baseDir(b), f.Name)
}

// rel returns the name in the archive of a file of the timeline.
func (t *Timeline) rel(parts ...string) string {
	return path.Join(append([]string{t.ID}, parts...)...)
}

func (t *Timeline) newest() *Base {
	if len(t.Bases) == 0 {
		return nil
	}
	return t.Bases[len(t.Bases)-1]
}

// end returns the newest moment of the timeline that can be restored, 0 if there is none.
func (t *Timeline) end() (ts storage.Timestamp) {
	for _, c := range t.Covered() {
		ts = max(ts, c.To)
	}
	return ts
}

// reason returns the text of a file error without the operation and the path, for findings.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
