package exec

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/keyspace"
)

// runSet holds the sorted runs of one operator that spills, such as $sort or $group, one after the other in one
// temporary file. The file is unlinked as soon as it is open, so that nothing is left behind even if the process dies.
type runSet struct {
	dir  string
	file *os.File
	w    *bufio.Writer
	size int64
	runs []int64 // start of each run
	row  int     // bytes of the largest row
	made int     // number of runs written, without those of merges
	head []byte
	heap runHeap
	cur  *run
}

// run reads one run.
type run struct {
	r   *bufio.Reader
	row sortRow
	buf []byte
}

type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return h[i].row.less(&h[j].row) }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func newRunSet(dir string) (*runSet, error) {
	s := &runSet{dir: dir}
	return s, s.open()
}

// Limits of memory, in bytes, for the runs of an external sort: readBytes for the read buffers of all runs that
// are read at once, rowBytes for their current rows, writeBytes for the write buffer. At most fanMax runs are
// read at once.
const (
	readBytes  = 1 << 20
	rowBytes   = 64 << 20
	writeBytes = 256 << 10
	fanMax     = 128
)

// open creates a new, empty file.
func (s *runSet) open() error {
	f, err := TempFile(s.dir, "sort-*")
	if err != nil {
		return err
	}
	s.file, s.size, s.runs = f, 0, nil
	if s.w == nil {
		s.w = bufio.NewWriterSize(f, writeBytes)
	} else {
		s.w.Reset(f)
	}
	return nil
}

// fan returns the number of runs that are merged at once, at least 2. A row of each is in memory, so the
// largest row decides.
func (s *runSet) fan() int { return max(2, min(fanMax, rowBytes/max(s.row, 1))) }

func (s *runSet) count() int { return s.made }

// add writes rows, which are sorted already, as one run to the file. It returns the number of bytes written.
func (s *runSet) add(rows []sortRow) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	start := s.size
	s.begin()
	for i := range rows {
		if err := s.write(&rows[i]); err != nil {
			return s.size - start, err
		}
	}
	return s.size - start, s.w.Flush()
}

// begin starts a run. Its rows must be written in order.
func (s *runSet) begin() {
	s.runs = append(s.runs, s.size)
	s.made++
}

// write appends a row to the last run.
func (s *runSet) write(r *sortRow) error {
	head := s.head[:0]
	head = binary.AppendUvarint(head, uint64(len(r.key)))
	head = binary.AppendUvarint(head, uint64(len(r.doc)))
	head = binary.AppendUvarint(head, uint64(len(r.id)))
	head = binary.AppendUvarint(head, uint64(len(r.meta)))
	head = binary.AppendUvarint(head, uint64(r.hash))
	head = binary.AppendUvarint(head, uint64(r.shard))
	head = binary.AppendUvarint(head, uint64(r.seq))
	s.head = head
	s.row = max(s.row, len(r.key)+len(r.doc)+len(r.id)+len(r.meta))
	for _, p := range [...][]byte{head, r.key, r.doc, r.id, r.meta} {
		n, err := s.w.Write(p)
		s.size += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// start opens all runs for reading. If there are more than can be read at once, it merges groups of runs first.
func (s *runSet) start(env *mql.Env) error {
	for len(s.runs) > s.fan() {
		if err := s.merge(env); err != nil {
			return err
		}
	}
	return s.read(0, len(s.runs))
}

// read opens the runs from (inclusive) to to (exclusive) for reading.
func (s *runSet) read(from, to int) error {
	buffer := max(4<<10, min(64<<10, readBytes/max(to-from, 1)))
	s.heap, s.cur = s.heap[:0], nil
	for i := from; i < to; i++ {
		end := s.size
		if i+1 < len(s.runs) {
			end = s.runs[i+1]
		}
		at := s.runs[i]
		r := &run{r: bufio.NewReaderSize(io.NewSectionReader(s.file, at, end-at), buffer)}
		if ok, err := r.read(); err != nil {
			return err
		} else if ok {
			s.heap = append(s.heap, r)
		}
	}
	heap.Init(&s.heap)
	return nil
}

// merge reduces the number of runs: it merges each group of consecutive runs into one run, in a new file. Rows
// keep their sequence numbers, so rows with equal keys keep their order.
func (s *runSet) merge(env *mql.Env) error {
	old := *s
	defer old.close()
	if err := s.open(); err != nil {
		s.file = nil
		return err
	}
	fan := s.fan()
	for from := 0; from < len(old.runs); from += fan {
		if err := old.read(from, min(from+fan, len(old.runs))); err != nil {
			return err
		}
		s.begin()
		for {
			r, err := old.next()
			if err != nil {
				return err
			}
			if r == nil {
				break
			}
			if err := env.Tick(); err != nil {
				return err
			}
			if err := s.write(r); err != nil {
				return err
			}
		}
	}
	s.made = old.made
	return s.w.Flush()
}

// next returns the next row of all opened runs in key order, nil at the end. The row is valid until the next
// call.
func (s *runSet) next() (*sortRow, error) {
	if s.cur != nil {
		ok, err := s.cur.read()
		if err != nil {
			return nil, err
		}
		if ok {
			heap.Fix(&s.heap, 0)
		} else {
			heap.Pop(&s.heap)
		}
		s.cur = nil
	}
	if len(s.heap) == 0 {
		return nil, nil
	}
	s.cur = s.heap[0]
	return &s.cur.row, nil
}

func (s *runSet) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// read reads the next row of the run; it returns false at the end.
func (r *run) read() (bool, error) {
	var n [7]uint64
	for i := range n {
		v, err := binary.ReadUvarint(r.r)
		if i == 0 && errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		n[i] = v
	}
	k, d, id, meta := int(n[0]), int(n[1]), int(n[2]), int(n[3])
	size := k + d + id + meta
	if cap(r.buf) < size {
		r.buf = make([]byte, size)
	}
	b := r.buf[:size]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return false, err
	}
	d += k
	id += d
	r.row = sortRow{key: b[:k:k], doc: bson.Raw(b[k:d:d]), id: b[d:id:id], hash: keyspace.Hash(n[4]), shard: int(n[5]), seq: int64(n[6])}
	if meta > 0 {
		r.row.meta = bson.Raw(b[id:])
	}
	return true, nil
}
