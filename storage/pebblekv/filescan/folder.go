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
	// Damages are the damages found, in the order of finding.
	Damages []storage.Damage

	fs           vfs.FS
	dir          string
	names        []string
	neverWritten bool // there is no store yet, or its creation was not finished

	manifest   manifest
	logs       []logFile // to be replayed, ascending
	usableLogs int       // how many of them can be replayed, each up to its first hole
	next       uint64    // the sequence number of the next write
	mark       uint64    // all writes with lower sequence numbers were acknowledged; 0 = unknown
	options    []string  // unreadable files of options; they hold no data

	tables []*table
	listed bool // tables comes from the manifest

	// Prepare sets the fields below.
	inLogs []version
	tombs  []tombstone
	broken []lostRange // by their first keys
}

// ReadFolder reads the files that an open needs: the list of files, the manifest and the
// logs. Errors: those of the file system for the folder.
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

// Fresh reports whether there is no store in the folder yet, or its creation was
// interrupted before anything could be written to it.
func (f *Folder) Fresh() bool { return f.neverWritten }

// Clear removes the files of a store that is Fresh, so that it is created again. Errors:
// those of the file system.
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

// Listed reports whether the manifest lists the tables of the store. Otherwise all tables
// in the folder are taken, which may include some that the store no longer used.
func (f *Folder) Listed() bool { return f.listed }

// Next returns the sequence number of the next write.
func (f *Folder) Next() uint64 { return f.next }

// damaged adds a damage.
func (f *Folder) damaged(d storage.Damage) { f.Damages = append(f.Damages, d) }

// hasDamage reports whether a damage of a kind was found.
func (f *Folder) hasDamage(k storage.DamageKind) bool {
	return slices.ContainsFunc(f.Damages, func(d storage.Damage) bool { return d.Kind == k })
}

// ofPrefix returns the files whose names begin with prefix.
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

// readOptions checks whether Pebble could read the newest file of options, which it only
// compares with its own options.
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

// Options returns the unreadable files of options. They hold no data, and an open writes
// a new one.
func (f *Folder) Options() []string { return f.options }

// pebbleOptions returns Pebble's options for reading a damaged store.
func (f *Folder) pebbleOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS: fs, ReadOnly: true, DisableConsistencyCheck: true, DisableAutomaticCompactions: true,
		FormatMajorVersion: pebble.FormatValueSeparation, Logger: silent{},
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}, BackgroundError: func(error) {}},
	}
	o.EnsureDefaults()
	return o
}

// silent is a logger that drops messages and does not end the process.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) { panic(errFatal) }

var errFatal = errors.New("the engine gave up")

// guarded calls a function that reads damaged bytes, and turns a panic into an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errUnreadable
		}
	}()
	return fn()
}

var errUnreadable = errors.New("it makes no sense")

// reason returns the cause of a file's error in a few words, without the path.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}
