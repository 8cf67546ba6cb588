package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// smallFS is a file system in memory with a limited size, which stands for a full disk.
type smallFS struct {
	vfs.FS
	size int64

	mu    sync.Mutex
	taken map[string]int64 // by this file system's files
	other int64            // by other programs
}

func newSmallFS(size int64) *smallFS {
	return &smallFS{FS: vfs.NewMem(), size: size, taken: map[string]int64{}}
}

func (f *smallFS) free() int64 {
	free := f.size - f.other
	for _, n := range f.taken {
		free -= n
	}
	return free
}

// take extends the file name to a length, if the file system has space for it.
func (f *smallFS) take(name string, length int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	more := length - f.taken[name]
	if more <= 0 {
		return nil
	}
	if more > f.free() {
		return syscall.ENOSPC
	}
	f.taken[name] = length
	return nil
}

// stranger simulates another program, which uses all free space but left bytes, or none if left is negative.
func (f *smallFS) stranger(left int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.other = 0; left >= 0 {
		f.other = max(f.free()-left, 0)
	}
}

// grow makes the file system larger by n bytes.
func (f *smallFS) grow(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size += n
}

func (f *smallFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return vfs.DiskUsage{AvailBytes: uint64(max(f.free(), 0)), TotalBytes: uint64(f.size)}, nil
}

func (f *smallFS) opened(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &smallFile{File: file, fs: f, name: name}, nil
}

func (f *smallFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.opened(name, file, err)
}

func (f *smallFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, c, o...)
	return f.opened(name, file, err)
}

func (f *smallFS) move(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken[to] = f.taken[from]
	delete(f.taken, from)
}

func (f *smallFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(from, to, c)
	if err == nil {
		f.move(from, to)
	}
	return f.opened(to, file, err)
}

func (f *smallFS) Rename(from, to string) error {
	err := f.FS.Rename(from, to)
	if err == nil {
		f.move(from, to)
	}
	return err
}

func (f *smallFS) Remove(name string) error {
	err := f.FS.Remove(name)
	if err == nil {
		f.mu.Lock()
		delete(f.taken, name)
		f.mu.Unlock()
	}
	return err
}

type smallFile struct {
	vfs.File
	fs   *smallFS
	name string
	at   int64
}

func (f *smallFile) Write(p []byte) (int, error) {
	if err := f.fs.take(f.name, f.at+int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	f.at += int64(n)
	return n, err
}

func (f *smallFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fs.take(f.name, at+int64(len(p))); err != nil {
		return 0, err
	}
	return len(p), nil // only the ballast is written by WriteAt, and its content does not matter
}

func (f *smallFile) Preallocate(offset, length int64) error {
	return f.fs.take(f.name, offset+length)
}

// small is a store on a small disk.
type small struct {
	*testing.T
	fs    *smallFS
	store *store
	held  map[string]bool
	ended string
}

func openSmall(t *testing.T, size int64) *small {
	m := &small{T: t, fs: newSmallFS(size), held: map[string]bool{}}
	m.open()
	return m
}

func (m *small) open() {
	m.Helper()
	st, err := Open("db", Options{FS: m.fs, CacheBytes: 1 << 20, Fatal: func(text string) { m.ended = text }, Exit: func(int) {}})
	if err != nil {
		m.Fatal(err)
	}
	m.store = st.(*store)
}

const smallValue = 64 << 10

// add adds keys until one is refused.
func (m *small) add() (added int) {
	m.Helper()
	value := make([]byte, smallValue)
	chacha := rand.NewChaCha8([32]byte{})
	for {
		_, _ = chacha.Read(value)
		key := fmt.Sprintf("r%06d", len(m.held))
		switch _, err := put(m.store, key, string(value), storage.TxnOptions{}); {
		case errors.Is(err, storage.ErrDiskFull):
			return added
		case err != nil:
			m.Fatal(err)
		}
		m.held[key] = true
		added++
	}
}

// fill adds keys until the store refuses them even after a flush.
func (m *small) fill() {
	m.Helper()
	for m.add() > 0 {
		if err := m.store.db.Flush(); err != nil {
			m.Fatal(err)
		}
		m.store.updateSpace()
	}
}

// until waits for a condition.
func (m *small) until(what string, is func() bool) {
	m.Helper()
	for begun := time.Now(); !is(); <-time.After(10 * time.Millisecond) {
		if m.store.updateSpace(); time.Since(begun) > time.Minute {
			m.Fatalf("not within a minute: %s; %d KB are free", what, m.fs.free()>>10)
		}
	}
}

// end closes the store, opens it again, and checks that all added keys are there.
func (m *small) end() {
	m.Helper()
	mustClose(m.T, m.store)
	m.open()
	defer mustClose(m.T, m.store)
	for key := range m.held {
		if _, err := get(m.store, key); err != nil {
			m.Errorf("%s: %v", key, err)
		}
	}
	if m.ended != "" {
		m.Errorf("the process would have ended: %s", m.ended)
	}
}

func get(s *store, key string) ([]byte, error) {
	r, err := s.Snapshot(context.Background(), 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Get(context.Background(), []byte(key), nil)
}

// TestReserveIsKept fills a disk with writes until they are refused. When everything is flushed then, the reserve
// is free and the ballast exists.
func TestReserveIsKept(t *testing.T) {
	m := openSmall(t, 64<<20)
	m.fill()
	metrics := m.store.Metrics()
	if free := uint64(m.fs.free()); free < metrics.DiskReserve || metrics.DiskBallast < 2<<20 || !m.store.DiskFull() {
		t.Errorf("%d KB are free, the reserve is %d, the ballast %d", free>>10, metrics.DiskReserve>>10, metrics.DiskBallast>>10)
	}
	m.end()
}

// TestLargeCommit commits more bytes than there is space for, on a disk that still accepts small commits. The
// commit is refused before it begins, so that earlier commits can be flushed.
func TestLargeCommit(t *testing.T) {
	m := openSmall(t, 64<<20)
	m.fill()
	for m.store.DiskFull() {
		m.fs.grow(smallValue)
		m.store.updateSpace()
	}
	large := make(chan error, 1)
	go func() { large <- m.commit(180) }()
	var err error
	m.until("an answer to the large commit", func() bool {
		select {
		case err = <-large:
			return true
		default:
			return m.store.diskSpace.isBlocked()
		}
	})
	if !errors.Is(err, storage.ErrDiskFull) {
		t.Errorf("the large commit: %v; %d KB are free", err, m.fs.free()>>10)
		m.fs.grow(64 << 20)
	}
	m.end()
}

// commit writes so many keys in one transaction.
func (m *small) commit(keys int) error {
	txn, err := m.store.Begin(m.Context(), storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer txn.Close()
	value := make([]byte, smallValue)
	chacha := rand.NewChaCha8([32]byte{byte(len(m.held))})
	for i := range keys {
		_, _ = chacha.Read(value)
		if err := txn.Set(fmt.Appendf(nil, "r%06d", len(m.held)+i), bytes.Clone(value)); err != nil {
			return err
		}
	}
	if _, err := txn.Commit(m.Context(), storage.Buffered); err != nil {
		return err
	}
	for range keys {
		m.held[fmt.Sprintf("r%06d", len(m.held))] = true
	}
	return nil
}

// TestDeletesMakeRoom deletes half of the keys on a full disk: the ballast is deleted if necessary and created
// again, and then writes are accepted.
func TestDeletesMakeRoom(t *testing.T) {
	m := openSmall(t, 64<<20)
	m.fill()
	for i := range len(m.held) / 2 {
		key := fmt.Sprintf("r%06d", 2*i)
		m.until("a delete", func() bool {
			_, err := put(m.store, key, "", storage.TxnOptions{})
			return err == nil
		})
		delete(m.held, key)
	}
	m.until("room", func() bool { return !m.store.DiskFull() })
	m.until("the ballast", func() bool { return m.store.diskSpace.ballast.bytes() > 0 })
	m.end()
}

// TestNoRoomAtAll takes away all free space after some writes: writes and compactions are refused, and reads go
// on. Once there is space again, writes are accepted, and all keys are there after a restart.
func TestNoRoomAtAll(t *testing.T) {
	m := openSmall(t, 64<<20)
	for range 100 {
		key := fmt.Sprintf("r%06d", len(m.held))
		mustPut(t, m.store, key, strings.Repeat("v", smallValue))
		m.held[key] = true
	}
	m.fs.stranger(0)
	m.store.updateSpace()
	if _, err := put(m.store, "r999999", "x", storage.TxnOptions{}); !errors.Is(err, storage.ErrDiskFull) {
		t.Errorf("a write without room: %v", err)
	}
	if _, err := get(m.store, "r000001"); err != nil {
		t.Errorf("a read without room: %v", err)
	}
	if _, err := m.store.Compact(t.Context(), storage.Range{Start: []byte("r"), End: []byte("s")}, nil); !errors.Is(err, storage.ErrDiskFull) {
		t.Errorf("a compaction without room: %v", err)
	}
	m.fs.stranger(-1)
	m.until("a write", func() bool {
		_, err := put(m.store, "r999999", "x", storage.TxnOptions{})
		return err == nil
	})
	m.held["r999999"] = true
	m.end()
}

// TestOpenWithoutRoom opens a store on a full disk: the error has the number of needed bytes. The store can be
// opened for reading, and then refuses writes because of the full disk.
func TestOpenWithoutRoom(t *testing.T) {
	m := openSmall(t, 64<<20)
	mustPut(t, m.store, "r1", "v")
	mustClose(t, m.store)
	m.fs.stranger(1 << 10)
	o := Options{FS: m.fs, CacheBytes: 1 << 20}
	_, err := Open("db", o)
	var none *storage.DiskFullError
	if !errors.As(err, &none) || none.Need == 0 || !errors.Is(err, storage.ErrDiskFull) {
		t.Fatalf("opened without room: %v", err)
	}
	o.ReadOnly, o.DiskFull = true, true
	st := mustOpen(t, "db", o)
	if _, err := get(st.(*store), "r1"); err != nil {
		t.Error(err)
	}
	if _, err := put(st.(*store), "r2", "v", storage.TxnOptions{}); !errors.Is(err, storage.ErrDiskFull) {
		t.Errorf("a write: %v", err)
	}
	mustClose(t, st)
	m.fs.stranger(-1)
	m.held["r1"] = true
	m.open()
	m.end()
}
