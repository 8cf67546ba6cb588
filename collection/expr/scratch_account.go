package expr

import (
	"unsafe"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// account is what the command's memory counts of a Scratch.
type account struct {
	memory  *mql.Memory // of the command whose values they are
	counted int         // bytes that memory counts
	outside int         // bytes in use outside of the arena: under construction, sorted, looked up
}

// freeBytes is what a Scratch takes up uncounted, so that most documents cost no look at the
// memory that all share.
const freeBytes = 16 << 10

// valueBytes is what a value on the stack takes up beside its bytes.
const valueBytes = int(unsafe.Sizeof(bson.Value{}))

// held is how many bytes s takes up: the sum of all values since Reset that no Release has
// dropped, of what is under construction, and of what is kept for the next ones.
func (s *Scratch) held() int { return s.Arena.Held() + s.outside + s.idle + cap(s.stack)*valueBytes }

// reserve makes sure that the command's memory counts all that s takes up and n bytes more,
// before they are allocated. It counts them until Reset, however often it is called.
// Errors: ExceededMemoryLimit (146) if the commands of the user, or of all, hold too much.
func (s *Scratch) reserve(env *mql.Env, n int) error {
	if more := s.held() + n - s.counted; more > freeBytes {
		return s.count(env, more)
	}
	return nil
}

// due says that more has been allocated than is counted: a value, by those that ask afterwards.
func (s *Scratch) due() bool { return s.held() > s.counted+freeBytes }

// counts makes the command's memory count what has been allocated.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) counts(env *mql.Env) error {
	if !s.due() {
		return nil
	}
	return s.count(env, s.held()-s.counted)
}

// count adds to what the command's memory counts.
func (s *Scratch) count(env *mql.Env, more int) error {
	if s.memory != env.Memory {
		if s.counted > 0 { // a plan was tried in memory of its own
			s.memory.LetGo(s.counted)
			more += s.counted
			s.counted = 0
		}
		s.memory = env.Memory
	}
	if err := s.memory.Hold(more, "an expression"); err != nil {
		return err
	}
	s.counted += more
	return nil
}

// giveBack is the part of Reset that concerns much memory.
func (s *Scratch) giveBack() {
	if cap(s.stack) > freeBytes/valueBytes {
		s.stack = nil
	}
	clear(s.stack[:cap(s.stack)]) // they would keep values that nobody counts
	clear(s.slots)
	if spare := s.counted - s.held(); spare > freeBytes {
		s.memory.LetGo(spare)
		s.counted -= spare
	}
}

// take counts n bytes that are about to be allocated outside of the arena; the caller
// subtracts them from outside when it lets go of them.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) take(env *mql.Env, n int) error {
	if err := s.reserve(env, n); err != nil {
		return err
	}
	s.outside += n
	return nil
}

// Beside counts n bytes that the caller holds beside the values, such as the document that they
// become part of, until Reset; only the most of several calls counts.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) Beside(env *mql.Env, n int) error { return s.reserve(env, n) }
