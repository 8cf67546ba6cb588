package expr

import (
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

var trimSignature = &signature{
	fields:    []field{{name: "input", missing: 50695}, {name: "chars"}},
	notObject: 50696, unknown: 50694,
}

// trim returns the functions of $trim, $ltrim and $rtrim.
func trim(op string, left, right bool) namedFunction {
	return func(env *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
		if a[0].IsNullish() {
			return bson.Null, nil
		}
		if a[0].Type != bson.TypeString {
			return a[0], mongoerr.New(50699, "%s requires its input to be a string, got %s instead.", op, a[0].Type)
		}
		text, _ := a[0].Text()
		chars := trimDefault
		if g.has(1) {
			if a[1].IsNullish() {
				return bson.Null, nil
			}
			if a[1].Type != bson.TypeString {
				return a[1], mongoerr.New(50700, "%s requires 'chars' to be a string, got %s instead.", op, a[1].Type)
			}
			t, _ := a[1].Text()
			if utf8.RuneCount(t) > trimCharsMax && env.Release.Has(release.TrimBounded) {
				return a[1], mongoerr.New(mongoerr.BadValue, "%s requires 'chars' to be of at most %d characters", op, trimCharsMax)
			}
			chars = string(t)
		}
		set := 0
		if len(chars) > charsScanned {
			set = min(len(chars), utf8.MaxRune) * lookupBytes
		}
		if err := s.take(env, set); err != nil {
			return a[0], err
		}
		defer func() { s.outside -= set }()
		cut := charSet(chars)
		for left && len(text) > 0 {
			if err := env.Tick(); err != nil {
				return a[0], err
			}
			_, n := utf8.DecodeRune(text)
			if !cut(text[:n]) {
				break
			}
			text = text[n:]
		}
		for right && len(text) > 0 {
			if err := env.Tick(); err != nil {
				return a[0], err
			}
			_, n := utf8.DecodeLastRune(text)
			if !cut(text[len(text)-n:]) {
				break
			}
			text = text[:len(text)-n]
		}
		return s.StringBytes(text), nil
	}
}

// charsScanned is the maximal length in bytes of a list of characters in which $trim searches without a map.
const charsScanned = 64

// charSet returns a function that reports whether a character is in chars. It scans a short list, and converts
// a long one to a map.
func charSet(chars string) func(c []byte) bool {
	if len(chars) <= charsScanned {
		return func(c []byte) bool { return hasChar(chars, c) }
	}
	set := map[string]struct{}{}
	for len(chars) > 0 {
		_, n := utf8.DecodeRuneInString(chars)
		set[chars[:n]] = struct{}{}
		chars = chars[n:]
	}
	return func(c []byte) bool { _, ok := set[string(c)]; return ok }
}

// trimCharsMax is the maximal number of characters in the argument `chars` of $trim, see release.TrimBounded.
const trimCharsMax = 4096

// hasChar reports whether c is one of the characters, compared as bytes.
func hasChar(chars string, c []byte) bool {
	for len(chars) > 0 {
		_, n := utf8.DecodeRuneInString(chars)
		if chars[:n] == string(c) {
			return true
		}
		chars = chars[n:]
	}
	return false
}

// trimDefault are the characters trimmed without `chars`.
// Manual: reference/operator/aggregation/trim#whitespace-characters.
const trimDefault = "\x00 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
