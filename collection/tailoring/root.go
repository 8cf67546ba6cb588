package tailoring

import (
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// element is a collation element of the root order: a weight for each level, 0 where it has none.
type element struct {
	primary   uint32
	secondary uint16
	tertiary  byte
}

// The weights that most characters have on the second and third level.
const (
	CommonSecondary = 0x20
	CommonTertiary  = 2
)

// strength returns the greatest difference that the element makes.
func (e element) strength() int {
	switch {
	case e.primary != 0:
		return primary
	case e.secondary != 0:
		return secondary
	}
	return tertiary
}

// root gives the weights of the root order. Not safe for concurrent use.
type root struct {
	engine *collate.Collator
	buf    collate.Buffer
}

// NewRoot returns a new engine of the root order, which a Table completes. Not safe for concurrent use.
func NewRoot() *collate.Collator { return collate.New(language.Und) }

// levels returns the weights of s by level.
func (r *root) levels(s string) (p []uint32, sec []uint16, ter []byte) {
	r.buf.Reset()
	Split(r.engine.KeyFromString(&r.buf, s),
		func(w uint32) { p = append(p, w) }, func(w uint16) { sec = append(sec, w) }, func(w byte) { ter = append(ter, w) })
	return p, sec, ter
}

// Levels divides a key of x/text/collate: primary weights of two bytes, or three if the first has its high bit set; 0 0;
// secondary weights of two; 0 0; tertiary weights. primaries is the number of primary weights.
func Levels(key []byte) (p, s, t []byte, primaries int) {
	i := 0
	for i+1 < len(key) && (key[i] != 0 || key[i+1] != 0) {
		if i += 2; key[i-2]&0x80 != 0 {
			i++
		}
		primaries++
	}
	p, key = key[:i], key[min(i+2, len(key)):]
	for i = 0; i+1 < len(key) && (key[i] != 0 || key[i+1] != 0); {
		i += 2
	}
	return p, key[:i], key[min(i+2, len(key)):], primaries
}

// Split calls one function per level for each weight in a key of x/text/collate.
func Split(key []byte, p func(uint32), s func(uint16), t func(byte)) {
	primary, secondary, tertiary, _ := Levels(key)
	for w := primary; len(w) > 0; {
		if w[0]&0x80 != 0 {
			p(uint32(w[0]&0x7f)<<16 | uint32(w[1])<<8 | uint32(w[2]))
			w = w[3:]
			continue
		}
		p(uint32(w[0])<<8 | uint32(w[1]))
		w = w[2:]
	}
	for w := secondary; len(w) > 0; w = w[2:] {
		s(uint16(w[0])<<8 | uint16(w[1]))
	}
	for _, w := range tertiary {
		t(w)
	}
}

// elements returns the collation elements of s. Each character is taken alone, unless the root order has other weights
// for them together.
func (r *root) elements(s string) []element {
	var list []element
	single := 0
	for _, c := range norm.NFD.String(s) {
		p, sec, ter := r.levels(string(c))
		list = append(list, zip(p, sec, ter)...)
		single += len(p)
	}
	if p, sec, ter := r.levels(s); len(p) != single {
		return zip(p, sec, ter)
	}
	return list
}

// zip joins weights by level to elements. If a string has more secondary than primary weights, the last elements have no
// primary one.
func zip(p []uint32, sec []uint16, ter []byte) []element {
	list := make([]element, max(len(p), len(sec), len(ter)))
	for i := range list {
		if i < len(p) {
			list[i].primary = p[i]
		}
		if i < len(sec) {
			list[i].secondary = sec[i]
		}
		if i < len(ter) {
			list[i].tertiary = ter[i]
		}
	}
	return list
}
