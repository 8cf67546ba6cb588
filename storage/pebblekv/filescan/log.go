package filescan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/cantledb/cantle/storage"
)

// logFile is one file of the write-ahead log.
type logFile struct {
	name   string
	number uint64
	first  uint64 // sequence number of the first batch, 0 = none
	next   uint64 // sequence number after the last batch before the first hole (unreadable part)
	end    int64  // number of bytes before the first hole
	holes  []hole
	size   int
}

// seqFirst is the sequence number of the first write of each store.
const seqFirst = 10

// readLogs reads the write-ahead logs that an open would replay, and decides whether their ends are damaged or
// were cut off by a crash.
func (f *Folder) readLogs() {
	for _, name := range f.names {
		number, err := strconv.ParseUint(strings.TrimSuffix(name, logSuffix), 10, 64)
		if err != nil || !strings.HasSuffix(name, logSuffix) || number < f.manifest.minLog {
			continue
		}
		l := logFile{name: name, number: number}
		data, err := f.readFile(name)
		if err != nil {
			f.damaged(storage.Damage{File: name, Kind: storage.DamagedLog, What: "it cannot be read: " + reason(err)})
		}
		l.size = len(data)
		eachBatch(data, &l, nil)
		f.logs = append(f.logs, l)
	}
	slices.SortFunc(f.logs, func(a, b logFile) int { return cmp.Compare(a.number, b.number) })
	f.checkLogs()
}

// Unflushed returns the number of bytes in the write-ahead logs that an open of the store writes into tables. The
// disk needs as much free space.
func (f *Folder) Unflushed() (bytes int64) {
	for _, l := range f.logs {
		bytes += l.end
	}
	return bytes
}

// checkLogs distinguishes damage of the write-ahead logs from the traces of a crash, and sets how many logs are
// usable. Sequence numbers of writes have no gaps, so a gap means that a log, or the end of one, was lost.
func (f *Folder) checkLogs() {
	next := max(f.manifest.lastSeq+1, seqFirst)
	f.usableLogs = len(f.logs)
	bad := func(l *logFile, good int, what string) {
		f.damaged(storage.Damage{File: l.name, Kind: storage.DamagedLog, What: what, Entries: -1})
		f.usableLogs = good
	}
	for i := range f.logs {
		l := &f.logs[i]
		if i == 0 && l.first > next && f.manifestShort(next) {
			f.shortManifest()
			break
		}
		if l.first > next && f.manifest.records > 0 {
			lost, what := f.lostBefore(i, next)
			bad(lost, i, what)
			break
		}
		next = max(next, l.next)
		last := i == len(f.logs)-1
		if len(l.holes) > 0 && (!last || l.holes[0].synced) {
			h := l.holes[0]
			bad(l, i+1, fmt.Sprintf("it cannot be read from byte %d to %d of %d, which were on the disk", h.from, h.to, l.size))
			break
		}
		// The last log has the newest writes. The manifest may have a higher number than its readable part: an edit, as of a
		// compaction, has the number of the newest write, even if no table has that write.
		if last && l.first != 0 && l.next < next && f.mark > l.next {
			f.endsEarly(l, l.next)
		}
	}
	f.next = next
	if f.mark > next && len(f.Damages) == 0 && f.manifestShort(next) {
		f.shortManifest()
	}
	if f.mark > next && len(f.Damages) == 0 {
		if n := len(f.logs); n > 0 {
			f.endsEarly(&f.logs[n-1], next)
		} else {
			f.damaged(storage.Damage{File: logName(f.manifest.minLog), Kind: storage.DamagedLog, Entries: -1,
				What: fmt.Sprintf("it is missing, and with it %d writes that were acknowledged", f.mark-next)})
		}
	}
}

// endsEarly adds the damage of the last log if acknowledged writes are missing at its end. next is the sequence number
// of the first of them.
func (f *Folder) endsEarly(l *logFile, next uint64) {
	f.damaged(storage.Damage{File: l.name, Kind: storage.DamagedLog, Entries: -1,
		What: fmt.Sprintf("it ends at byte %d, %d writes before what was acknowledged", l.end, f.mark-next)})
}

// logName returns the file name of a log.
func logName(number uint64) string { return fmt.Sprintf("%06d%s", number, logSuffix) }

// lostBefore returns the log that lacks the writes with sequence numbers from next up to the first of the i-th
// log, and a text about the loss. The numbers of logs may have gaps, so it cannot decide whether a log ends early
// or the next one is missing.
func (f *Folder) lostBefore(i int, next uint64) (l *logFile, what string) {
	l = &f.logs[i]
	n := l.first - next
	switch {
	case i > 0:
		before := &f.logs[i-1]
		return before, fmt.Sprintf("it ends at byte %d, %d writes before the first of %s: its end is lost, or a log between the two", before.end, n, l.name)
	case f.manifest.minLog > 0 && l.number > f.manifest.minLog:
		return &logFile{name: logName(f.manifest.minLog)}, fmt.Sprintf("it is missing, and with it %d writes before the first of %s", n, l.name)
	}
	return l, fmt.Sprintf("%d writes before its first are neither in a table nor in a log", n)
}

// manifestShort reports whether the writes from sequence number next on, which no log has, are missing because the
// manifest, and not a log, has lost its end. Then there is a table that the manifest does not list and that has
// these writes, or may have them, because it cannot be read or the last level keeps no sequence numbers. Unlisted
// tables with only older writes are tables that the store no longer used.
func (f *Folder) manifestShort(next uint64) bool {
	known := map[string]bool{}
	for _, t := range f.manifest.tables {
		known[t.name] = true
	}
	return slices.ContainsFunc(f.names, func(name string) bool {
		if !strings.HasSuffix(name, tableSuffix) || known[name] {
			return false
		}
		t := &table{name: name, maxSeq: math.MaxUint64, size: -1, entries: -1}
		newest, ok := t.newest(f)
		return !ok || newest == 0 || newest >= next
	})
}

func (f *Folder) shortManifest() {
	f.damaged(storage.Damage{File: f.manifest.file, Kind: storage.DamagedManifest, Entries: -1, What: "the list of tables has lost its end: it does not go as far as the write-ahead log"})
}

// eachBatch calls visit with each batch of writes in the bytes of a write-ahead log; visit may be nil. It sets the
// first and next sequence number, the end and the holes of l.
func eachBatch(data []byte, l *logFile, visit func(batch []byte)) {
	c := chunks{data: data, number: uint32(l.number)}
	framing := c.records(func(rec []byte, _ int, resumed bool) {
		h, ok := batchrepr.ReadHeader(rec)
		if !ok || h.Count == 0 {
			return // an empty batch that requested a sync
		}
		seq := uint64(h.SeqNum)
		if l.first == 0 && !resumed {
			l.first = seq
		}
		if !resumed {
			l.next = seq + uint64(h.Count)
		}
		if visit != nil {
			visit(rec)
		}
	})
	l.end, l.holes = int64(framing.end), framing.holes
}

// version is one version of a key, found in a table or a log: a value or a deletion, with its sequence number.
type version struct {
	key, value []byte
	seq        uint64
	kind       pebble.InternalKeyKind
	table      int // index in Folder.tables; -1 = a log
}

// tombstone is a range tombstone: it deletes the versions with lower sequence numbers of all keys from start to
// below end.
type tombstone struct {
	start, end []byte
	seq        uint64
}

// logItems returns all versions of keys and all range tombstones in the logs, including those after unreadable
// parts. The versions are sorted by key, the newest first.
func (f *Folder) logItems(logs []logFile) (items []version, tombs []tombstone) {
	for i := range logs {
		data, err := f.readFile(logs[i].name)
		if err != nil {
			continue // the error is already among the damages
		}
		l := logs[i]
		eachBatch(data, &l, func(batch []byte) {
			batch = slices.Clone(batch)
			seq := binary.LittleEndian.Uint64(batch)
			for r := batchrepr.Read(batch); ; seq++ {
				kind, key, value, ok, err := r.Next()
				if !ok || err != nil {
					return
				}
				switch kind {
				case pebble.InternalKeyKindRangeDelete:
					tombs = append(tombs, tombstone{key, value, seq})
				case pebble.InternalKeyKindSet, pebble.InternalKeyKindDelete:
					items = append(items, version{key, value, seq, kind, -1})
				case pebble.InternalKeyKindLogData:
					seq--
				}
			}
		})
	}
	slices.SortFunc(items, compareVersions)
	return items, tombs
}
