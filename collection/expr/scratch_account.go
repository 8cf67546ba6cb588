package expr

import (
	"unsafe"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// account holds how many bytes of a Scratch are counted in the command's memory, and how many are in use
// outside of the Scratch's arena.
type account struct {
	memory  *mql.Memory // of the command
	counted int         // bytes that memory counts
	outside int         // bytes in use outside of the arena: under construction, for sorting or lookups
}

// freeBytes is the memory of a Scratch, in bytes, that is not counted, so that most documents do not change the
// counter that all commands share.
const freeBytes = 16 << 10

// valueBytes is the memory of a value on the stack in addition to the value's own bytes.
const valueBytes = int(unsafe.Sizeof(bson.Value{}))

// held returns the memory of s in bytes: of all values since Reset that were not released, of values
// under construction, and of the idle buffers and the stack.
func (s *Scratch) held() int { return s.Arena.Held() + s.outside + s.idle + cap(s.stack)*valueBytes }

// reserve counts in the command's memory all memory of s and n bytes more, before these are allocated, if more than
// freeBytes are not counted yet. The bytes are counted until Reset, and only once if reserve is called again.
// Errors: ExceededMemoryLimit (146) if the commands of the user, or of all users, hold too much.
func (s *Scratch) reserve(env *mql.Env, n int) error {
	if more := s.held() + n - s.counted; more > freeBytes {
		return s.count(env, more)
	}
	return nil
}

// due reports whether s has allocated more than freeBytes beyond what is counted, for callers that count after
// an allocation.
func (s *Scratch) due() bool { return s.held() > s.counted+freeBytes }

// counts counts the allocated memory of s in the command's memory, if due.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) counts(env *mql.Env) error {
	if !s.due() {
		return nil
	}
	return s.count(env, s.held()-s.counted)
}

// count counts more bytes in the command's memory.
func (s *Scratch) count(env *mql.Env, more int) error {
	if s.memory != env.Memory {
		if s.counted > 0 { // a trial of a plan had its own memory
			s.memory.ShrinkValues(s.counted)
			more += s.counted
			s.counted = 0
		}
		s.memory = env.Memory
	}
	if err := s.memory.GrowValues(more, "an expression"); err != nil {
		return err
	}
	s.counted += more
	return nil
}

// giveBack frees the large memory of s after large values, and reduces its count, for Reset.
func (s *Scratch) giveBack() {
	if cap(s.stack) > freeBytes/valueBytes {
		s.stack = nil
	}
	clear(s.stack[:cap(s.stack)]) // otherwise they would keep uncounted values alive
	clear(s.slots)
	if spare := s.counted - s.held(); spare > freeBytes {
		s.memory.ShrinkValues(spare)
		s.counted -= spare
	}
}

// take counts n bytes that will be allocated outside of the arena. The caller subtracts them from
// outside when it frees them.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) take(env *mql.Env, n int) error {
	if err := s.reserve(env, n); err != nil {
		return err
	}
	s.outside += n
	return nil
}

// CountExtra counts n bytes that the caller holds in addition to the values, such as the document that
// contains them, until Reset. Of several calls, only the largest counts.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) CountExtra(env *mql.Env, n int) error { return s.reserve(env, n) }
