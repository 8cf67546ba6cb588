package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// valueBytesMax limits an array or document under construction, in bytes. Intermediate results may exceed the
// 16 MiB limit of documents, which applies to the final document, as in MongoDB.
const valueBytesMax = 100 << 20

// tooLarge returns the error for a value of more than valueBytesMax bytes.
func tooLarge() error {
	return mongoerr.New(mongoerr.ExceededMemoryLimit, "an expression's result would use more than %d bytes; make it of fewer elements, or in several stages with $unwind", valueBytesMax)
}

// making is a document or an array under construction in a Scratch. Values that may be long are appended by
// element and field, or after a call of room, which reserve the command's memory first.
type making struct {
	bson.Builder
	counted int // bytes of its buffer that count in the Scratch
}

// newDoc returns a builder with an open document. endDoc returns it.
func (s *Scratch) newDoc() *making {
	m, buf := s.making()
	m.Reset(buf)
	return m
}

// newArray returns a builder with an open array. endArray returns it.
func (s *Scratch) newArray() *making {
	m, buf := s.making()
	m.ResetArray(buf)
	return m
}

func (s *Scratch) making() (*making, []byte) {
	buf := s.buffer()
	s.outside += cap(buf)
	n := len(s.builders)
	if n == 0 {
		return &making{counted: cap(buf)}, buf
	}
	m := s.builders[n-1]
	s.builders = s.builders[:n-1]
	m.counted = cap(buf)
	return m, buf
}

// drop returns a builder and discards its content.
func (s *Scratch) drop(m *making) { s.giveBuffer(s.taken(m)) }

// taken returns a builder to the pool and returns its bytes, which are not counted any more.
func (s *Scratch) taken(m *making) []byte {
	buf := m.Take()
	s.outside -= m.counted
	s.builders = append(s.builders, m)
	return buf
}

// endDoc finishes the document of m as a value in the arena.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) endDoc(env *mql.Env, m *making) (bson.Value, error) {
	data, err := s.settle(env, s.taken(m))
	return bson.Value{Type: bson.TypeDocument, Data: data}, err
}

// endArray finishes the array of m as a value in the arena.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) endArray(env *mql.Env, m *making) (bson.Value, error) {
	data, err := s.settle(env, s.taken(m))
	return bson.Value{Type: bson.TypeArray, Data: data}, err
}

// endOnly finishes the array of m and returns its only element as a value in the arena.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) endOnly(env *mql.Env, m *making) (bson.Value, error) {
	data, err := s.settle(env, s.taken(m))
	if err != nil {
		return bson.Value{}, err
	}
	f, _ := bson.Raw(data).First()
	return f.Value, nil
}

// adoptedBytes is the capacity in bytes above which a buffer becomes part of the arena without a copy.
const adoptedBytes = 1 << 20

// settle moves the bytes of a buffer that is not counted into the arena, where they are counted.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) settle(env *mql.Env, buf []byte) ([]byte, error) {
	if cap(buf) > adoptedBytes {
		buf = s.Adopt(buf)
	} else {
		old := buf
		buf = s.Copy(buf)
		s.giveBuffer(old)
	}
	if len(buf) > valueBytesMax {
		return nil, tooLarge()
	}
	if s.due() {
		return buf, s.counts(env)
	}
	return buf, nil
}

// headBytes is an upper bound of the bytes that an element takes in addition to its name and its value: its
// type, its position in an array, and the ends of the enclosing values.
const headBytes = 32

// room makes room for n more bytes in a value under construction.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) room(env *mql.Env, m *making, n int) error {
	if m.Len()+n <= m.Cap() {
		return nil
	}
	return s.grow(env, m, m.Len()+n)
}

// grow grows the buffer of m to at least n bytes.
func (s *Scratch) grow(env *mql.Env, m *making, n int) error {
	if n > valueBytesMax {
		return tooLarge()
	}
	size := roomFor(n)
	if err := s.reserve(env, size); err != nil { // the old buffer is still in use
		return err
	}
	m.Grow(size)
	s.outside += size - m.counted
	m.counted = size
	return nil
}

// roomFor returns the size of a new buffer that must hold n bytes and will soon need more, so that repeated
// growth copies little.
func roomFor(n int) int {
	if n < adoptedBytes {
		return max(256, 2*n)
	}
	return n + n/4
}

// element appends v, or null if v is missing, to the array in m. It first checks whether the command must end
// and whether the array stays within its limits.
func (s *Scratch) element(env *mql.Env, m *making, v bson.Value) error {
	if err := env.Tick(); err != nil {
		return err
	}
	if err := s.room(env, m, len(v.Data)+headBytes); err != nil {
		return err
	}
	if v.IsMissing() {
		v = bson.Null
	}
	m.Value("", v)
	return nil
}

// field appends a field to the document in m, unless v is missing.
// Errors: ExceededMemoryLimit (146).
func (s *Scratch) field(env *mql.Env, m *making, name string, v bson.Value) error {
	if err := s.room(env, m, len(name)+len(v.Data)+headBytes); err != nil {
		return err
	}
	m.Value(name, v)
	return nil
}

// fieldBytes is field with the name as bytes.
func (s *Scratch) fieldBytes(env *mql.Env, m *making, name []byte, v bson.Value) error {
	if err := s.room(env, m, len(name)+len(v.Data)+headBytes); err != nil {
		return err
	}
	m.ValueBytes(name, v)
	return nil
}
