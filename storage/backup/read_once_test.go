package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// counted counts the bytes read from each file.
type counted struct {
	vfs.FS
	mu   sync.Mutex
	read map[string]int64
}

// Open implements vfs.FS.
func (c *counted) Open(path string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(path, o...)
	return &countedFile{f, c, filepath.Base(path)}, err
}

func (c *counted) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read[name] += int64(n)
}

type countedFile struct {
	vfs.File
	c    *counted
	name string
}

// Read implements vfs.File.
func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.c.add(f.name, n)
	return n, err
}

// ReadAt implements vfs.File.
func (f *countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	f.c.add(f.name, n)
	return n, err
}

// TestTablesAreReadOnce checks that a backup reads each byte of a table only once, although it copies and checks
// it.
func TestTablesAreReadOnce(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	for i := range 20 {
		if err := bulk(w, i); err != nil {
			t.Fatal(err)
		}
	}
	files := &counted{FS: filescan.Disk, read: map[string]int64{}}
	b, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, f := range b.Files {
		if !f.Table {
			continue
		}
		tables++
		if n := files.read[f.Name]; n != f.Size {
			t.Errorf("of %s, which has %d bytes, %d were read", f.Name, f.Size, n)
		}
	}
	if tables == 0 {
		t.Error("there are no tables")
	}
}

// TestDamagedTableIsNoCopy checks that a backup fails if a table is damaged on the disk, and leaves the earlier
// copies unchanged.
func TestDamagedTableIsNoCopy(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	o := Options{Program: "test", Now: time.Now}
	w.write(50)
	if _, err := Take(ctx, w.src(), InFolder(dir), o); err != nil {
		t.Fatal(err)
	}
	w.write(20)
	if _, err := Ship(ctx, w.src(), InFolder(dir)); err != nil {
		t.Fatal(err)
	}
	kept := w.times[len(w.times)-1]
	for i := range 10 {
		if err := bulk(w, i); err != nil {
			t.Fatal(err)
		}
	}
	w.reopen() // so that all data are in tables
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	hurt := hurtNewTable(t, w.data, f.Timelines[0].newest())
	_, err = Take(ctx, w.src(), InFolder(dir), o)
	var damaged *storage.DamagedError
	if !errors.As(err, &damaged) || damaged.Damages[0].File != hurt {
		t.Fatalf("%s is damaged, and the backup: %v", hurt, err)
	}
	if copies, _ := filepath.Glob(filepath.Join(dir, "*", tablesName, hurt)); len(copies) > 0 {
		t.Errorf("the damaged table is a copy: %v", copies)
	}
	if f, err = Open(t.Context(), InFolder(dir)); err != nil || len(f.Timelines[0].Bases) != 1 {
		t.Fatalf("the bases: %v, %v", f.Timelines[0].Bases, err)
	}
	if got := restored(t, dir, kept, false); len(got) != len(w.state(kept)) {
		t.Errorf("the backup before has %d keys, not %d", len(got), len(w.state(kept)))
	}
}

// hurtNewTable flips a bit in the data of a table of the store that the base b does not have, and returns the
// table's name.
func hurtNewTable(t *testing.T, data string, b *Base) (name string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(data, "*.sst"))
	for _, path := range paths {
		name = filepath.Base(path)
		if strings.Contains(strings.Join(names(b), " "), name) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) < 10_000 {
			continue
		}
		t.Cleanup(func() { _ = os.WriteFile(path, text, 0o600) }) // repaired at the end, because Pebble may retry as long as it cannot read the table
		flipped := bytes.Clone(text)
		flipped[len(text)/2] ^= 4 // in the data, not in the index, without which Pebble would stop
		if err := os.WriteFile(path, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	t.Fatal("there is no new table")
	return ""
}

func names(b *Base) (list []string) {
	for _, f := range b.Files {
		list = append(list, f.Name)
	}
	return list
}

// TestPace checks that copying keeps its rate from step to step, and that of a long delay at most one step is caught up
// later.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(copyStep)
		defer p.stop()
		begun := time.Now()
		step := func(n int64, want time.Duration) {
			t.Helper()
			if err := p.wait(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took != want {
				t.Errorf("after %v, not %v", took, want)
			}
		}
		step(copyStep/2, 0)
		step(copyStep/2, time.Second)
		step(2*copyStep, 3*time.Second)
		time.Sleep(300 * time.Millisecond)
		step(copyStep, 4*time.Second)
		time.Sleep(5500 * time.Millisecond)
		step(3*copyStep, 11*time.Second) // one tick was already there
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.wait(ctx, 1<<40); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
	})
}
