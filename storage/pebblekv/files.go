package pebblekv

import (
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage/pebblekv/wreck"
)

// engineFiles are the files as Pebble sees them: tables are not made during the pause, and
// when a log cannot be written, or the folder not synced, the process ends, as Pebble would
// panic in some places.
//
// A marker file names another file (the manifest) and makes it count. Both are new entries
// of the folder, and a disk that loses its power may keep the marker and lose what it names;
// so the folder is synced in between.
type engineFiles struct {
	judgedFiles
	t *troubles
}

// judgedFiles are files of which Pebble reads tables as wreck.Judged says.
type judgedFiles struct {
	vfs.FS
	damaged *atomic.Bool // a table is
}

// Open implements vfs.FS.
func (f judgedFiles) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil || filepath.Ext(name) != ".sst" {
		return file, err
	}
	return wreck.Judged(file, f.damaged), nil
}

// Unwrap implements vfs.FS.
func (f judgedFiles) Unwrap() vfs.FS { return f.FS }

// Create implements vfs.FS.
func (f engineFiles) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	for filepath.Ext(name) == ".sst" && f.t.pause.on() {
		time.Sleep(troublePause)
	}
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		f.t.must("the folder of the store cannot be synced", syncFolder(f.FS, f.PathDir(name)))
	}
	return f.log(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

// ReuseForWrite implements vfs.FS.
func (f engineFiles) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.log(to, func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, c) })
}

// log makes a file, and watches it if it is a log. While the store is being opened all
// files are watched that are not tables, of which failures are told: by then Pebble works in
// the background already, and would trip over an opening that fails.
func (f engineFiles) log(name string, create func() (vfs.File, error)) (vfs.File, error) {
	file, err := create()
	what := "the log of writes"
	switch filepath.Ext(name) {
	case ".log":
	case ".sst":
		return file, err
	default:
		if !f.t.opening.Load() {
			return file, err
		}
		what = "the file " + f.PathBase(name)
	}
	if err != nil {
		f.t.must(what+" cannot be made", err)
		if file, err = create(); err != nil { // after Exit
			return nil, err
		}
	}
	return logFile{file, f.t, what}, nil
}

// Rename implements vfs.FS.
func (f engineFiles) Rename(from, to string) error {
	err := f.FS.Rename(from, to)
	if f.t.opening.Load() {
		f.t.must("the file "+f.PathBase(to)+" cannot be made", err)
		return nil
	}
	return err
}

// OpenDir implements vfs.FS.
func (f engineFiles) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return folderFile{file, f.t}, nil
}

// must ends the process on an error. Should Exit return, nothing must trip over the store.
func (t *troubles) must(what string, err error) {
	if err != nil {
		t.log.Fatalf("%s: %v", what, err)
	}
}

// folderFile is the folder, whose entries Pebble has to have synced.
type folderFile struct {
	vfs.File
	t *troubles
}

// Sync implements vfs.File.
func (f folderFile) Sync() error {
	f.t.must("the folder of the store cannot be synced", f.File.Sync())
	return nil
}

// syncFolder makes the entries of a folder durable.
func syncFolder(files vfs.FS, dir string) error {
	d, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// logFile is a file of the write-ahead log, or one that is made while the store is opened.
type logFile struct {
	vfs.File
	t    *troubles
	what string
}

// needs ends the process if something could not be done.
func (l logFile) needs(done string, err error) error {
	l.t.must(l.what+" cannot be "+done, err)
	return nil
}

// Write implements vfs.File.
func (l logFile) Write(p []byte) (int, error) {
	_, err := l.File.Write(p)
	return len(p), l.needs("written", err)
}

// Sync implements vfs.File.
func (l logFile) Sync() error { return l.needs("synced", l.File.Sync()) }

// SyncData implements vfs.File.
func (l logFile) SyncData() error { return l.needs("synced", l.File.SyncData()) }

// SyncTo implements vfs.File.
func (l logFile) SyncTo(length int64) (bool, error) {
	full, err := l.File.SyncTo(length)
	return full, l.needs("synced", err)
}

// Close implements vfs.File.
func (l logFile) Close() error { return l.needs("closed", l.File.Close()) }
