package mql

import "bytes"

// longText is how long a text is before the command may end while it is matched.
const longText = 1 << 20

// MatchWithin is Match for a command: on the linear engine it ends with it.
// Errors: the context's cause.
func (r *Regex) MatchWithin(e *Env, text []byte) (bool, error) {
	if len(text) < longText || r.engine(text) != nil {
		return r.Match(text), nil
	}
	in := &endingText{Reader: bytes.NewReader(text), env: e}
	ok := r.linear.MatchReader(in)
	return ok && in.err == nil, in.err
}

// endingText is a text that ends when its command does.
type endingText struct {
	*bytes.Reader
	env *Env
	n   int
	err error
}

// ReadRune see io.RuneReader.
func (t *endingText) ReadRune() (c rune, size int, err error) {
	if t.n++; t.n%1024 == 0 && t.err == nil {
		t.err = t.env.Spend(looks * tickBytes)
	}
	if t.err != nil {
		return 0, 0, t.err
	}
	return t.Reader.ReadRune()
}
