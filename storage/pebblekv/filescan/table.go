package filescan

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// table is one table file.
type table struct {
	name   string
	number uint64
	level  int
	// smallest and largest are inclusive bounds of the keys in the table; largest is nil if unknown. If the manifest is
	// damaged, largest may be above the last key, and smallest is empty if the first key cannot be read.
	smallest, largest []byte
	maxSeq            uint64 // the highest sequence number in the table; the maximum if unknown
	size              int64  // expected size; -1 if unknown
	entries           int64  // expected number of entries; -1 if unknown

	opened   bool
	have     int64 // actual size of the file; -1 if it is missing
	blocks   []dataBlock
	tombs    []tombstone
	broken   []lostRange    // the keys of which versions may be lost, found by open and verify
	searched bool           // the blocks were found without an index
	rest     []block.Handle // other blocks than data blocks
}

// dataBlock is one data block of a table file: its offset, size, and the keys that it may hold.
type dataBlock struct {
	at, size int64
	// The keys of the block are greater than after and at most upTo; nil = unknown.
	after, upTo []byte
	bad         bool
}

// lostRange is a range of keys of which versions up to sequence number maxSeq may be lost, because a block is
// damaged.
type lostRange struct {
	keys   storage.Range
	maxSeq uint64
}

var (
	comparer = pebble.DefaultComparer
	schema   = colblk.DefaultKeySchema(comparer, 16)
)

// open finds the blocks of the table: by its index or, if the index is damaged, by searching for matching
// checksums. It returns the damages of the file and its index, and nil if it was called before; verify finds those
// of data blocks.
func (t *table) open(f *Folder) (damages []storage.Damage) {
	if t.opened {
		return nil
	}
	t.opened = true
	file, err := f.fs.Open(f.fs.PathJoin(f.dir, t.name))
	if err != nil {
		t.have = -1
		t.broken = []lostRange{{t.keys(), t.maxSeq}}
		what := "it is missing"
		if !vfsMissing(err) {
			what = "it cannot be opened: " + reason(err)
		}
		return []storage.Damage{t.damage(what, t.keys(), t.entries)}
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil {
		t.have = info.Size()
	}
	what := ""
	if t.size >= 0 && t.have != t.size {
		what = sizeWrong(t.have, t.size)
	}
	if err := guarded(func() error { return t.readIndex(file) }); err == nil {
		if what != "" {
			return []storage.Damage{t.damage(what, storage.Range{Start: t.largest, End: after(t.largest)}, -1)}
		}
		return nil
	}
	if what == "" {
		what = "its index cannot be read"
	}
	t.blocks, t.searched = nil, true
	t.findBlocks(file)
	n := int64(-1)
	return []storage.Damage{t.damage(what, t.keys(), n)}
}

// damage creates a damage of the table.
func (t *table) damage(what string, keys storage.Range, entries int64) storage.Damage {
	return storage.Damage{File: t.name, Kind: storage.DamagedTable, What: what, Keys: keys, Entries: entries}
}

// keys returns the range of the table's keys; if they are unknown, the range is unbounded.
func (t *table) keys() storage.Range {
	if t.largest == nil {
		return storage.Range{}
	}
	return storage.Range{Start: t.smallest, End: after(t.largest)}
}

// after returns the smallest key above key.
func after(key []byte) []byte { return append(slices.Clip(key), 0) }

// readIndex reads the list of blocks, the range tombstones and, if it is readable, the number of entries of the
// table. Errors: an error if one of the first two is damaged, or the table's format is too old.
func (t *table) readIndex(file vfs.File) error {
	readable, err := sstable.NewSimpleReadable(keepOpen{CheckReads(file, always)})
	if err != nil {
		return err
	}
	ctx := context.Background()
	o := sstable.ReaderOptions{Comparer: comparer, KeySchemas: sstable.MakeKeySchemas(&schema)}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		return err
	}
	defer r.Close()
	layout, err := r.Layout()
	if err != nil {
		return err
	}
	if format, err := r.TableFormat(); err != nil || format < sstable.TableFormatPebblev5 {
		return errors.New("a format of tables that this program does not write")
	}
	if err := t.readHandles(ctx, r, layout); err != nil {
		return err
	}
	t.rest = append(t.rest, layout.Properties, layout.MetaIndex, layout.RangeDel, layout.RangeKey, layout.TopIndex)
	t.rest = append(append(t.rest, layout.ValueIndex), layout.ValueBlock...)
	for _, h := range layout.Filter {
		t.rest = append(t.rest, h.Handle)
	}
	if p, err := r.ReadPropertiesBlock(ctx, nil); err == nil {
		t.entries = int64(p.NumEntries)
	}
	return t.readTombstones(ctx, r)
}

// readHandles reads from the table's index where its data blocks lie, and the separator keys between them.
func (t *table) readHandles(ctx context.Context, r *sstable.Reader, layout *sstable.Layout) error {
	var last []byte
	for _, h := range layout.Index {
		b, err := r.BlockReader().Read(ctx, block.NoReadEnv, nil, h, blockkind.SSTableIndex, noMetadata)
		if err != nil {
			return err
		}
		var it colblk.IndexIter
		err = it.Init(comparer, b.BlockData(), block.NoTransforms)
		for ok := err == nil && it.First(); ok; ok = it.Next() {
			bh, bad := it.BlockHandleWithProperties()
			if bad != nil {
				err = bad
				break
			}
			upTo := slices.Clone(it.Separator())
			t.blocks = append(t.blocks, dataBlock{at: int64(bh.Offset), size: int64(bh.Length), after: last, upTo: upTo})
			last = upTo
		}
		b.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func noMetadata(*block.Metadata, []byte) error { return nil }

// readTombstones reads the range tombstones of the table into t.tombs.
func (t *table) readTombstones(ctx context.Context, r *sstable.Reader) error {
	it, err := r.NewRawRangeDelIter(ctx, sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || it == nil {
		return err
	}
	defer it.Close()
	s, err := it.First()
	for ; s != nil && err == nil; s, err = it.Next() {
		for _, k := range s.Keys {
			t.tombs = append(t.tombs, tombstone{slices.Clone(s.Start), slices.Clone(s.End), uint64(k.SeqNum())})
		}
	}
	return err
}

// keepOpen is a file whose Close does nothing, so that a reader does not close it.
type keepOpen struct{ vfs.File }

func (keepOpen) Close() error { return nil }

// load reads a data block, checks its checksum, and calls visit with each entry; key and value are valid during
// the call. Errors: errBadBlock, errors of the decoder.
func (t *table) load(file vfs.File, s *dataBlock, visit func(key, value []byte, seq uint64, kind pebble.InternalKeyKind)) error {
	raw := make([]byte, s.size+block.TrailerLen)
	if n, err := file.ReadAt(raw, s.at); n < len(raw) {
		return errors.Join(errBadBlock, err)
	}
	if maskedSum(raw[:s.size+1]) != le32(raw[s.size+1:]) {
		return errBadBlock
	}
	return decodeBlock(raw, visit)
}

// newest returns the highest sequence number of all versions in a table; ok is false if a part of the table cannot
// be read.
func (t *table) newest(f *Folder) (seq uint64, ok bool) {
	if len(t.open(f)) > 0 {
		return 0, false
	}
	file, err := f.fs.Open(f.fs.PathJoin(f.dir, t.name))
	if err != nil {
		return 0, false
	}
	defer file.Close()
	for i := range t.blocks {
		if t.load(file, &t.blocks[i], func(_, _ []byte, at uint64, _ pebble.InternalKeyKind) { seq = max(seq, at) }) != nil {
			return 0, false
		}
	}
	return seq, true
}

var errBadBlock = errors.New("a block fails its checksum")

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// decodeBlock decompresses a data block with its trailer, and calls visit with each entry. The caller has checked
// the checksum; a panic of Pebble's decoder becomes an error.
func decodeBlock(raw []byte, visit func(key, value []byte, seq uint64, kind pebble.InternalKeyKind)) error {
	return guarded(func() error {
		n := len(raw) - block.TrailerLen
		packing := block.CompressionIndicator(raw[n])
		size := n
		if packing != block.NoCompressionIndicator {
			var err error
			if size, err = block.DecompressedLen(packing, raw[:n]); err != nil {
				return err
			}
		}
		if size > blockBytesMax {
			return errBadBlock
		}
		// The decoder requires data aligned to eight bytes, as large slices are.
		data := make([]byte, size, max(size, 64))
		if packing == block.NoCompressionIndicator {
			copy(data, raw[:n])
		} else if err := block.DecompressInto(packing, raw[:n], data); err != nil {
			return err
		}
		var d colblk.DataBlockDecoder
		d.Init(&schema, data)
		var it colblk.DataBlockIter
		it.InitOnce(&schema, comparer, supersededLike(it.KV().V))
		if err := it.Init(&d, block.NoTransforms); err != nil {
			return err
		}
		for kv := it.First(); kv != nil; kv = it.Next() {
			value, _, err := kv.Value(nil)
			if err != nil {
				return err
			}
			visit(kv.K.UserKey, value, uint64(kv.SeqNum()), kv.Kind())
		}
		return nil
	})
}

// blockBytesMax is the largest plausible size of a decompressed block in bytes: the largest value that the store
// accepts, and some more. A larger one is taken for damage.
const blockBytesMax = 80 << 20

// superseded replaces Pebble's fetcher of values in separate blocks. These are values of older versions of a key
// with a newer version in the same table, kept for open snapshots. They are not needed here, so they read as
// empty. V is the type of a value, which Pebble does not export.
type superseded[V any] struct{}

func supersededLike[V any](V) superseded[V] { return superseded[V]{} }

// GetInternalValueForPrefixAndValueHandle implements Pebble's interface.
func (superseded[V]) GetInternalValueForPrefixAndValueHandle([]byte) (value V) { return value }
