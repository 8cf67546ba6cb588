package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Scratch is the working memory of evaluation: an arena for computed values,
// slots for local variables and metadata of the document at hand. One per
// goroutine; the zero Scratch is ready.
type Scratch struct {
	bson.Arena
	// Root is $$ROOT where it is not the document that Eval is given; $redact
	// descends with it.
	Root bson.Raw
	// Meta is what {$meta: …} reads of the document at hand, by MetaKind.
	Meta [metaKinds]bson.Value

	slots    []bson.Value
	stack    []bson.Value     // arguments of calls in progress
	zones    map[string]*zone // by argument text
	vm       *VM              // made on first use
	builders []*bson.Builder  // idle builders with their memory
	buffers  [][]byte         // idle buffers

	held   int         // bytes of large values that memory counts
	memory *mql.Memory // of the command whose values they are
}

// Reset frees all values computed so far. Metadata and Root stay.
func (s *Scratch) Reset() {
	s.Arena.Reset()
	s.stack = s.stack[:0]
	if s.held > 0 {
		s.memory.Shrink(s.held)
		s.held = 0
	}
}

// setSlot stores a local variable and returns what the slot held.
func (s *Scratch) setSlot(slot int, v bson.Value) {
	for len(s.slots) <= slot {
		s.slots = append(s.slots, bson.Value{})
	}
	s.slots[slot] = v
}

// newDoc returns a builder with an open document; endDoc gives it back.
func (s *Scratch) newDoc() *bson.Builder {
	b, buf := s.builder()
	b.Reset(buf)
	return b
}

// newArray returns a builder with an open array; endArray gives it back.
func (s *Scratch) newArray() *bson.Builder {
	b, buf := s.builder()
	b.ResetArray(buf)
	return b
}

func (s *Scratch) builder() (*bson.Builder, []byte) {
	var buf []byte
	if n := len(s.buffers); n > 0 {
		buf = s.buffers[n-1][:0]
		s.buffers = s.buffers[:n-1]
	}
	if n := len(s.builders); n > 0 {
		b := s.builders[n-1]
		s.builders = s.builders[:n-1]
		return b, buf
	}
	return &bson.Builder{}, buf
}

// drop gives a builder back without its content.
func (s *Scratch) drop(b *bson.Builder) {
	if buf := b.Finish(); cap(buf) <= 1<<20 {
		s.buffers = append(s.buffers, buf)
	}
	s.builders = append(s.builders, b)
}

// endDoc finishes the document of b as a value in the arena.
func (s *Scratch) endDoc(b *bson.Builder) bson.Value {
	v := bson.Value{Type: bson.TypeDocument, Data: s.Copy(b.Finish())}
	s.drop(b)
	return v
}

// endArray finishes the array of b as a value in the arena.
func (s *Scratch) endArray(b *bson.Builder) bson.Value {
	v := bson.Value{Type: bson.TypeArray, Data: s.Copy(b.Finish())}
	s.drop(b)
	return v
}

// buffer borrows a byte buffer; giveBack returns it.
func (s *Scratch) buffer() []byte {
	if n := len(s.buffers); n > 0 {
		buf := s.buffers[n-1][:0]
		s.buffers = s.buffers[:n-1]
		return buf
	}
	return nil
}

func (s *Scratch) giveBack(buf []byte) {
	if cap(buf) <= 1<<20 {
		s.buffers = append(s.buffers, buf)
	}
}

// valueBytesMax bounds a single array or document under construction. It is
// beyond what a document may hold, as intermediate results may be, and as in
// MongoDB the final document is what the 16 MiB limit is about.
const valueBytesMax = 100 << 20

// countedBytes is how large a value becomes before the command's memory counts it.
const countedBytes = 1 << 20

// within reports whether a value under construction may have n bytes, which the
// command's memory counts until Reset: twice, as it is copied in the end.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) within(env *mql.Env, n int) error {
	switch {
	case n <= s.held/2+countedBytes:
		return nil
	case n > valueBytesMax:
		return tooLarge()
	}
	more := 2*n - s.held
	s.held += more
	s.memory = env.Memory
	return env.Memory.Need(more, "an expression")
}

// element appends v, null if missing, to the array in b after asking whether
// the command is to go on and the array is still within bounds.
func (s *Scratch) element(env *mql.Env, b *bson.Builder, v bson.Value) error {
	if err := env.Tick(); err != nil {
		return err
	}
	if err := s.within(env, b.Len()+len(v.Data)); err != nil {
		return err
	}
	if v.IsMissing() {
		v = bson.Null
	}
	b.Value("", v)
	return nil
}
