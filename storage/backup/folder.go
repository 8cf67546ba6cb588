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
	lostFound    = "lost+found" // of the file system
)

// formatVersion is that of the folder, and what a newer program may raise.
const formatVersion = 1

// Errors of folders.
var (
	// ErrNoBackup: the folder is none of backups.
	ErrNoBackup = errors.New("there are no backups in it")
	// ErrBusy: another process is writing into it.
	ErrBusy = errors.New("another process is writing a backup into it, or deleting one")
	// ErrFormat: a newer program wrote it.
	ErrFormat = errors.New("a newer cantle wrote it; use that one")
	// ErrParent: the folder that it is to be made in is not there.
	ErrParent = errors.New("the folder above it is not there, and is not made: mount the disk that has it, or make it (mkdir -p)")
	// ErrGone: there were backups of this server in it.
	ErrGone = errors.New("it had backups of this database and has none now: mount the disk that has them; if they were deleted on purpose, choose another folder")
	// ErrForeign: there are files in it that are none of backups.
	ErrForeign = errors.New("it is not empty, and what is in it are no backups: choose another")
)

// File is one file of a base.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
	// Table says that it lies among the tables of the timeline.
	Table bool `json:"table,omitempty"`
}

// Base is one copy of the store's files. It is complete when its manifest is there.
type Base struct {
	Format   int       `json:"format"`
	Program  string    `json:"program"` // version of the program that made it
	Timeline string    `json:"timeline"`
	Number   int       `json:"number"`   // counts the bases of the timeline
	Previous int       `json:"previous"` // the number of the one before, 0 = none
	Begun    time.Time `json:"begun"`
	Ended    time.Time `json:"ended"`
	// From is the sequence number from which on writes are to be made again.
	From uint64 `json:"from"`
	// Time is the first moment that it can be brought to.
	Time storage.Timestamp `json:"time"`
	// Copied are the bytes that no base before had.
	Copied int64  `json:"copied"`
	Files  []File `json:"files"`
}

// Bytes is the size of all files.
func (b *Base) Bytes() (n int64) {
	for _, f := range b.Files {
		n += f.Size
	}
	return n
}

// Timeline is what there is of the life of one data folder.
type Timeline struct {
	ID       string
	Bases    []*Base    // complete ones, by number
	Segments []*Segment // whole ones, by where they begin
	dir      string
	findings []Finding // what is there and cannot be read, or not wholly
	spare    []string  // segments whose writes others have as well: a merge was interrupted
}

// Folder is a folder of backups.
type Folder struct {
	Dir       string
	ID        string
	Timelines []*Timeline // those with the newest moments last
	lock      io.Closer
}

// marker is what the file markerName has.
type marker struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	About  string `json:"about"`
}

// Open looks at a folder of backups. Errors: ErrNoBackup, ErrFormat; those of the file system.
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
	f.forgiveWriter()
	return f, nil
}

// isFolder reports a folder of backups, which may lie in another one.
func isFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markerName))
	return err == nil
}

// forgiveWriter takes back what was found incomplete where somebody is at it.
func (f *Folder) forgiveWriter() {
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

// begin opens a folder for writing, and makes it if need be. It must be closed.
// Errors: ErrBusy, ErrForeign, ErrFormat; those of the file system.
func begin(dir string) (*Folder, error) {
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

// makeFolder makes a folder of backups, and none above it: where those are missing, a disk is likely not mounted, and the
// backups would lie on that of the data. Errors: ErrParent; those of the file system.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // what it is comes to light
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s: %w", dir, ErrParent)
	}
	return err
}

// close lets others write.
func (f *Folder) close() error { return f.lock.Close() }

// timeline returns the one of an id, which may have nothing yet.
func (f *Folder) timeline(id string) *Timeline {
	for _, t := range f.Timelines {
		if t.ID == id {
			return t
		}
	}
	return &Timeline{ID: id, dir: filepath.Join(f.Dir, id)}
}

// make makes the folders of a timeline.
func (t *Timeline) make() error {
	for _, name := range []string{tablesName, logName} {
		if err := os.MkdirAll(filepath.Join(t.dir, name), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(t.dir), syncFolder(filepath.Dir(t.dir)))
}

// openTimeline reads what there is of one.
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
		if errors.Is(err, fs.ErrNotExist) {
			t.find("incomplete", t.rel(e.Name()), "a backup that did not come to its end; the next one clears it away")
			continue
		}
		if err == nil && filepath.Base(t.baseDir(b)) != e.Name() {
			err = errors.New("it belongs to another folder")
		}
		if err != nil {
			t.find("damaged", t.rel(e.Name(), manifestName), reason(err))
			continue
		}
		t.Bases = append(t.Bases, b)
	}
	slices.SortFunc(t.Bases, func(a, b *Base) int { return cmp.Compare(a.Number, b.Number) })
	return t, t.openSegments()
}

// readBase reads the manifest of a base. Errors: fs.ErrNotExist, what is wrong with it.
func readBase(dir string) (*Base, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	text, ok := unsealed(data)
	if !ok {
		return nil, errors.New("it fails its checksum")
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

// path is where a file of a base lies.
func (t *Timeline) path(b *Base, f *File) string {
	if f.Table {
		return filepath.Join(t.dir, tablesName, f.Name)
	}
	return filepath.Join(t.baseDir(b), f.Name)
}

// rel is a path as it is told.
func (t *Timeline) rel(parts ...string) string {
	return filepath.Join(append([]string{t.ID}, parts...)...)
}

func (t *Timeline) newest() *Base {
	if len(t.Bases) == 0 {
		return nil
	}
	return t.Bases[len(t.Bases)-1]
}

// end is the newest moment of all, 0 for none.
func (t *Timeline) end() (ts storage.Timestamp) {
	for _, c := range t.Covered() {
		ts = max(ts, c.To)
	}
	return ts
}

// reason is an error in few words, without the path.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
