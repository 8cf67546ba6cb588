package filescan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// ListTables finds the tables of the store: those that the manifest lists or, if the manifest is damaged, all in
// the folder. It adds a damage for each table that is missing, unreadable or of the wrong size. Errors: errors of
// the file system.
func (f *Folder) ListTables() error {
	if f.tables != nil || f.neverWritten {
		return nil
	}
	if !f.hasDamage(storage.DamagedManifest) {
		f.listed = true
		f.tables = slices.SortedFunc(maps.Values(f.manifest.tables), func(a, b *table) int { return cmp.Compare(a.number, b.number) })
		for _, t := range f.tables {
			f.Damages = append(f.Damages, t.checkSize(f)...)
		}
		return nil
	}
	for _, name := range f.names {
		number, err := strconv.ParseUint(strings.TrimSuffix(name, tableSuffix), 10, 64)
		if err != nil || !strings.HasSuffix(name, tableSuffix) {
			continue
		}
		t := &table{name: name, number: number, maxSeq: math.MaxUint64, size: -1, entries: -1}
		f.tables = append(f.tables, t)
		if err := t.readKeyBounds(f); err != nil {
			return err
		}
	}
	return nil
}

// readKeyBounds reads the first key of a table and an upper bound of its keys, which the damaged manifest does not
// list.
func (t *table) readKeyBounds(f *Folder) error {
	f.Damages = append(f.Damages, t.open(f)...)
	if len(t.blocks) == 0 {
		return nil
	}
	file, err := f.fs.Open(f.fs.PathJoin(f.dir, t.name))
	if err != nil {
		return err
	}
	defer file.Close()
	first, last := t.blocks[0], t.blocks[len(t.blocks)-1]
	_ = t.load(file, &first, func(key, _ []byte, _ uint64, _ pebble.InternalKeyKind) {
		if t.smallest == nil {
			t.smallest = slices.Clone(key)
		}
	})
	// The index's separator after the last block is not below the block's last key.
	t.largest = last.upTo
	if t.smallest == nil {
		t.smallest = []byte{}
	}
	return nil
}

// checkSize returns a damage if the table's file is missing, unreadable, or does not have the size that the
// manifest lists.
func (t *table) checkSize(f *Folder) []storage.Damage {
	info, err := f.fs.Stat(f.fs.PathJoin(f.dir, t.name))
	switch {
	case err != nil && vfsMissing(err):
		return []storage.Damage{t.damage("it is missing", t.keys(), t.entries)}
	case err != nil:
		return []storage.Damage{t.damage("it cannot be read: "+reason(err), t.keys(), t.entries)}
	case t.size >= 0 && info.Size() != t.size:
		return []storage.Damage{t.damage(sizeWrong(info.Size(), t.size), t.keys(), t.entries)}
	}
	return nil
}

func vfsMissing(err error) bool { return errors.Is(err, os.ErrNotExist) }

func sizeWrong(have, want int64) string {
	return fmt.Sprintf("it has %d bytes and should have %d", have, want)
}

// keysBetween returns the range of the keys greater than low and less than high; nil is unbounded.
func keysBetween(low, high []byte) storage.Range {
	r := storage.Range{End: high}
	if low != nil {
		r.Start = after(low)
	}
	return r
}

// overlaps reports whether a table may hold keys of a range. If the table's keys are unknown, it may.
func (t *table) overlaps(r storage.Range) bool {
	return t.largest == nil || (r.End == nil || bytes.Compare(t.smallest, r.End) < 0) && bytes.Compare(t.largest, r.Start) >= 0
}

// Bytes returns the number of bytes that Verify reads: the size of all tables, for a progress bar.
func (f *Folder) Bytes() (n int64) {
	for _, t := range f.tables {
		if info, err := f.fs.Stat(f.fs.PathJoin(f.dir, t.name)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Verify reads every table and compares the checksums of all blocks that open has found in it. It adds the damages
// that it finds to Damages, and calls progress after each table with its number of bytes. Errors: errors of
// progress.
func (f *Folder) Verify(progress func(n int64) error) error {
	for _, t := range f.tables {
		known := slices.ContainsFunc(f.Damages, func(d storage.Damage) bool { return d.File == t.name })
		found := t.open(f)
		found = append(found, t.verify(f)...)
		if t.searched {
			found = t.narrow(append(f.damagesOf(t.name), found...))
		}
		if known && len(found) > 0 { // a damage of the file's size was found before; the new damages are more precise
			f.Damages = slices.DeleteFunc(f.Damages, func(d storage.Damage) bool { return d.File == t.name })
		}
		f.Damages = append(f.Damages, found...)
		if err := progress(max(t.have, 0)); err != nil {
			return err
		}
	}
	return nil
}

// damagesOf returns those of the folder's damages that are of one file.
func (f *Folder) damagesOf(name string) (list []storage.Damage) {
	for _, d := range f.Damages {
		if d.File == name {
			list = append(list, d)
		}
	}
	return list
}

// narrow combines the damages of a table with a damaged index into one, with the range of keys that are lost. An
// open store cannot read such a table at all, but Scan can read its intact blocks.
func (t *table) narrow(damages []storage.Damage) []storage.Damage {
	if len(damages) == 0 {
		return nil
	}
	if len(t.broken) == 0 {
		return []storage.Damage{t.damage(damages[0].What, t.keys(), 0)}
	}
	r := storage.Range{Start: t.broken[0].keys.Start, End: t.broken[0].keys.End}
	for _, b := range t.broken[1:] {
		if bytes.Compare(b.keys.Start, r.Start) < 0 {
			r.Start = b.keys.Start
		}
		if b.keys.End == nil || r.End != nil && bytes.Compare(b.keys.End, r.End) > 0 {
			r.End = b.keys.End
		}
	}
	return []storage.Damage{t.damage(damages[0].What, r, -1)}
}

// VerifyTable compares the checksums of one table, and returns the damages. ok is false if the store has no table
// of this name.
func (f *Folder) VerifyTable(name string) (damages []storage.Damage, ok bool) {
	for _, t := range f.tables {
		if t.name == name {
			return append(t.open(f), t.verify(f)...), true
		}
	}
	return nil, false
}

// VerifyCopy compares the checksums of a copy of a table, such as one in a backup: the table has the given name in
// the store, its copy lies at path of fs. ok is false if the store has no table of this name.
func (f *Folder) VerifyCopy(name string, fs vfs.FS, path string) (damages []storage.Damage, ok bool) {
	for _, t := range f.tables {
		if t.name != name {
			continue
		}
		c := table{name: fs.PathBase(path), number: t.number, level: t.level, smallest: t.smallest, largest: t.largest, maxSeq: t.maxSeq, size: t.size, entries: t.entries}
		of := &Folder{fs: fs, dir: fs.PathDir(path)}
		damages = append(c.open(of), c.verify(of)...)
		for i := range damages {
			damages[i].File = name
		}
		return damages, true
	}
	return nil, false
}

// verify compares the checksums of all blocks of the table that open has found. It marks the bad blocks, so that
// Scan skips them, and returns their damages.
func (t *table) verify(f *Folder) (damages []storage.Damage) {
	if t.have < 0 {
		return nil
	}
	file, err := f.fs.Open(f.fs.PathJoin(f.dir, t.name))
	if err != nil {
		return nil
	}
	defer file.Close()
	good := int64(0)
	var bad []*dataBlock
	for i := range t.blocks {
		s := &t.blocks[i]
		n := int64(0)
		if err := t.load(file, s, func([]byte, []byte, uint64, pebble.InternalKeyKind) { n++ }); err != nil {
			s.bad = true
			bad = append(bad, s)
			t.broken = append(t.broken, lostRange{t.clip(s), t.maxSeq})
			continue
		}
		good += n
	}
	for _, s := range bad {
		missing := int64(-1)
		if t.entries >= 0 {
			missing = t.entries - good // the entries of all bad blocks together
		}
		damages = append(damages, t.damage(fmt.Sprintf("the block of %d bytes at byte %d fails its checksum", s.size, s.at), t.clip(s), missing))
	}
	if !t.searched {
		damages = append(damages, t.verifyRest(file)...)
	}
	return damages
}

// clip returns the range of keys that a block of the table may hold.
func (t *table) clip(s *dataBlock) storage.Range {
	r := t.keys()
	if s.after != nil {
		r.Start = after(s.after)
	}
	if s.upTo != nil && (r.End == nil || bytes.Compare(after(s.upTo), r.End) < 0) {
		r.End = after(s.upTo)
	}
	return r
}

// verifyRest compares the checksums of the table's blocks without data, such as Bloom filters, and returns a
// damage for the first bad one.
func (t *table) verifyRest(file vfs.File) []storage.Damage {
	for _, h := range t.rest {
		if h.Length == 0 {
			continue
		}
		raw := make([]byte, h.Length+block.TrailerLen)
		if n, _ := file.ReadAt(raw, int64(h.Offset)); n < len(raw) || maskedSum(raw[:h.Length+1]) != le32(raw[h.Length+1:]) {
			return []storage.Damage{t.damage(fmt.Sprintf("the block of %d bytes at byte %d, beside the data, fails its checksum", h.Length, h.Offset), t.keys(), 0)}
		}
	}
	return nil
}
