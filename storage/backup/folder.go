package backup

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// Names in a folder of backups.
const (
	markerName   = "CANTLE-BACKUP"
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
	dir        string
	findings   []Finding // files that are incomplete or cannot be read
	superseded []string  // names of segments whose writes a merged segment has too, because a merge was interrupted
	// unusable has the paths of missing and damaged files, as far as Verify or Restore have found them; moments that
	// need them are not covered.
	unusable map[string]bool
}

// Folder is a backup folder, with the timelines of one or more data folders.
type Folder struct {
	Dir       string
	ID        string
	Timelines []*Timeline // in the order of their newest moments
	lock      io.Closer
}

// marker is the content of the file CANTLE-BACKUP, by which a backup folder is recognized.
type marker struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	About  string `json:"about"`
}

// Open reads the lists of bases and segments in a backup folder. It does not lock the folder. Errors: ErrNoBackup,
// ErrFormat; an error for a damaged marker; errors of the file system.
func Open(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s: %w", dir, ErrNoBackup)
	}
	if err != nil {
		return nil, err
	}
	var m marker
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", filepath.Join(dir, markerName), err)
	}
	if m.Format > formatVersion {
		return nil, fmt.Errorf("the folder %s: %w", dir, ErrFormat)
	}
	f.ID = m.ID
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == lostFound || strings.HasPrefix(e.Name(), scratchPrefix) || isFolder(filepath.Join(dir, e.Name())) {
			continue
		}
		t, err := openTimeline(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		f.Timelines = append(f.Timelines, t)
	}
	slices.SortStableFunc(f.Timelines, func(a, b *Timeline) int { return cmp.Compare(a.end(), b.end()) })
	f.dropIncompleteIfLocked()
	return f, nil
}

// isFolder reports whether dir is a backup folder. One may lie inside another, and is not read as a timeline.
func isFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markerName))
	return err == nil
}

// dropIncompleteIfLocked drops the findings of incomplete files if a process is writing into the folder, because
// that process may be completing them.
func (f *Folder) dropIncompleteIfLocked() {
	incomplete := func(x Finding) bool { return x.Kind == "incomplete" }
	if !slices.ContainsFunc(f.Timelines, func(t *Timeline) bool { return slices.ContainsFunc(t.findings, incomplete) }) {
		return
	}
	if locked(f.Dir) {
		for _, t := range f.Timelines {
			t.findings = slices.DeleteFunc(t.findings, incomplete)
		}
	}
}

// openForWriting locks a backup folder and reads it, and creates it if necessary. The caller closes it. Errors:
// ErrBusy, ErrForeign, ErrFormat, ErrNoParent; errors of the file system.
func openForWriting(dir string) (*Folder, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	_, err := os.Stat(filepath.Join(dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Name() != "LOCK" && e.Name() != markerName+partSuffix && e.Name() != lostFound && !isFolder(filepath.Join(dir, e.Name())) {
				return nil, fmt.Errorf("the folder %s: %w", dir, ErrForeign)
			}
		}
		text, _ := json.MarshalIndent(marker{formatVersion, hex.EncodeToString(random()), "backups of a Cantle server; see cantle backup list, cantle restore --from"}, "", " ")
		if err := writeWhole(filepath.Join(dir, markerName), text); err != nil {
			return nil, err
		}
	}
	lock, err := pebblekv.LockFolder(dir)
	if errors.Is(err, storage.ErrLocked) {
		return nil, fmt.Errorf("the folder %s: %w", dir, ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	f, err := Open(dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f.lock = lock
	return f, nil
}

// makeFolder creates the folder for backups, but no parents: if the parent is missing, a disk is likely not
// mounted, and the backups would lie on the disk of the data. Errors: ErrNoParent; errors of the file system.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // openForWriting checks whether it is a backup folder
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s: %w", dir, ErrNoParent)
	}
	return err
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
	return &Timeline{ID: id, dir: filepath.Join(f.Dir, id)}
}

// makeFolders creates and syncs the folders of a timeline, for tables and for segments.
func (t *Timeline) makeFolders() error {
	for _, name := range []string{tablesName, logName} {
		if err := os.MkdirAll(filepath.Join(t.dir, name), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(t.dir), syncFolder(filepath.Dir(t.dir)))
}

// openTimeline reads the manifests of the bases, and the list of the segments, of the timeline in the folder dir.
// Unreadable ones become findings.
func openTimeline(dir string) (*Timeline, error) {
	t := &Timeline{ID: filepath.Base(dir), dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), basePrefix) {
			continue
		}
		b, err := readBase(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) && lostManifest(filepath.Join(dir, e.Name())) {
			t.addFinding("missing", t.rel(e.Name(), manifestName), "no moment can be restored from this backup: copy the file back, or delete the folder of the backup")
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			t.addFinding("incomplete", t.rel(e.Name()), "an unfinished backup; the next one removes it")
			continue
		}
		if err == nil && filepath.Base(t.baseDir(b)) != e.Name() {
			err = errors.New("it belongs to another folder")
		}
		if err != nil {
			t.addFinding("damaged", t.rel(e.Name(), manifestName), reason(err))
			continue
		}
		t.Bases = append(t.Bases, b)
	}
	slices.SortFunc(t.Bases, func(a, b *Base) int { return cmp.Compare(a.Number, b.Number) })
	return t, t.openSegments()
}

// readBase reads and checks the manifest of the base in the folder dir. Errors: fs.ErrNotExist if the base is
// incomplete, ErrFormat, an error that describes the damage.
func readBase(dir string) (*Base, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
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

func (t *Timeline) baseDir(b *Base) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s%06d", basePrefix, b.Number))
}

// path returns the path of a file of a base.
func (t *Timeline) path(b *Base, f *File) string {
	if f.Table {
		return filepath.Join(t.dir, tablesName, f.Name)
	}
	return filepath.Join(t.baseDir(b), f.Name)
}

// rel returns a path inside the timeline, relative to the backup folder, for messages.
func (t *Timeline) rel(parts ...string) string {
	return filepath.Join(append([]string{t.ID}, parts...)...)
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
