package wreck

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// Folder is the files of a store.
type Folder struct {
	// Damages are what is known to be wrong, in the order in which it was met.
	Damages []storage.Damage

	fs    vfs.FS
	dir   string
	names []string
	fresh bool // there is no store yet, or one that was never finished

	manifest manifest
	logs     []logFile // to be replayed, ascending
	logsGood int       // how many of them can be, as far as they go
	next     uint64    // the sequence number that the next write would get
	mark     uint64    // all below had been acknowledged; 0 = unknown
	options  []string  // files of settings that cannot be read; they hold no data

	tables []*table
	listed bool // tables is what the manifest says

	// Prepare fills these in.
	inLogs []item
	tombs  []tombstone
	broken []lost // by their first keys
}

// Survey looks at the files that an opening goes by: which there are, the manifest and
// the logs. Errors: what the file system says of the folder.
func Survey(fs vfs.FS, dir string) (*Folder, error) {
	f := &Folder{fs: fs, dir: dir}
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	f.names = names
	f.mark = readMark(fs, fs.PathJoin(dir, markName))
	if f.fresh = f.unfinished(); f.fresh {
		return f, nil
	}
	f.readManifest()
	f.readLogs()
	f.readOptions()
	return f, nil
}

// Fresh reports that there is no store in the folder yet, or one whose making was cut off
// before anything could be written to it.
func (f *Folder) Fresh() bool { return f.fresh }

// Clear removes what there is of a store that is Fresh, so that it is made anew.
// Errors: those of the file system.
func (f *Folder) Clear() error {
	for _, name := range f.names {
		if !f.fresh || strings.HasPrefix(name, "LOCK") {
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

// Listed reports that it is known which tables belong to the store. Otherwise all that
// lie in the folder are taken for it, also some that it had given up.
func (f *Folder) Listed() bool { return f.listed }

// Next is the sequence number that the next write would get.
func (f *Folder) Next() uint64 { return f.next }

// damaged notes a damage.
func (f *Folder) damaged(d storage.Damage) { f.Damages = append(f.Damages, d) }

// hasDamage reports a damage of a kind.
func (f *Folder) hasDamage(k storage.DamageKind) bool {
	return slices.ContainsFunc(f.Damages, func(d storage.Damage) bool { return d.Kind == k })
}

// ofPrefix are the files whose names begin so.
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

// readOptions looks whether Pebble would stumble over the newest file of settings, which
// it only compares with its own.
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

// Options are the files of settings that cannot be read. They hold no data, and an
// opening writes a new one.
func (f *Folder) Options() []string { return f.options }

// pebbleOptions are the settings for looking at a store.
func (f *Folder) pebbleOptions(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS: fs, ReadOnly: true, DisableConsistencyCheck: true, DisableAutomaticCompactions: true,
		FormatMajorVersion: pebble.FormatValueSeparation, Logger: silent{},
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}, BackgroundError: func(error) {}},
	}
	o.EnsureDefaults()
	return o
}

// silent is a logger that says nothing and ends nothing.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) { panic(errFatal) }

var errFatal = errors.New("the engine gave up")

// guarded calls what reads damaged bytes: a panic over them is an error.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errUnreadable
		}
	}()
	return fn()
}

var errUnreadable = errors.New("it makes no sense")

// reason is an error of a file in a few words, without the path.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}
