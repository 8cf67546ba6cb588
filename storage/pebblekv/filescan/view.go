package filescan

import (
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// view is a file system through which Pebble reads the undamaged part of a store: it refuses changes, hides some
// files of the store's folder, and shows only the first bytes of others.
type view struct {
	vfs.FS
	dir  string
	hide func(name string) bool
	cut  map[string]int64 // number of bytes shown, by file name
}

// errReadOnly is the error of file operations that would change the folder of a store that is only read.
var errReadOnly = &readOnlyError{}

type readOnlyError struct{}

func (*readOnlyError) Error() string        { return "the folder is only read" }
func (*readOnlyError) Is(target error) bool { return target == syscall.EROFS }

// List implements vfs.FS.
func (v *view) List(dir string) ([]string, error) {
	names, err := v.FS.List(dir)
	if v.hide != nil && dir == v.dir {
		names = slices.DeleteFunc(names, v.hide)
	}
	return names, err
}

// Open implements vfs.FS.
func (v *view) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := v.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	if size, ok := v.cut[v.FS.PathBase(name)]; ok {
		return &cutFile{File: file, size: size}, nil
	}
	return readFile{file}, nil
}

// The methods below would change the folder.

func (v *view) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }
func (v *view) Link(string, string) error                              { return errReadOnly }
func (v *view) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}
func (v *view) Remove(string) error         { return errReadOnly }
func (v *view) RemoveAll(string) error      { return errReadOnly }
func (v *view) Rename(string, string) error { return errReadOnly }
func (v *view) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

// MkdirAll implements vfs.FS. It does nothing, because the folder exists.
func (v *view) MkdirAll(string, os.FileMode) error { return nil }

// Lock implements vfs.FS. It locks nothing: the caller already has the folder's lock, or no other process can have
// it.
func (v *view) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (v *view) Unwrap() vfs.FS { return v.FS }

// readFile is a file that refuses writes.
type readFile struct{ vfs.File }

func (readFile) Write([]byte) (int, error)          { return 0, errReadOnly }
func (readFile) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }

// cutFile is a file that is read as if it had only its first size bytes, and refuses writes.
type cutFile struct {
	vfs.File
	size, at int64
}

func (c *cutFile) Read(p []byte) (int, error) {
	if c.at >= c.size {
		return 0, io.EOF
	}
	n, err := c.File.Read(p[:min(int64(len(p)), c.size-c.at)])
	c.at += int64(n)
	return n, err
}

func (c *cutFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= c.size {
		return 0, io.EOF
	}
	want := len(p)
	n, err := c.File.ReadAt(p[:min(int64(want), c.size-at)], at)
	if n < want && err == nil {
		err = io.EOF
	}
	return n, err
}

func (*cutFile) Write([]byte) (int, error)          { return 0, errReadOnly }
func (*cutFile) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }

// Writable returns the file system with which Pebble opens the store for writing. It hides unreadable OPTIONS
// files, which hold no data, because Pebble would refuse them.
func (f *Folder) Writable() vfs.FS {
	if len(f.options) == 0 {
		return f.fs
	}
	return &listing{f.fs, f.dir, f.options}
}

// Readable returns the file system with which Pebble reads the undamaged part of the store: it refuses changes,
// hides unreadable OPTIONS files and the logs after the first damage, and ends each log before its first damage.
func (f *Folder) Readable() vfs.FS {
	v := &view{FS: f.fs, dir: f.dir, cut: map[string]int64{}}
	hidden := slices.Clone(f.options)
	for i := range f.logs {
		switch l := &f.logs[i]; {
		case i >= f.usableLogs:
			hidden = append(hidden, l.name)
		case len(l.holes) > 0:
			v.cut[l.name] = l.end
		}
	}
	v.hide = func(name string) bool { return slices.Contains(hidden, name) }
	return v
}

// listing is a file system that omits some files when the store's folder is listed, and otherwise changes nothing.
type listing struct {
	vfs.FS
	dir  string
	hide []string
}

// List implements vfs.FS.
func (l *listing) List(dir string) ([]string, error) {
	names, err := l.FS.List(dir)
	if dir == l.dir {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(l.hide, name) })
	}
	return names, err
}

// Unwrap implements vfs.FS.
func (l *listing) Unwrap() vfs.FS { return l.FS }
