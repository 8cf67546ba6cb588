package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Scratch is the working memory in which expressions are evaluated: an arena for computed values, slots for
// local variables, and metadata of the current document. Each goroutine has its own; the zero Scratch is ready
// to use. Its memory counts in the command's memory, see reserve.
type Scratch struct {
	bson.Arena
	// Root is $$ROOT if it is not the document passed to Eval: $redact evaluates embedded documents.
	Root bson.Raw
	// Meta holds the metadata of the current document for {$meta: …}, by MetaKind.
	Meta [metaKinds]bson.Value

	slots    []bson.Value
	stack    []bson.Value     // arguments of calls in progress
	zones    map[string]*zone // by argument text
	vm       *VM              // made on first use
	builders []*making        // idle, without memory
	buffers  [][]byte         // idle
	idle     int              // bytes of the idle buffers
	loop     loopArrays

	account
}

// NamedMeta returns metadata of the current document by name, missing if there is none.
func (s *Scratch) NamedMeta(name string) bson.Value {
	if k, ok := ParseMetaKind(name); ok {
		return s.Meta[k]
	}
	return bson.Value{}
}

// Reset frees all computed values, before the next document. Metadata and Root are kept.
func (s *Scratch) Reset() {
	s.Arena.Reset()
	s.stack = s.stack[:0]
	s.outside = 0 // left over from failed evaluations
	if s.counted > 0 {
		s.giveBack()
	}
}

// Close frees the memory and its count in the command's memory. A Scratch for a single evaluation needs no
// Close, unless the command evaluates many.
func (s *Scratch) Close() {
	if s.counted > 0 {
		memory, counted := s.memory, s.counted
		*s = Scratch{zones: s.zones, vm: s.vm}
		memory.ShrinkValues(counted)
	}
}

// setSlot stores the value of a local variable in its slot.
func (s *Scratch) setSlot(slot int, v bson.Value) {
	for len(s.slots) <= slot {
		s.slots = append(s.slots, bson.Value{})
	}
	s.slots[slot] = v
}

// push pushes a value onto the stack.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) push(env *mql.Env, v bson.Value) error {
	if n := len(s.stack); n == cap(s.stack) {
		room := max(16, 2*n)
		if n >= 1<<16 {
			room = n + n/4
		}
		if err := s.reserve(env, room*valueBytes); err != nil {
			return err
		}
		s.stack = append(make([]bson.Value, 0, room), s.stack...)
	}
	s.stack = append(s.stack, v)
	return nil
}

// pushAll pushes the elements of an array onto the stack.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) pushAll(env *mql.Env, a bson.Raw) error {
	for it := a.Iter(); it.Next(); {
		if err := s.push(env, it.Value); err != nil {
			return err
		}
	}
	return nil
}

// buffer returns an idle byte buffer of the Scratch, or nil. The caller counts its memory while it is in use,
// and returns it by giveBuffer.
func (s *Scratch) buffer() []byte {
	n := len(s.buffers)
	if n == 0 {
		return nil
	}
	buf := s.buffers[n-1][:0]
	s.buffers[n-1] = nil
	s.buffers = s.buffers[:n-1]
	s.idle -= cap(buf)
	return buf
}

// idleBytesMax limits the memory of idle buffers.
const idleBytesMax = 1 << 20

// giveBuffer returns a buffer that is not in use any more to the idle ones, up to idleBytesMax in all.
func (s *Scratch) giveBuffer(buf []byte) {
	if s.idle+cap(buf) <= idleBytesMax {
		s.buffers = append(s.buffers, buf)
		s.idle += cap(buf)
	}
}
