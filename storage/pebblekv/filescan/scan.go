package filescan

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// Entry is the newest readable version of a key in a damaged store. Key and Value are valid until the function
// that Scan calls with it returns.
type Entry struct {
	Key, Value []byte
	// Outdated is true if a damaged block may have held a newer version of the key, or its deletion.
	Outdated bool
}

// compareVersions orders versions of keys by key, and the versions of one key from the newest to the oldest.
func compareVersions(a, b version) int {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	if c := cmp.Compare(b.seq, a.seq); c != 0 {
		return c
	}
	return cmp.Compare(b.table, a.table) // tables are in order of their numbers
}

// Prepare reads the logs and the indexes of the tables, which Scan needs. If Verify ran before, Scan can report
// which entries may be outdated.
func (f *Folder) Prepare() {
	for _, t := range f.tables {
		f.Damages = append(f.Damages, t.open(f)...)
	}
	slices.SortFunc(f.tables, func(a, b *table) int { return cmp.Compare(a.number, b.number) })
	logs := f.logs
	f.inLogs, f.tombs = nil, nil
	if !f.listed {
		logs = f.unflushed(logs)
	}
	f.inLogs, f.tombs = f.logItems(logs)
	f.broken = nil
	for _, t := range f.tables {
		f.tombs = append(f.tombs, t.tombs...)
		f.broken = append(f.broken, t.broken...)
	}
	slices.SortFunc(f.tombs, func(a, b tombstone) int { return bytes.Compare(a.start, b.start) })
	slices.SortFunc(f.broken, func(a, b lostRange) int { return bytes.Compare(a.keys.Start, b.keys.Start) })
}

// unflushed is for a store with a damaged manifest, which cannot show which logs are to be replayed: it returns those
// of the logs whose writes are not in tables yet. Commits with documents write change-log records, so a write-ahead log
// whose first change-log record is in a table counts as flushed.
func (f *Folder) unflushed(logs []logFile) (out []logFile) {
	for i := range logs {
		items, _ := f.logItems(logs[i : i+1])
		flushed := false
		for _, it := range items {
			if len(it.key) < 2 || it.key[0] != 0 || it.key[1] != 'l' {
				continue
			}
			_ = f.Scan(context.Background(), storage.Range{Start: it.key, End: after(it.key)}, func(Entry) error {
				flushed = true
				return nil
			})
			break
		}
		if !flushed {
			out = append(out, logs[i])
		}
	}
	return out
}

// LostKeys returns the ranges of keys whose versions may be lost in damaged blocks of tables, in order.
func (f *Folder) LostKeys() (out []storage.Range) {
	for _, b := range f.broken {
		out = append(out, b.keys)
	}
	return out
}

// Scan calls visit with the newest readable version of each key of a range, in order, until visit returns an
// error. Deleted keys are omitted, damaged blocks skipped. Prepare must be called before. Errors: errors of visit
// and of ctx.
func (f *Folder) Scan(ctx context.Context, r storage.Range, visit func(Entry) error) error {
	m := &merge{f: f, r: r}
	defer m.close()
	m.begin()
	var last []byte
	done := false // with this key
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		it, ok := m.next()
		if !ok {
			return nil
		}
		if last != nil && bytes.Equal(it.key, last) {
			if done {
				continue
			}
		} else {
			last, done = append(last[:0], it.key...), false
			if last == nil {
				last = []byte{}
			}
		}
		done = true
		if it.kind != pebble.InternalKeyKindSet || m.deleted(it) {
			continue
		}
		if err := visit(Entry{Key: it.key, Value: it.value, Outdated: f.outdated(it)}); err != nil {
			return err
		}
	}
}

// outdated reports whether a newer version of the same key than the given one may be lost in a damaged block. A
// version in a log is never outdated.
func (f *Folder) outdated(it version) bool {
	for i := range f.broken {
		b := &f.broken[i]
		if bytes.Compare(b.keys.Start, it.key) > 0 {
			return false
		}
		if b.keys.Contains(it.key) && b.maxSeq > it.seq && it.table >= 0 {
			return true
		}
	}
	return false
}

// merge merges the sorted versions of keys in all tables and logs into one sorted sequence, for Scan (a k-way
// merge with a heap).
type merge struct {
	f       *Folder
	r       storage.Range
	waiting []int // indexes of the tables that are not opened yet, by their first keys
	heads   cursors
	active  []tombstone
	tomb    int // the next of f.tombs
}

// begin finds the tables that overlap the range, and opens the cursor of the logs.
func (m *merge) begin() {
	for i, t := range m.f.tables {
		if t.have >= 0 && len(t.blocks) > 0 && t.overlaps(m.r) {
			m.waiting = append(m.waiting, i)
		}
	}
	slices.SortFunc(m.waiting, func(a, b int) int { return bytes.Compare(m.f.tables[a].smallest, m.f.tables[b].smallest) })
	from := sort.Search(len(m.f.inLogs), func(i int) bool { return bytes.Compare(m.f.inLogs[i].key, m.r.Start) >= 0 })
	c := &cursor{items: m.f.inLogs[from:]}
	if c.advance(m) {
		heap.Push(&m.heads, c)
	}
}

// next returns the next version in the order of compareVersions, false at the end. It opens a table when its first
// key is reached, so that few files are open.
func (m *merge) next() (version, bool) {
	for len(m.waiting) > 0 {
		t := m.f.tables[m.waiting[0]]
		if len(m.heads) > 0 && bytes.Compare(t.smallest, m.heads[0].item.key) > 0 && bytes.Compare(t.smallest, m.r.Start) > 0 {
			break
		}
		c := &cursor{t: t, index: m.waiting[0]}
		m.waiting = m.waiting[1:]
		if c.openTable(m) && c.advance(m) {
			heap.Push(&m.heads, c)
		} else {
			c.close()
		}
	}
	if len(m.heads) == 0 {
		return version{}, false
	}
	c := m.heads[0]
	it := c.item
	if c.advance(m) {
		heap.Fix(&m.heads, 0)
	} else {
		heap.Pop(&m.heads)
		c.close()
	}
	return it, true
}

// deleted reports whether a range tombstone with a higher sequence number deletes a version. Versions must come in
// the order of their keys.
func (m *merge) deleted(it version) bool {
	for ; m.tomb < len(m.f.tombs) && bytes.Compare(m.f.tombs[m.tomb].start, it.key) <= 0; m.tomb++ {
		m.active = append(m.active, m.f.tombs[m.tomb])
	}
	covered := false
	m.active = slices.DeleteFunc(m.active, func(t tombstone) bool {
		if bytes.Compare(t.end, it.key) <= 0 {
			return true
		}
		covered = covered || t.seq > it.seq
		return false
	})
	return covered
}

func (m *merge) close() {
	for _, c := range m.heads {
		c.close()
	}
}

// cursor is a position in one source of a merge: a table, or all logs together.
type cursor struct {
	item  version
	items []version // the following versions in the block, or in the logs
	t     *table
	index int
	file  vfs.File
	block int // the next block to load
}

// openTable opens the cursor's table and finds the first block that may hold keys of the range. It reports whether
// the file could be opened.
func (c *cursor) openTable(m *merge) bool {
	file, err := m.f.fs.Open(m.f.fs.PathJoin(m.f.dir, c.t.name))
	if err != nil {
		return false
	}
	c.file = file
	c.block = sort.Search(len(c.t.blocks), func(i int) bool {
		u := c.t.blocks[i].upTo
		return u == nil || bytes.Compare(u, m.r.Start) >= 0
	})
	return true
}

// advance steps to the next version within the range of m, and reports whether there is one.
func (c *cursor) advance(m *merge) bool {
	for {
		for len(c.items) == 0 {
			if c.t == nil || c.block >= len(c.t.blocks) {
				return false
			}
			c.loadBlock()
		}
		c.item, c.items = c.items[0], c.items[1:]
		if m.r.End != nil && bytes.Compare(c.item.key, m.r.End) >= 0 {
			c.items, c.block = nil, math.MaxInt
			return false
		}
		if bytes.Compare(c.item.key, m.r.Start) >= 0 {
			return true
		}
	}
}

// loadBlock reads the versions in the next block of the table; a damaged block yields none.
func (c *cursor) loadBlock() {
	s := &c.t.blocks[c.block]
	c.block++
	if s.bad {
		return
	}
	c.items = nil
	if err := c.t.load(c.file, s, func(key, value []byte, seq uint64, kind pebble.InternalKeyKind) {
		c.items = append(c.items, version{slices.Clone(key), slices.Clone(value), seq, kind, c.index})
	}); err != nil {
		c.items = nil
	}
}

func (c *cursor) close() {
	if c.file != nil {
		_ = c.file.Close() // only read, so an error is irrelevant
	}
}

// cursors is a heap of cursors, ordered by the version at which each stands.
type cursors []*cursor

func (h cursors) Len() int           { return len(h) }
func (h cursors) Less(i, j int) bool { return compareVersions(h[i].item, h[j].item) < 0 }
func (h cursors) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(c any)        { *h = append(*h, c.(*cursor)) }
func (h *cursors) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}
