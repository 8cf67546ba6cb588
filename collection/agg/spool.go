package agg

import (
	"bufio"
	"encoding/binary"
	"os"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// spool stores a list of documents, each followed by its metadata, that a stage reads more than once: in memory
// while the budget allows, then in a temporary file without a name.
type spool struct {
	what string // the stage, for the error
	exec.Tracked
	docs []bson.Raw
	held int
	file *os.File
	w    *bufio.Writer
	ends []int64 // end offset of each document in the file
	env  *mql.Env
}

// endBytes is the memory of one of the ends. The memory budget counts all that are allocated: they cannot spill.
const endBytes = 8

// add copies a document and its metadata, nil for none, to the end.
//
// Errors: QueryExceededMemoryLimitNoDiskUseAllowed; the reason why the command must end; errors of the file.
func (s *spool) add(env *mql.Env, doc, meta bson.Raw) error {
	s.env = env
	if err := env.Row(len(doc)); err != nil {
		return err
	}
	if s.file != nil {
		s.Spilled.Records++
		s.Spilled.Storage += int64(len(doc) + len(meta))
		return s.write(doc, meta)
	}
	n := len(doc) + len(meta) + 32
	s.docs = append(s.docs, append(append(make(bson.Raw, 0, len(doc)+len(meta)), doc...), meta...))
	s.held += n
	s.Hold(s.held)
	if env.Memory.Grow(n) || !env.Memory.MustSpill(s.held) {
		return nil
	}
	return s.spill(env)
}

// spill moves the documents in memory to a file.
func (s *spool) spill(env *mql.Env) error {
	if !env.Memory.CanSpill() {
		return env.Memory.ExceededError(s.what)
	}
	f, err := exec.TempFile(env.Memory.SpillDir, "spool-*")
	if err != nil {
		return err
	}
	s.file, s.w = f, bufio.NewWriterSize(f, 256<<10)
	for _, d := range s.docs {
		if err := s.write(d, nil); err != nil {
			return err
		}
	}
	s.Spill(env, s.what, s.held, len(s.docs), s.end())
	s.docs = nil
	env.Memory.Shrink(s.held)
	s.held = 0
	return nil
}

func (s *spool) write(doc, meta bson.Raw) error {
	if _, err := s.w.Write(doc); err != nil {
		return err
	}
	_, err := s.w.Write(meta)
	before := cap(s.ends)
	s.ends = append(s.ends, s.end()+int64(len(doc)+len(meta)))
	if n := cap(s.ends) - before; n > 0 {
		s.env.Memory.Grow(endBytes * n)
	}
	return err
}

// flush writes what is buffered of the file, if there is one.
func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	return s.w.Flush()
}

func (s *spool) end() int64 {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// len returns the number of documents.
func (s *spool) len() int {
	if s.file != nil {
		return len(s.ends)
	}
	return len(s.docs)
}

// reset removes all documents.
func (s *spool) reset() error {
	s.docs = s.docs[:0]
	if s.held > 0 {
		s.env.Memory.Shrink(s.held)
		s.held = 0
	}
	if s.file == nil {
		return nil
	}
	s.ends = s.ends[:0]
	s.w.Reset(s.file)
	if err := s.file.Truncate(0); err != nil {
		return err
	}
	_, err := s.file.Seek(0, 0)
	return err
}

// close releases the memory and the file.
func (s *spool) close() {
	if s.held > 0 {
		s.env.Memory.Shrink(s.held)
		s.held = 0
	}
	if n := cap(s.ends); n > 0 {
		s.env.Memory.Shrink(endBytes * n)
	}
	s.docs, s.ends = nil, nil
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// spoolCursor reads documents of a spool by index. Several cursors may read one spool. Reading forwards
// is fast.
type spoolCursor struct {
	s     *spool
	buf   []byte
	start int64 // file offset of buf
	// to, if set, receives the metadata of each document, of the kinds in metas.
	to    *expr.Scratch
	metas metaKinds
}

const spoolPage = 64 << 10

// get returns document i and its metadata, valid until the next get.
func (c *spoolCursor) get(i int) (doc, meta bson.Raw, err error) {
	both, err := c.both(i)
	if err != nil {
		return nil, nil, err
	}
	doc = both
	if n := int(binary.LittleEndian.Uint32(both)); n < len(both) {
		doc, meta = both[:n:n], both[n:]
	}
	if c.to != nil {
		c.metas.giveStored(meta, c.to)
	}
	return doc, meta, nil
}

func (c *spoolCursor) both(i int) (bson.Raw, error) {
	s := c.s
	if s.file == nil {
		return s.docs[i], nil
	}
	if err := s.w.Flush(); err != nil {
		return nil, err
	}
	from := int64(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	to := s.ends[i]
	if from < c.start || to > c.start+int64(len(c.buf)) {
		size := min(max(to-from, spoolPage), s.end()-from)
		if int64(cap(c.buf)) < size {
			c.buf = make([]byte, size)
		}
		c.buf = c.buf[:size]
		if _, err := s.file.ReadAt(c.buf, from); err != nil {
			c.buf = c.buf[:0]
			return nil, err
		}
		c.start = from
	}
	return bson.Raw(c.buf[from-c.start : to-c.start]), nil
}
