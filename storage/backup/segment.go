package backup

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/snappy"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// A segment is a file with all writes of a part of the write-ahead log. Its bytes, with lengths in bytes:
//
//	magic 8
//	length 4, compressed length 4, crc 4 of what follows, compressed bytes     blocks
//	0 4, length of the end 4, crc 4, end                                       see appendEnd
//
// The decompressed blocks, one after the other, hold for each write:
//
//	length of the batch 4, first sequence number 8, count 4, time 8, batch
const (
	segmentMagic  = "cantleS\x01"
	segmentSuffix = ".seg"
	blockBytes    = 256 << 10
	blockHeader   = 12
	writeHeader   = 24
	endBytes      = 8 * 5
)

// Segment describes a file with the writes since the segment before, in a backup folder.
type Segment struct {
	Name  string
	Size  int64
	First uint64            // sequence number of the first write
	Next  uint64            // sequence number after the last write
	Time  storage.Timestamp // timestamp of the last write
	Nonce uint64            // random number that distinguishes this segment from others of the same name
	Count int64             // number of writes
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is the error for a damaged segment; its text describes the damage.
type errDamaged string

func (e errDamaged) Error() string { return string(e) }

// errStopVisit is returned by visit functions to end reading a segment after enough writes; it is no failure.
var errStopVisit = errors.New("done")

// appendEnd appends the end of a segment file: five numbers of eight bytes that repeat the fields of s.
func (s *Segment) appendEnd(dst []byte) []byte {
	for _, n := range []uint64{s.First, s.Next, uint64(s.Time), s.Nonce, uint64(s.Count)} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return dst
}

// segmentWriter writes a segment.
type segmentWriter struct {
	file    Writer
	out     *bufio.Writer
	block   []byte
	packed  []byte
	segment Segment
}

// segmentName returns the name of the file of a segment.
func segmentName(first, next uint64) string {
	return fmt.Sprintf("%016x-%016x%s", first, next, segmentSuffix)
}

// newSegment begins the file of a segment of the timeline. first is the sequence number of its first write, next that
// after its last write.
func (t *Timeline) newSegment(ctx context.Context, first, next, nonce uint64) (*segmentWriter, error) {
	s := Segment{Name: segmentName(first, next), First: first, Next: first, Nonce: nonce}
	file, err := t.archive.Create(ctx, t.segmentPath(&s))
	if err != nil {
		return nil, err
	}
	s.Size = int64(len(segmentMagic))
	w := &segmentWriter{file: file, out: bufio.NewWriterSize(file, blockBytes), segment: s}
	_, err = w.out.WriteString(segmentMagic)
	return w, err
}

// add appends one write to the segment.
func (w *segmentWriter) add(x pebblekv.Write) error {
	s := &w.segment
	s.Next, s.Time, s.Count = x.Next(), max(s.Time, x.Time), s.Count+1
	var h [writeHeader]byte
	binary.BigEndian.PutUint32(h[:], uint32(len(x.Batch)))
	binary.BigEndian.PutUint64(h[4:], x.First)
	binary.BigEndian.PutUint32(h[12:], x.Count)
	binary.BigEndian.PutUint64(h[16:], uint64(x.Time))
	return errors.Join(w.write(h[:]), w.write(x.Batch))
}

func (w *segmentWriter) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), blockBytes-len(w.block))
		w.block, b = append(w.block, b[:n]...), b[n:]
		if len(w.block) == blockBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the current block.
func (w *segmentWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	w.packed = snappy.Encode(w.packed[:cap(w.packed)], w.block)
	err := w.put(len(w.block), w.packed)
	w.block = w.block[:0]
	return err
}

func (w *segmentWriter) put(length int, b []byte) error {
	var h [blockHeader]byte
	binary.BigEndian.PutUint32(h[:], uint32(length))
	binary.BigEndian.PutUint32(h[4:], uint32(len(b)))
	binary.BigEndian.PutUint32(h[8:], crc32.Checksum(b, castagnoli))
	w.segment.Size += int64(len(h) + len(b))
	_, err := w.out.Write(h[:])
	if err == nil {
		_, err = w.out.Write(b)
	}
	return err
}

// finish writes the end of the segment and gives the file its name. ts is the timestamp of its last write, if later
// than those stored. It ends the writer.
func (w *segmentWriter) finish(t *Timeline, ts storage.Timestamp) (*Segment, error) {
	s := &w.segment
	s.Time = max(s.Time, ts)
	err := errors.Join(w.flush(), w.put(0, s.appendEnd(nil)), w.out.Flush())
	if name := segmentName(s.First, s.Next); err == nil && name != s.Name {
		err = fmt.Errorf("the log ends at another write: its part would be %s, not %s", name, s.Name)
	}
	if err != nil {
		w.file.Abandon()
		return nil, err
	}
	if err := w.file.Commit(); err != nil {
		return nil, err
	}
	return s, t.archive.Settle(t.rel(logName))
}

// abandon deletes the unfinished segment file.
func (w *segmentWriter) abandon() { w.file.Abandon() }

// openSegments reads the list of the timeline's segments, and adds findings for incomplete and damaged ones.
// Segments covered by a merged one are left out.
func (t *Timeline) openSegments(ctx context.Context) error {
	entries, err := t.archive.List(ctx, t.rel(logName))
	if err != nil {
		t.addFinding("missing", t.rel(logName), reason(err))
		return ctx.Err()
	}
	var files []Entry
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name, partSuffix):
			t.addFinding("incomplete", t.rel(logName, e.Name), "an unfinished copy of the log; the next backup removes it")
		case strings.HasSuffix(e.Name, segmentSuffix):
			files = append(files, e)
		}
	}
	for i, end := range t.readEnds(ctx, files) {
		switch {
		case errors.Is(end.err, fs.ErrNotExist): // it was merged since the folder was listed
		case end.err != nil && ctx.Err() != nil:
			return ctx.Err()
		case end.err != nil:
			t.addFinding("damaged", t.rel(logName, files[i].Name), reason(end.err))
		default:
			t.Segments = append(t.Segments, end.segment)
		}
	}
	// Of segments with the same start only the longest is used, and none that others cover.
	slices.SortFunc(t.Segments, func(a, b *Segment) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Next, a.Next))
	})
	next := uint64(0)
	t.Segments = slices.DeleteFunc(t.Segments, func(s *Segment) bool {
		if s.Next <= next {
			t.superseded = append(t.superseded, s.Name)
			return true
		}
		next = s.Next
		return false
	})
	return nil
}

// endReaders is the number of segments whose ends are read at the same time.
const endReaders = 16

// segmentEnd has the results of readEnd.
type segmentEnd struct {
	segment *Segment
	err     error
}

// readEnds reads the ends of segment files, in their order.
func (t *Timeline) readEnds(ctx context.Context, files []Entry) []segmentEnd {
	ends := make([]segmentEnd, len(files))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(endReaders, len(files)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				ends[i].segment, ends[i].err = t.readEnd(ctx, files[i])
			}
		})
	}
	group.Wait()
	return ends
}

// readEnd reads the end of a segment file, which describes the segment, and compares it with the file's name. Errors:
// errDamaged, errors of the archive.
func (t *Timeline) readEnd(ctx context.Context, e Entry) (*Segment, error) {
	buf := make([]byte, blockHeader+endBytes)
	if e.Size < int64(len(buf)) {
		return nil, errDamaged("it is cut off")
	}
	file, err := t.archive.Open(ctx, t.rel(logName, e.Name), e.Size-int64(len(buf)))
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(file, buf)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, cutOff(err)
	}
	end := buf[blockHeader:]
	if binary.BigEndian.Uint32(buf) != 0 || binary.BigEndian.Uint32(buf[4:]) != endBytes || binary.BigEndian.Uint32(buf[8:]) != crc32.Checksum(end, castagnoli) {
		return nil, errDamaged("its end is cut off or damaged")
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(end[8*i:]) }
	s := &Segment{Name: e.Name, Size: e.Size, First: at(0), Next: at(1), Time: storage.Timestamp(at(2)), Nonce: at(3), Count: int64(at(4))}
	if want := segmentName(s.First, s.Next); s.Name != want {
		return nil, errDamaged("its name should be " + want)
	}
	return s, nil
}

// segmentReader reads the decompressed bytes of a segment, and checks each block's checksum.
type segmentReader struct {
	in     *bufio.Reader
	packed []byte
	block  []byte
	rest   []byte // of block
	ended  bool
}

// cutOff returns errDamaged for the error of a read that met the end of the file, and other errors, which are those of
// the disk, unchanged.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged("it is cut off")
	}
	return err
}

// next reads and decompresses the next block of the segment; at the end it sets ended. Errors: errDamaged; errors of
// the read.
func (r *segmentReader) next() error {
	var h [blockHeader]byte
	if _, err := io.ReadFull(r.in, h[:]); err != nil {
		return cutOff(err)
	}
	length, packed, sum := binary.BigEndian.Uint32(h[:]), binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
	if length > blockBytes || packed > uint32(snappy.MaxEncodedLen(blockBytes)) {
		return errDamaged("a block has an impossible length")
	}
	r.packed = slices.Grow(r.packed[:0], int(packed))[:packed]
	if _, err := io.ReadFull(r.in, r.packed); err != nil {
		return cutOff(err)
	}
	if crc32.Checksum(r.packed, castagnoli) != sum {
		return errDamaged("a block fails its checksum")
	}
	if length == 0 {
		r.ended = true
		return nil
	}
	var err error
	if r.block, err = snappy.Decode(r.block[:cap(r.block)], r.packed); err != nil || len(r.block) != int(length) {
		return errDamaged("a block cannot be unpacked")
	}
	r.rest = r.block
	return nil
}

// Read implements io.Reader.
func (r *segmentReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// batchBytesMax is the largest plausible length of one write in bytes, more than a transaction may write; a larger
// length is damage.
const batchBytesMax = 1 << 30

// each calls visit with each write of a segment, in order, and checks that none is missing. advance is called with the
// number of bytes read. Errors: errDamaged; errors of visit, advance and ctx; those of opening and reading the file.
func (t *Timeline) each(ctx context.Context, s *Segment, advance progress, visit func(pebblekv.Write) error) error {
	file, err := t.archive.Open(ctx, t.segmentPath(s), 0)
	if err != nil {
		return err
	}
	defer file.Close()
	r := &segmentReader{in: bufio.NewReaderSize(&progressReader{file, advance}, blockBytes)}
	magic := make([]byte, len(segmentMagic))
	if _, err := io.ReadFull(r.in, magic); err != nil {
		return cutOff(err)
	} else if string(magic) != segmentMagic {
		return errDamaged("it does not begin as a part of a log does")
	}
	next := s.First
	var batch []byte
	var h [writeHeader]byte
	for n := int64(0); ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.ReadFull(r, h[:])
		if errors.Is(err, io.EOF) {
			if next != s.Next || n != s.Count {
				return errDamaged("writes are missing in it")
			}
			return nil
		}
		if err != nil {
			return err
		}
		w := pebblekv.Write{First: binary.BigEndian.Uint64(h[4:]), Count: binary.BigEndian.Uint32(h[12:]), Time: storage.Timestamp(binary.BigEndian.Uint64(h[16:]))}
		size := binary.BigEndian.Uint32(h[:])
		if size > batchBytesMax || w.First != next {
			return errDamaged("writes are missing in it")
		}
		batch = slices.Grow(batch[:0], int(size))[:size]
		if _, err := io.ReadFull(r, batch); err != nil {
			return err
		}
		next, w.Batch = w.Next(), batch
		if err := visit(w); err != nil {
			return err
		}
	}
}

// progressReader is a reader that calls report with the number of bytes of each read.
type progressReader struct {
	io.Reader
	report progress
}

func (t *progressReader) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	if advance := t.report(int64(n)); advance != nil {
		return n, advance
	}
	return n, err
}
