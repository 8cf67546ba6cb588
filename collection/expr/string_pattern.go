package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// eachMatch calls f for up to most matches (all for -1) of the regular expression pattern in text, the matches of
// $regexFindAll.
// Errors: those of compile, of a match that takes too many steps, of f, and the reason why the command must end.
func (r *regexCall) eachMatch(env *mql.Env, pattern bson.Value, text []byte, most int, f func(m []int) error) error {
	c, err := r.compile(pattern, bson.Value{})
	if err != nil {
		return err
	}
	done, err := c.Begin(env, text)
	if err != nil {
		return err
	}
	defer done()
	if err = env.Spend(len(text)); err != nil {
		return err
	}
	if most == 1 {
		m, err := c.FindWithin(env, text)
		if err != nil || m == nil {
			return err
		}
		return f(m)
	}
	return c.EachWithin(env, text, func(m []int) error {
		if err := f(m); err != nil {
			return err
		}
		return env.Tick()
	})
}

// replace is $replaceOne or $replaceAll of up to most matches of the regular expression a[1] in the text a[0] by the
// text a[2], which is taken literally.
func (r *regexCall) replace(env *mql.Env, s *Scratch, a []bson.Value, most int) (bson.Value, error) {
	input, _ := a[0].Text()
	with, _ := a[2].Text()
	var spans []int32 // begin and end of each match
	length := len(input)
	err := r.eachMatch(env, a[1], input, most, func(m []int) error {
		if length += len(with) - (m[1] - m[0]); length >= bson.MaxDocumentBytes {
			return longString(r.name)
		}
		if len(spans) == cap(spans) {
			if err := s.reserve(env, 4*(2*cap(spans)+2)); err != nil {
				return err
			}
		}
		spans = append(spans, int32(m[0]), int32(m[1]))
		return nil
	})
	if err != nil {
		return bson.Value{}, err
	}
	if len(spans) == 0 {
		return a[0], nil
	}
	out, text, err := s.newText(env, r.name, length)
	if err != nil {
		return out, err
	}
	at := 0
	for i := 0; i < len(spans); i += 2 {
		text = text[copy(text, input[at:spans[i]]):]
		text = text[copy(text, with):]
		at = int(spans[i+1])
	}
	copy(text, input[at:])
	return out, nil
}

// split is $split of the text a[0] by the regular expression a[1]: the parts between the matches, and between them
// what the groups of the expression have captured.
func (r *regexCall) split(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	text, _ := a[0].Text()
	b := s.newArray()
	part := func(t []byte) error {
		if err := s.room(env, b, len(t)+headBytes); err != nil {
			return err
		}
		b.StringBytes("", t)
		return nil
	}
	at := 0
	err := r.eachMatch(env, a[1], text, -1, func(m []int) error {
		if err := part(text[at:m[0]]); err != nil {
			return err
		}
		at = m[1]
		for i := 2; i < len(m); i += 2 {
			if m[i] < 0 {
				continue
			}
			if err := part(text[m[i]:m[i+1]]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = part(text[at:])
	}
	if err != nil {
		s.drop(b)
		return bson.Value{}, err
	}
	return s.endArray(env, b)
}
