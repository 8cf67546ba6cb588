package regex

import (
	"errors"
	"sync"
	"unicode/utf8"
)

// Errors of a match.
var (
	// ErrSteps is returned for a match that takes more steps than its budget has.
	ErrSteps = errors.New("match limit exceeded")
	// ErrMemory is returned for a match that requires more memory than a match may hold.
	ErrMemory = errors.New("heap limit exceeded")
	// ErrRecursion is returned for a group that calls itself at the same place in the text.
	ErrRecursion = errors.New("nested recursion at the same subject position")
)

// Limits of a match.
const (
	// stepsMax and stepsPerByte are the budget of a match: instructions and backtracks. stepsMax take about 100 ms.
	stepsMax, stepsPerByte = 8_000_000, 32
	// entriesMax is the maximal number of entries of the stack, of 64 bytes each.
	entriesMax = 1 << 19
	// savedMax is the maximal number of offsets that nested calls of groups hold.
	savedMax = 1 << 20
	// checkSteps is the number of steps between two calls of interrupted.
	checkSteps = 1 << 14
)

// entryKind is the kind of an entry of the stack.
type entryKind uint8

const (
	entryChoice  entryKind = iota // goes on at pc
	entryGreedy                   // a repetition of single characters down to a
	entryLazy                     // one of the instruction at pc, with a rounds left, -1 for any number
	entryCap                      // restores the captures of group pc
	entryOpen                     // restores the begin of group pc
	entryKeep                     // restores the begin of the match
	entryBarrier                  // nothing
	entryVerb                     // a backtracking verb, the instruction pc
)

// entry is an entry of the stack. What comes after a backtrack is taken from the topmost ones.
type entry struct {
	kind entryKind
	pc   int32
	pos  int
	a, b int
	env  *frame
}

// frameKind is the kind of a frame.
type frameKind uint8

const (
	frameLoop frameKind = iota
	frameAtomic
	frameLook
	frameNot
	frameCall
	frameAlt
)

// frame is a repetition, group, look-around or call that was entered and not left yet. Frames are immutable and linked to the one around, so that a backtrack only
// restores a pointer.
type frame struct {
	kind   frameKind
	parent *frame
	pos    int // of the text on entering
	n      int // rounds; number of the group
	pc     int // where to go on
	height int // of the stack on entering
	depth  int // of calls
	saved  []int
}

// machine runs a program on a text.
type machine struct {
	*Program
	text         []byte
	from         int // where the search begins
	start, keep  int // where the match begins, as tried and as (\K) reported
	caps         []int
	opens        []int
	stack        []entry
	steps, check int // left; at which number of them interrupted is called next
	pushes       int // left by (*LIMIT_MATCH), -1 for any number
	err          error
	interrupted  func() error
	next         int // where the next try begins, set by a verb; -1 for the next character, -2 to end
}

var machines = sync.Pool{New: func() any { return new(machine) }}

// Find searches for the first match that begins at byte from or later. It returns the byte offsets, in pairs of begin
// and end, of the match and its groups, -1 for a group that took no part; nil if there is no match. interrupted, if not
// nil, is called now and then, and ends the search with its error.
// Errors: ErrSteps, ErrMemory, ErrRecursion; that of interrupted.
func (p *Program) Find(text []byte, from int, interrupted func() error) ([]int, error) {
	return p.find(text, from, false, interrupted)
}

// FindAt is Find for a match that begins exactly at byte from.
func (p *Program) FindAt(text []byte, from int, interrupted func() error) ([]int, error) {
	return p.find(text, from, true, interrupted)
}

func (p *Program) find(text []byte, from int, here bool, interrupted func() error) ([]int, error) {
	m := machines.Get().(*machine)
	defer m.release()
	m.Program, m.text, m.from, m.interrupted, m.err = p, text, from, interrupted, nil
	m.steps = stepsMax + stepsPerByte*len(text)
	m.check = m.steps
	n := 2 * (p.tree.Groups + 1)
	m.caps, m.opens = resize(m.caps, n), resize(m.opens, n/2)
	for at := from; at <= len(text); {
		if p.first != nil && !here {
			for at < len(text) && !p.first[text[at]] {
				at++
			}
			if at == len(text) {
				return nil, nil
			}
		}
		if p.anchored == kindStart && at > 0 || p.anchored == kindFrom && at > from {
			return nil, nil
		}
		m.start, m.keep, m.next, m.pushes = at, at, -1, p.tree.limit-1
		for i := range m.caps {
			m.caps[i] = -1
		}
		clear(m.stack)
		m.stack = m.stack[:0]
		end, ok := m.run(at)
		switch {
		case m.err != nil:
			return nil, m.err
		case ok:
			out := append([]int(nil), m.caps...)
			out[0], out[1] = m.keep, end
			return out, nil
		case here || m.next == -2:
			return nil, nil
		case m.next > at:
			at = m.next
			continue
		case at == len(text):
			return nil, nil
		}
		at += m.advance(at)
	}
	return nil, nil
}

// advance returns the number of bytes to the place of the next try. Where line ends may be CRLF, no try begins between
// the two characters, unless the pattern has one of them.
func (m *machine) advance(at int) int {
	if n := m.tree.newline; m.text[at] == '\r' && !m.tree.lineChar && (n == newlineCRLF || n == newlineAnyCRLF || n == newlineAny) {
		return m.lineEnd(at)
	}
	_, size := m.decode(at)
	return size
}

func resize(s []int, n int) []int {
	if cap(s) < n {
		return make([]int, n)
	}
	return s[:n]
}

// release returns the machine to the pool, without large memory.
func (m *machine) release() {
	stack := m.stack[:cap(m.stack)]
	if len(stack) > 4096 {
		stack = nil
	}
	clear(stack)
	*m = machine{stack: stack[:0], caps: m.caps[:0], opens: m.opens[:0]}
	machines.Put(m)
}

// decode returns the character at a position, which is not the end, and its size. A byte that is no UTF-8 is U+FFFD;
// where texts are UTF-16 code units, a surrogate is a character.
func (m *machine) decode(at int) (rune, int) {
	if b := m.text[at]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	r, size := utf8.DecodeRune(m.text[at:])
	if r == utf8.RuneError && m.tree.script && at+2 < len(m.text) && m.text[at] == 0xed {
		return 0xd000 | rune(m.text[at+1]&0x3f)<<6 | rune(m.text[at+2]&0x3f), 3
	}
	return r, size
}

// decodeLast returns the character before a position, which is not the beginning, and its size.
func (m *machine) decodeLast(at int) (rune, int) {
	if b := m.text[at-1]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	r, size := utf8.DecodeLastRune(m.text[:at])
	if r == utf8.RuneError && m.tree.script && at >= 3 && m.text[at-3] == 0xed {
		return 0xd000 | rune(m.text[at-2]&0x3f)<<6 | rune(m.text[at-1]&0x3f), 3
	}
	return r, size
}

// push adds an entry to the stack.
func (m *machine) push(e entry) {
	if len(m.stack) >= entriesMax {
		m.err = ErrMemory
	}
	if e.kind < entryCap {
		if m.pushes--; m.pushes == 0 {
			m.err = ErrSteps
		}
	}
	m.stack = append(m.stack, e)
}

// undo restores what an entry of a capture holds.
func (m *machine) undo(e *entry) {
	switch e.kind {
	case entryCap:
		m.caps[2*e.pc], m.caps[2*e.pc+1] = e.a, e.b
	case entryOpen:
		m.opens[e.pc] = e.a
	case entryKeep:
		m.keep = e.a
	}
}

// cut removes the choices above a height of the stack, and keeps what restores captures.
func (m *machine) cut(height int) {
	kept := m.stack[:height]
	for _, e := range m.stack[height:] {
		if e.kind >= entryCap && e.kind <= entryKeep {
			kept = append(kept, e)
		}
	}
	clear(m.stack[len(kept):])
	m.stack = kept
}

// drop goes back to a height of the stack.
func (m *machine) drop(height int) {
	for i := len(m.stack) - 1; i >= height; i-- {
		m.undo(&m.stack[i])
	}
	clear(m.stack[height:])
	m.stack = m.stack[:height]
}

// setCap sets the captures of a group.
func (m *machine) setCap(n, from, to int) {
	m.push(entry{kind: entryCap, pc: int32(n), a: m.caps[2*n], b: m.caps[2*n+1]})
	m.caps[2*n], m.caps[2*n+1] = from, to
}

// call returns the innermost frame of a subroutine call, nil if there is none.
func (f *frame) call() *frame {
	for f != nil && f.kind != frameCall {
		f = f.parent
	}
	return f
}

// backtrack goes back to the last choice. ok is false if there is none.
func (m *machine) backtrack() (pc, pos int, env *frame, ok bool) {
	for len(m.stack) > 0 {
		e := m.stack[len(m.stack)-1]
		m.stack[len(m.stack)-1].env = nil
		m.stack = m.stack[:len(m.stack)-1]
		switch e.kind {
		case entryChoice:
			return int(e.pc), e.pos, e.env, true
		case entryGreedy:
			if e.b == 0 { // to the right
				_, size := m.decodeLast(e.pos)
				e.pos -= size
			} else {
				_, size := m.decode(e.pos)
				e.pos += size
			}
			if e.pos != e.a {
				m.stack = append(m.stack, e)
			}
			return int(e.pc), e.pos, e.env, true
		case entryLazy:
			in := &m.code[e.pc]
			next, matched := m.one(in.of, e.pos)
			if !matched {
				continue
			}
			if e.a != 1 {
				m.stack = append(m.stack, entry{kind: entryLazy, pc: e.pc, pos: next, a: max(e.a-1, -1), env: e.env})
			}
			return int(e.pc) + 1, next, e.env, true
		case entryVerb:
			if !m.backOnto(&e) {
				return 0, 0, nil, false
			}
		default:
			m.undo(&e)
		}
	}
	return 0, 0, nil, false
}

// backOnto does what a verb does when a backtrack comes to it. It returns false if this try fails.
func (m *machine) backOnto(e *entry) bool {
	in := &m.code[e.pc]
	next := -1
	switch in.verb {
	case verbMark:
		return true
	case verbThen:
		for f := e.env; f != nil && f.kind != frameCall; f = f.parent {
			if f.kind == frameAlt {
				m.drop(min(f.height+1, len(m.stack)))
				return true
			}
		}
	case verbCommit:
		next = -2
	case verbSkip:
		next = e.pos
		if in.mark != "" {
			next = -3
			for i := len(m.stack) - 1; i >= 0 && next == -3; i-- {
				if s := &m.stack[i]; s.kind == entryVerb && m.code[s.pc].verb == verbMark && m.code[s.pc].mark == in.mark {
					next = s.pos
				}
			}
			if next == -3 {
				return true
			}
		}
	}
	if call := e.env.call(); call != nil { // the effect ends with the called group
		m.drop(call.height)
		return true
	}
	m.next = next
	return false
}

// Advance returns the number of bytes of the first character of a text, 1 for an empty text.
func Advance(text []byte) int {
	_, size := utf8.DecodeRune(text)
	return max(size, 1)
}
