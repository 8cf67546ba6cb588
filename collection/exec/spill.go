package exec

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage/keyspace"
)

// runSet is the sorted runs of one external sort, one after the other in one
// temporary file. The file is unlinked as soon as it is open, so that nothing
// is left behind even if the process dies.
type runSet struct {
	file *os.File
	w    *bufio.Writer
	size int64
	runs []int64 // start of each run
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
	f, err := os.CreateTemp(dir, "sort-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &runSet{file: f, w: bufio.NewWriterSize(f, 1<<20)}, nil
}

func (s *runSet) count() int { return len(s.runs) }

// add writes rows, already sorted, as one run and returns how many bytes they took.
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

// begin starts a run; rows are written in order.
func (s *runSet) begin() { s.runs = append(s.runs, s.size) }

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
	for _, p := range [...][]byte{head, r.key, r.doc, r.id, r.meta} {
		n, err := s.w.Write(p)
		s.size += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// start opens all runs for reading.
func (s *runSet) start() error {
	for i, at := range s.runs {
		end := s.size
		if i+1 < len(s.runs) {
			end = s.runs[i+1]
		}
		r := &run{r: bufio.NewReaderSize(io.NewSectionReader(s.file, at, end-at), 64<<10)}
		if ok, err := r.read(); err != nil {
			return err
		} else if ok {
			s.heap = append(s.heap, r)
		}
	}
	heap.Init(&s.heap)
	return nil
}

// next returns the next row over all runs, nil at the end. The row is valid
// until the next call.
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

func (s *runSet) close() { s.file.Close() }

// read loads the next row of the run; false at its end.
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
