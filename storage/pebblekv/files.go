package pebblekv

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// engineFiles is the file system that Pebble gets. It handles failures of the disk, of which Pebble would survive
// only some: no table is created during a pause after a failure. On a full disk compactions fail, and other
// writes wait for space, except while the store is being opened. If a log cannot be written for another reason, or
// the folder cannot be synced, the process ends, because Pebble would panic in some of these places.
//
// Pebble makes a new manifest the current one by creating a marker file with its name. Both files are new entries
// of the folder, and after a power cut the disk may have the marker and not the manifest. So the folder is synced
// before a marker is created.
type engineFiles struct {
	checkedFiles
	t *failureHandler
}

// checkedFiles is a file system that reads tables through filescan.CheckReads, which detects damage that Pebble
// overlooks.
type checkedFiles struct {
	vfs.FS
	damaged *atomic.Bool // set when a table is damaged
}

// Open implements vfs.FS.
func (f checkedFiles) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.Open(name, o...)
	if err != nil || filepath.Ext(name) != ".sst" {
		return file, err
	}
	return filescan.CheckReads(file, f.damaged), nil
}

// Unwrap implements vfs.FS.
func (f checkedFiles) Unwrap() vfs.FS { return f.FS }

// flushCategory is the write category with which Pebble creates tables of a flush; compactions create all other
// tables.
const flushCategory = "pebble-memtable-flush"

// Create implements vfs.FS.
func (f engineFiles) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if filepath.Ext(name) == ".sst" {
		return f.table(name, c)
	}
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		f.t.exitOnError("the folder of the store cannot be synced", syncFolder(f.FS, f.PathDir(name)))
	}
	return f.log(name, func() (vfs.File, error) { return f.FS.Create(name, c) })
}

// table creates the file of a table. It waits for the end of a pause after a failure, and for a flush until there
// is disk space. For a compaction without enough space it returns errNoSpace.
func (f engineFiles) table(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	for f.t.pause.on() {
		time.Sleep(failurePause)
	}
	room, flush := f.t.diskSpace, c == flushCategory
	if flush && !f.t.opening.Load() {
		room.waitForSpace(min(room.memtable, flushSpace) + listChunk)
	} else if !flush {
		if err := room.checkCompaction(); err != nil {
			return nil, err
		}
	}
	file, err := f.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &tableFile{file, f.t, flush}, nil
}

// ReuseForWrite implements vfs.FS. If the old log that Pebble wants to reuse was deleted to free space, it creates
// a new file.
func (f engineFiles) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.log(to, func() (vfs.File, error) {
		file, err := f.FS.ReuseForWrite(from, to, c)
		if errors.Is(err, fs.ErrNotExist) {
			return f.FS.Create(to, c)
		}
		return file, err
	})
}

// log calls make to create a file that is not a table. A failure to create, write or sync a log ends the process;
// while the store is being opened, so does one for any such file, because Pebble already works in the background
// and would crash in an open that fails. Later, creation and writes wait until the disk has space.
func (f engineFiles) log(name string, make func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	create := func() (err error) {
		file, err = make()
		return err
	}
	opening, isLog := f.t.opening.Load(), filepath.Ext(name) == ".log"
	err := create()
	if err != nil && !opening {
		err = f.t.diskSpace.retryWhileFull(create)
	}
	what := "the log of writes"
	if !isLog {
		if !opening {
			return f.listed(file), err
		}
		what = "the file " + f.PathBase(name)
	}
	if err != nil {
		f.t.exitOnError(what+" cannot be made", err)
		if err = create(); err != nil { // only if Exit returned
			return nil, err
		}
	}
	keep := int64(listChunk)
	if isLog {
		keep = f.t.logBytes
	}
	return &logFile{File: file, t: f.t, what: what, chunk: keep}, nil
}

// listed wraps the manifest and other small files, so that space is allocated ahead of their writes; it returns
// nil for nil. Pebble handles errors other than a full disk.
func (f engineFiles) listed(file vfs.File) vfs.File {
	if file == nil {
		return nil
	}
	return &logFile{File: file, t: f.t, chunk: listChunk}
}

// Rename implements vfs.FS.
func (f engineFiles) Rename(from, to string) error {
	rename := func() error { return f.FS.Rename(from, to) }
	if !f.t.opening.Load() {
		return f.t.diskSpace.retryWhileFull(rename)
	}
	f.t.exitOnError("the file "+f.PathBase(to)+" cannot be made", rename())
	return nil
}

// OpenDir implements vfs.FS.
func (f engineFiles) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return folderFile{file, f.t}, nil
}

// exitOnError ends the process if err is not nil, with the message what. If Exit returns, as in tests, the caller
// continues as if there were no error.
func (t *failureHandler) exitOnError(what string, err error) {
	if err != nil {
		t.log.Fatalf("%s: %v", what, err)
	}
}

// folderFile is the open folder of the store, which Pebble syncs. A failed sync ends the process.
type folderFile struct {
	vfs.File
	t *failureHandler
}

// Sync implements vfs.File.
func (f folderFile) Sync() error {
	f.t.exitOnError("the folder of the store cannot be synced", f.File.Sync())
	return nil
}

// syncFolder syncs a folder, so that files created or renamed in it survive a power cut.
func syncFolder(files vfs.FS, dir string) error {
	d, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// flushSpace is the disk space in bytes for one table that must be free before a flush creates it; for smaller
// memtables it is the size of a memtable.
const flushSpace = 4 << 20

// listChunk is the number of bytes of disk space that are allocated at a time for the manifest, ahead of its
// writes.
const listChunk = 64 << 10

// tableFile is a table that a flush or a compaction is writing. On a full disk a flush waits, a compaction is
// aborted.
type tableFile struct {
	vfs.File
	t     *failureHandler
	flush bool
}

// Write implements vfs.File.
func (f *tableFile) Write(p []byte) (n int, err error) {
	room := f.t.diskSpace
	room.addWritten(len(p))
	if !f.flush {
		if err := room.checkCompaction(); err != nil {
			return 0, err
		}
		return f.File.Write(p)
	}
	if n, err = f.File.Write(p); err == nil || f.t.opening.Load() {
		return n, err
	}
	return continueWrite(room, f.File, p, n, err)
}

// continueWrite continues a write that failed after n of its bytes, once the disk has space, and returns the total
// number of bytes written. If err is not that of a full disk, it returns err.
func continueWrite(r *diskSpace, file vfs.File, p []byte, n int, err error) (int, error) {
	first := true
	err = r.retryWhileFull(func() error {
		if first {
			first = false
			return err
		}
		more, err := file.Write(p[n:])
		n += more
		return err
	})
	return n, err
}

// logFile is any file that Pebble writes except tables, such as a write-ahead log or the manifest. Disk space is
// allocated ahead of its writes, so that they seldom meet a full disk.
type logFile struct {
	vfs.File
	t         *failureHandler
	what      string // the name of the file in messages; "" if Pebble handles errors
	chunk     int64  // bytes of disk space that are allocated at a time
	at        int64  // offset of the next write
	allocated int64
}

// mustSucceed ends the process if an operation failed on a log, or on a file created while the store was opened,
// because Pebble cannot continue without them. For other files it returns err.
func (l *logFile) mustSucceed(done string, err error) error {
	if l.what == "" {
		return err
	}
	l.t.exitOnError(l.what+" cannot be "+done, err)
	return nil
}

// Preallocate implements vfs.File. It does nothing, because Write allocates space.
func (l *logFile) Preallocate(int64, int64) error { return nil }

// Write implements vfs.File. If the disk is full it waits, except while the store is being opened.
func (l *logFile) Write(p []byte) (n int, err error) {
	if end := l.at + int64(len(p)); end > l.allocated && l.t.diskSpace.measured.Load() {
		more := (end - l.allocated + l.chunk - 1) / l.chunk * l.chunk
		if storage.IsDiskFull(l.File.Preallocate(l.allocated, more)) && l.t.diskSpace.releaseBallastIfLow(more) {
			_ = l.File.Preallocate(l.allocated, more)
		}
		l.allocated += more
	}
	l.t.diskSpace.addWritten(len(p))
	if n, err = l.File.Write(p); err != nil && !l.t.opening.Load() {
		n, err = continueWrite(l.t.diskSpace, l.File, p, n, err)
	}
	l.at += int64(n)
	if err = l.mustSucceed("written", err); err == nil {
		n = len(p)
	}
	return n, err
}

// Sync implements vfs.File.
func (l *logFile) Sync() error { return l.mustSucceed("synced", l.File.Sync()) }

// SyncData implements vfs.File.
func (l *logFile) SyncData() error { return l.mustSucceed("synced", l.File.SyncData()) }

// SyncTo implements vfs.File.
func (l *logFile) SyncTo(length int64) (bool, error) {
	full, err := l.File.SyncTo(length)
	return full, l.mustSucceed("synced", err)
}

// Close implements vfs.File.
func (l *logFile) Close() error { return l.mustSucceed("closed", l.File.Close()) }
