package pebblekv

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// damages holds the damaged tables that were found in an open store, each with its lost keys.
type damages struct {
	mu    sync.Mutex
	files map[string][]storage.Damage // by the file name of the table

	startMu   sync.Mutex // guards closed, and orders examining.Go before examining.Wait
	closed    bool
	examining sync.WaitGroup
}

// onCorruption lets the store refuse commits that are not Essential, and starts the examination of a table that
// failed a checksum, in the background. Pebble calls it in reads and compactions, perhaps while it holds locks: so
// it must not wait. After damages.close it starts none, because compactions run on until Pebble is closed.
func (s *store) onCorruption(info pebble.DataCorruptionInfo) {
	s.damaged.Store(true)
	d := &s.damages
	d.startMu.Lock()
	defer d.startMu.Unlock()
	if !d.closed {
		d.examining.Go(func() { s.examine(info) })
	}
}

// close waits until no table is being examined, and prevents new examinations.
func (d *damages) close() {
	d.startMu.Lock()
	d.closed = true
	d.startMu.Unlock()
	d.examining.Wait()
}

// examine finds which keys of a damaged table are lost, calls Options.Damaged with them, and returns them. For a
// table that was examined before, it only returns the earlier result.
func (s *store) examine(info pebble.DataCorruptionInfo) []storage.Damage {
	d := &s.damages
	d.mu.Lock()
	defer d.mu.Unlock()
	name := filepath.Base(info.Path)
	if list, ok := d.files[name]; ok {
		return list
	}
	whole := storage.Damage{File: name, Kind: storage.DamagedTable, What: "it fails its checksum", Entries: -1,
		Keys: storage.Range{Start: info.Bounds.Start, End: append(append([]byte(nil), info.Bounds.End.Key...), 0)}}
	list := []storage.Damage{whole}
	if f, err := filescan.ReadFolder(s.o.FS, s.dir); err == nil && f.ListTables() == nil {
		if more, ok := f.VerifyTable(name); ok && len(more) > 0 {
			list = more
		}
	}
	if d.files == nil {
		d.files = map[string][]storage.Damage{}
	}
	d.files[name] = list
	if s.o.Damaged != nil {
		s.o.Damaged(list)
	}
	return list
}

// damageOf returns a DamagedError with the lost keys if err reports a damaged table; from then on commits that are
// not Essential are refused. It returns other errors unchanged.
func (s *store) damageOf(err error) error {
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return err
	}
	s.damaged.Store(true)
	list := s.examine(*info)
	return &storage.DamagedError{Damages: list}
}

// translate wraps Pebble's errors in the errors of package storage. If a table is damaged, it examines the table
// first.
func (s *store) translate(err error) error {
	if err != nil && pebble.IsCorruptionError(err) {
		return s.damageOf(translate(err))
	}
	return translate(err)
}

// openEngine checks the files, opens Pebble, and turns its panics into errors. It returns the sequence number at which
// the write-ahead logs ended, 0 if none are kept for a backup. Errors: DamagedError, DiskFullError, errors of the file
// system and of Pebble.
func (s *store) openEngine(po *pebble.Options, t *failureHandler) (end uint64, err error) {
	folder, err := s.checkFiles(po)
	if err != nil {
		return 0, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = s.openError(folder, errors.New("the files of the store make no sense"))
		}
	}()
	if !s.o.ReadOnly && !s.o.InMemory {
		s.retained.FS = po.FS
		po.FS = s.retained
		if s.retained.active.Load() {
			if end, err = s.endOfLogs(); err != nil {
				return 0, translate(err)
			}
		}
	}
	if !s.o.ReadOnly && !s.o.InMemory {
		if err := s.checkSpaceToOpen(folder.Unflushed()); err != nil {
			return 0, err
		}
	}
	po.FS, s.watch = watchFiles(po.FS, s.o)
	po.FS = engineFiles{checkedFiles{po.FS, &s.damaged}, t}
	if s.db, err = pebble.Open(s.dir, po); err != nil {
		return 0, s.openError(folder, translate(err))
	}
	return end, nil
}

// checkFiles checks the files of the store before Pebble opens them, because Pebble takes some damages for the end of a
// file. It sets the file system in po. Errors: DamagedError, unless the store is ReadOnly and its undamaged part can be
// read; errors of the file system.
func (s *store) checkFiles(po *pebble.Options) (*filescan.Folder, error) {
	if s.o.InMemory {
		return nil, nil
	}
	f, err := filescan.ReadFolder(s.o.FS, s.dir)
	if err != nil {
		return nil, translate(err)
	}
	for _, name := range f.Options() {
		logger{s.o}.Errorf("the file %s of the store is damaged; it holds settings of the engine and no data, so a new one is written", name)
	}
	if !s.o.ReadOnly {
		if len(f.Damages) > 0 {
			return f, s.openError(f, storage.ErrCorruption)
		}
		if err := f.Clear(); err != nil {
			return nil, translate(err)
		}
		po.FS = f.Writable()
		return f, nil
	}
	if err := f.ListTables(); err != nil {
		return f, err
	}
	if !f.Listed() {
		return f, &storage.DamagedError{Damages: f.Damages}
	}
	if len(f.Damages) > 0 && s.o.Damaged != nil {
		s.o.Damaged(f.Damages)
	}
	po.FS, po.ReadOnly, po.DisableConsistencyCheck = f.Readable(), true, true
	return f, nil
}

// openError returns a DamagedError with the damages that prevent the store from being opened, or err if it finds
// none.
func (s *store) openError(f *filescan.Folder, err error) error {
	if f == nil {
		return err
	}
	if listErr := f.ListTables(); listErr == nil && len(f.Damages) > 0 {
		return &storage.DamagedError{Damages: f.Damages}
	}
	return err
}
