package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// doubleBuffer holds a value that is replaced many times, such as the result so far of $reduce. It uses two
// buffers alternately, so that it needs the memory of only two values.
type doubleBuffer struct{ now, spare []byte }

// keep makes v the current value: it copies v out of the arena, into the buffer of the value before the last,
// and returns the copy.
// Errors: ExceededMemoryLimit (146).
func (t *doubleBuffer) keep(env *mql.Env, s *Scratch, v bson.Value) (bson.Value, error) {
	n := len(v.Data)
	if n > valueBytesMax {
		return v, tooLarge()
	}
	if n > cap(t.spare) {
		size := roomFor(n)
		if err := s.take(env, size); err != nil {
			return v, err
		}
		s.outside -= cap(t.spare)
		t.spare = make([]byte, 0, size)
	}
	t.now, t.spare = append(t.spare[:0], v.Data...), t.now
	v.Data = t.now
	return v, nil
}

// end moves the last value into the arena.
// Errors: ExceededMemoryLimit (146).
func (t *doubleBuffer) end(env *mql.Env, s *Scratch, v bson.Value) (_ bson.Value, err error) {
	now := t.now
	s.outside -= cap(now)
	t.now = nil
	t.drop(s)
	v.Data, err = s.settle(env, now)
	return v, err
}

// drop returns the buffers.
func (t *doubleBuffer) drop(s *Scratch) {
	for _, buf := range [2][]byte{t.now, t.spare} {
		if cap(buf) > 0 {
			s.outside -= cap(buf)
			s.giveBuffer(buf)
		}
	}
}

// doubleBuffer borrows two buffers.
func (s *Scratch) doubleBuffer() doubleBuffer {
	t := doubleBuffer{s.buffer(), s.buffer()}
	s.outside += cap(t.now) + cap(t.spare)
	return t
}
