package pebblekv

import (
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// engineFiles are the files as Pebble sees them: tables are not made during the pause, and
// when a log cannot be written the process ends, as Pebble would panic in some places.
type engineFiles struct {
	vfs.FS
	t *troubles
}

// Create implements vfs.FS.
func (f engineFiles) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	for filepath.Ext(name) == ".sst" && f.t.pause.on() {
		time.Sleep(troublePause)
	}
	file, err := f.FS.Create(name, c)
	return f.log(name, file, err)
}

// ReuseForWrite implements vfs.FS.
func (f engineFiles) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, c)
	return f.log(to, file, err)
}

// log watches a file that was just made if it is a log.
func (f engineFiles) log(name string, file vfs.File, err error) (vfs.File, error) {
	if filepath.Ext(name) != ".log" || f.t.opening.Load() && err != nil {
		return file, err
	}
	l := logFile{file, f.t}
	return l, l.needs("made", err)
}

// logFile is a file of the write-ahead log.
type logFile struct {
	vfs.File
	t *troubles
}

// needs ends the process if something could not be done.
func (l logFile) needs(done string, err error) error {
	if err != nil {
		l.t.log.Fatalf("the log of writes cannot be %s: %v", done, err)
	}
	return err
}

// Write implements vfs.File.
func (l logFile) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	return n, l.needs("written", err)
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
