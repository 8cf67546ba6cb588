package mql

import (
	"bytes"
	"unicode/utf8"
)

// longText is the length of a text in bytes from which on its match can be interrupted.
const longText = 1 << 20

// MatchWithin is Match for a command: a match by backtracking, and one in a text of 1 MiB or more, is interrupted when
// the command must end. Errors: the context's cause; 51156 if the match takes too long.
func (r *Regex) MatchWithin(e *Env, text []byte) (bool, error) {
	switch {
	case r.engine(text) != nil:
		return r.match(text, e.Interrupted)
	case len(text) < longText:
		return r.Match(text)
	}
	if ok, decided := r.decide(text); decided {
		return ok, nil
	}
	in := &interruptibleText{Reader: bytes.NewReader(text), env: e}
	ok := r.linear.MatchReader(in)
	return ok && in.err == nil, in.err
}

// MatchLinear is Match for a text that the linear engine matches and that is shorter than 1 MiB; for others, known is
// false unless the literal of the pattern decides. It does not allocate.
func (r *Regex) MatchLinear(text []byte) (ok, known bool) {
	if ok, decided := r.decide(text); decided {
		return ok, true
	}
	if len(text) >= longText || r.engine(text) != nil {
		return false, false
	}
	return r.linear.Match(text), true
}

// FindWithin finds the first match in text, as FindIndex does, for a command: a search by backtracking, and one in
// a text of 1 MiB or more, is interrupted when the command must end. Errors: the context's cause; 51156 if the match
// takes too long.
func (r *Regex) FindWithin(e *Env, text []byte) ([]int, error) {
	if len(text) < longText || r.placer(text) != nil {
		return r.findIndex(text, 0, e.Interrupted)
	}
	in := &interruptibleText{Reader: bytes.NewReader(text), env: e}
	m := r.linear.FindReaderSubmatchIndex(in)
	return m, in.err
}

// EachWithin is Each for a command: a search by backtracking, and one in a text of 1 MiB or more, is interrupted when
// the command must end. Errors: the context's cause; the errors of Each.
func (r *Regex) EachWithin(e *Env, text []byte, f func(m []int) error) error {
	if len(text) < longText || r.placer(text) != nil || r.empty {
		return r.each(text, f, e.Interrupted)
	}
	m, err := r.FindWithin(e, text)
	for n := 0; err == nil && m != nil && n < matchesMax; n++ {
		if err = f(m); err == nil {
			err = e.Spend(tickBytes + m[1] - m[0])
		}
		if err == nil {
			m, err = r.after(e, text, m[1])
		}
	}
	return err
}

// after finds the first match in text that begins at byte place or later; place is not 0. The search also reads the
// character before place, so that ^ and \b see it.
func (r *Regex) after(e *Env, text []byte, place int) ([]int, error) {
	_, size := utf8.DecodeLastRune(text[:place])
	base := place - size
	in := &interruptibleText{Reader: bytes.NewReader(text[base:]), env: e}
	m := r.next().FindReaderSubmatchIndex(in)
	if m == nil || in.err != nil {
		return nil, in.err
	}
	m = m[2:]
	for i, at := range m {
		if at >= 0 {
			m[i] = base + at
		}
	}
	return m, nil
}

// interruptibleText reads a text and fails when its command must end.
type interruptibleText struct {
	*bytes.Reader
	env *Env
	n   int
	err error
}

// ReadRune implements io.RuneReader.
func (t *interruptibleText) ReadRune() (c rune, size int, err error) {
	if t.n++; t.n%1024 == 0 && t.err == nil {
		t.err = t.env.Spend(ticksPerCheck * tickBytes)
	}
	if t.err != nil {
		return 0, 0, t.err
	}
	return t.Reader.ReadRune()
}
