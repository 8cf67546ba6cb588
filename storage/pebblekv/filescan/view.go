package filescan

import (
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// view is a file system that refuses changes of a folder, hides some of its files, and
// shows only the first bytes of others.
type view struct {
	vfs.FS
	dir  string
	hide func(name string) bool
	cut  map[string]int64 // lengths, by name
}

// errReadOnly is the error of operations that would change the folder.
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

// MkdirAll implements vfs.FS: the folder exists.
func (v *view) MkdirAll(string, os.FileMode) error { return nil }

// Lock implements vfs.FS: the caller already has the folder's lock, or no other process
// can have it.
func (v *view) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (v *view) Unwrap() vfs.FS { return v.FS }

// readFile is a file that refuses writes.
type readFile struct{ vfs.File }

func (readFile) Write([]byte) (int, error)          { return 0, errReadOnly }
func (readFile) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }

// cutFile shows the first size bytes of a file.
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

// Writable returns the file system for opening the store, without the unreadable files of
// options.
func (f *Folder) Writable() vfs.FS {
	if len(f.options) == 0 {
		return f.fs
	}
	return &listing{f.fs, f.dir, f.options}
}

// Readable returns the file system for reading the undamaged part of the store: it
// refuses changes, and the logs end before their first damage.
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

// listing is a file system that hides some files of a folder.
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
