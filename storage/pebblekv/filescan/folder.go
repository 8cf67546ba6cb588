package filescan

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// Folder holds the files of a store.
type Folder struct {
	// Damages are all damages found so far, in the order in which they were found.
	Damages []storage.Damage

	fs           vfs.FS
	dir          string
	names        []string
	neverWritten bool // there is no store yet, or its creation was interrupted

	manifest   manifest
	logs       []logFile // the logs that an open replays, by ascending number
	usableLogs int       // how many of the logs can be replayed, each up to its first hole
	next       uint64    // the sequence number that the next write would have
	mark       uint64    // all writes with lower sequence numbers were synced; 0 = unknown
	options    []string  // names of unreadable OPTIONS files, which hold no data

	tables []*table
	listed bool // the manifest lists these tables; otherwise they are all in the folder

	// Prepare sets the fields below.
	inLogs []version
	tombs  []tombstone
	broken []lostRange // sorted by their first keys
}

// ReadFolder reads the files that an open of the store needs: the list of files, the manifest and the logs. It
// adds the damages that it finds. Errors: errors of the file system if the folder cannot be listed.
func ReadFolder(fs vfs.FS, dir string) (*Folder, error) {
	f := &Folder{fs: fs, dir: dir}
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	f.names = names
	f.mark = readMark(fs, fs.PathJoin(dir, markName))
	if f.neverWritten = f.unfinished(); f.neverWritten {
		return f, nil
	}
	f.readManifest()
	f.readLogs()
	f.readOptions()
	return f, nil
}

// Fresh reports whether the folder has no store yet: there are no files of one, or its creation was interrupted
// before anything was written to the store. It is true too for a store that has lost its tables, logs and mark.
func (f *Folder) Fresh() bool { return f.neverWritten }

// Clear removes the files of a store whose creation was interrupted (Fresh), so that an open creates it again. For
// other stores it does nothing. Errors: errors of the file system.
func (f *Folder) Clear() error {
	for _, name := range f.names {
		if !f.neverWritten || strings.HasPrefix(name, "LOCK") {
			continue
		}
		for _, prefix := range []string{"marker.", manifestName, optionsPrefix, markName} {
			if strings.HasPrefix(name, prefix) || strings.HasSuffix(name, logSuffix) || strings.HasSuffix(name, ".dbtmp") {
				if err := f.fs.Remove(f.fs.PathJoin(f.dir, name)); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// Listed reports whether the list of the store's tables comes from the manifest. If the manifest is damaged, the
// list has all tables in the folder instead, perhaps also some that the store no longer used.
func (f *Folder) Listed() bool { return f.listed }

// Next returns the sequence number that the next write to the store would have.
func (f *Folder) Next() uint64 { return f.next }

// damaged adds a damage.
func (f *Folder) damaged(d storage.Damage) { f.Damages = append(f.Damages, d) }

// hasDamage reports whether a damage of a kind was found.
func (f *Folder) hasDamage(k storage.DamageKind) bool {
	return slices.ContainsFunc(f.Damages, func(d storage.Damage) bool { return d.Kind == k })
}

// ofPrefix returns the names of the folder's files that begin with prefix.
func (f *Folder) ofPrefix(prefix string) (names []string) {
	for _, name := range f.names {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// readFile reads a whole file.
func (f *Folder) readFile(name string) ([]byte, error) {
	r, err := f.fs.Open(f.fs.PathJoin(f.dir, name))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// readOptions checks whether Pebble can read the newest OPTIONS file, which Pebble only compares with its own
// options. If not, the file is hidden from Pebble, because it holds no data.
func (f *Folder) readOptions() {
	files := f.ofPrefix(optionsPrefix)
	if len(files) == 0 {
		return
	}
	newest := files[len(files)-1]
	data, err := f.readFile(newest)
	if err == nil {
		err = guarded(func() error { return f.pebbleOptions(f.fs).CheckCompatibility(f.dir, string(data)) })
	}
	if err != nil {
		f.options = append(f.options, newest)
	}
}

// Options returns the names of unreadable OPTIONS files. They hold no data, and an open writes a new one.
func (f *Folder) Options() []string { return f.options }

// pebbleOptions returns Pebble's options for reading a damaged store, with which the OPTIONS file is compared.
func (f *Folder) pebbleOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS: fs, ReadOnly: true, DisableConsistencyCheck: true, DisableAutomaticCompactions: true,
		FormatMajorVersion: pebble.FormatValueSeparation, Logger: silent{},
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}, BackgroundError: func(error) {}},
	}
	o.EnsureDefaults()
	return o
}

// silent is a logger for Pebble that drops messages. Instead of ending the process, it panics, and guarded turns
// that into an error.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) { panic(errFatal) }

var errFatal = errors.New("the engine gave up")

// guarded calls a function that decodes bytes that may be damaged, and turns a panic into an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errUnreadable
		}
	}()
	return fn()
}

var errUnreadable = errors.New("it makes no sense")

// reason returns the last part of a file error's text, such as "input/output error", without the path.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}
