package pebblekv

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/wreck"
)

// damages is what is known to be damaged in an open store.
type damages struct {
	mu    sync.Mutex
	files map[string][]storage.Damage // by the name of the table

	starts sync.Mutex // guards closed, and Go against Wait
	closed bool
	busy   sync.WaitGroup
}

// found starts the examination of a table that failed a checksum. Reads and compactions call
// it. It must not wait: the engine may hold locks. After close it starts none, since compactions
// run on until the engine is closed.
func (s *store) found(info pebble.DataCorruptionInfo) {
	s.damaged.Store(true)
	d := &s.damages
	d.starts.Lock()
	defer d.starts.Unlock()
	if !d.closed {
		d.busy.Go(func() { s.examine(info) })
	}
}

// close waits until no table is examined.
func (d *damages) close() {
	d.starts.Lock()
	d.closed = true
	d.starts.Unlock()
	d.busy.Wait()
}

// examine finds out, once for each table, which of its keys are lost, and tells.
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
	if f, err := wreck.Survey(s.o.FS, s.dir); err == nil && f.ListTables() == nil {
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

// damageOf makes the error of a reader who has met a damage.
func (s *store) damageOf(err error) error {
	info := pebble.ExtractDataCorruptionInfo(err)
	if info == nil {
		return err
	}
	s.damaged.Store(true)
	list := s.examine(*info)
	return &storage.DamagedError{Damages: list}
}

// translate gives Pebble's errors the seam's names.
func (s *store) translate(err error) error {
	if err != nil && pebble.IsCorruptionError(err) {
		return s.damageOf(translate(err))
	}
	return translate(err)
}

// openEngine opens Pebble; what makes it panic is an error. It returns where the logs that are
// kept ended, 0 if none are. Errors: DamagedError.
func (s *store) openEngine(po *pebble.Options, t *troubles) (end uint64, err error) {
	folder, err := s.survey(po)
	if err != nil {
		return 0, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = s.whyNot(folder, errors.New("the files of the store make no sense"))
		}
	}()
	if !s.o.ReadOnly && !s.o.InMemory {
		s.kept.FS = po.FS
		po.FS = s.kept
		if s.kept.on.Load() {
			if end, err = s.endOfLogs(); err != nil {
				return 0, translate(err)
			}
		}
	}
	if !s.o.ReadOnly && !s.o.InMemory {
		if err := s.roomToOpen(folder.Unflushed()); err != nil {
			return 0, err
		}
	}
	po.FS, s.watch = watchFiles(po.FS, s.o)
	po.FS = engineFiles{judgedFiles{po.FS, &s.damaged}, t}
	if s.db, err = pebble.Open(s.dir, po); err != nil {
		return 0, s.whyNot(folder, translate(err))
	}
	return end, nil
}

// survey looks at the files before Pebble does, which takes some damages for the end of a
// file, and sets the file system that it is to see.
// Errors: DamagedError, unless what is left can be served and is to be.
func (s *store) survey(po *pebble.Options) (*wreck.Folder, error) {
	if s.o.InMemory {
		return nil, nil
	}
	f, err := wreck.Survey(s.o.FS, s.dir)
	if err != nil {
		return nil, translate(err)
	}
	for _, name := range f.Options() {
		logger{s.o}.Errorf("the file %s of the store is damaged; it holds settings of the engine and no data, so a new one is written", name)
	}
	if !s.o.ReadOnly {
		if len(f.Damages) > 0 {
			return f, s.whyNot(f, storage.ErrCorruption)
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

// whyNot says which files are why the store cannot be opened, or err if none is.
func (s *store) whyNot(f *wreck.Folder, err error) error {
	if f == nil {
		return err
	}
	if listErr := f.ListTables(); listErr == nil && len(f.Damages) > 0 {
		return &storage.DamagedError{Damages: f.Damages}
	}
	return err
}
