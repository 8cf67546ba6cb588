package expr

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// indexBounds returns the optional arguments start and end of $indexOfBytes and $indexOfCP.
func indexBounds(op string, a []bson.Value) (start, end int, err error) {
	end = 1<<31 - 1
	for i, to := range [2]*int{&start, &end} {
		if len(a) <= i+2 {
			break
		}
		what := [2]string{"starting", "ending"}[i]
		n, ok := asInt32(a[i+2])
		if !ok {
			return 0, 0, mongoerr.New(40096, "%s requires an integral %s index, found: %s", op, what, show(a[i+2]))
		}
		if n < 0 {
			return 0, 0, mongoerr.New(40097, "%s requires a nonnegative %s index, found: %s", op, what, show(a[i+2]))
		}
		*to = int(n)
	}
	return start, end, nil
}

// indexOfBytes is $indexOfBytes: string, token, start, end.
func indexOfBytes(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	if a[0].Type != bson.TypeString {
		return a[0], mongoerr.New(40091, "$indexOfBytes requires a string as the first argument, found: %s", a[0].Type)
	}
	if a[1].Type != bson.TypeString {
		return a[1], mongoerr.New(40092, "$indexOfBytes requires a string as the second argument, found: %s", a[1].Type)
	}
	start, end, err := indexBounds("$indexOfBytes", a)
	if err != nil {
		return a[0], err
	}
	text, _ := a[0].Text()
	token, _ := a[1].Text()
	end = min(end, len(text))
	if start > end {
		return s.Int32(-1), nil
	}
	i := bytes.Index(text[start:end], token)
	if i >= 0 {
		i += start
	}
	return s.Int32(int32(i)), nil
}

// indexOfCP is $indexOfCP: the same in code points.
func indexOfCP(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	if a[0].Type != bson.TypeString {
		return a[0], mongoerr.New(40093, "$indexOfCP requires a string as the first argument, found: %s", a[0].Type)
	}
	if a[1].Type != bson.TypeString {
		return a[1], mongoerr.New(40094, "$indexOfCP requires a string as the second argument, found: %s", a[1].Type)
	}
	start, end, err := indexBounds("$indexOfCP", a)
	if err != nil {
		return a[0], err
	}
	text, _ := a[0].Text()
	token, _ := a[1].Text()
	if len(text) == 0 && len(token) == 0 && start == 0 && len(a) < 4 {
		return s.Int32(0), nil
	}
	// A match of the token must begin, but need not end, before the position end.
	from, to := byteOffset(text, start), byteOffset(text, end)
	if i := bytes.Index(text[from:], token); i >= 0 && from+i < to {
		return s.Int32(int32(codePoints(text[:from+i]))), nil
	}
	return s.Int32(-1), nil
}
