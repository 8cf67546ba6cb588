package expr

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"

	"github.com/cespare/xxhash/v2"
)

// digest is a hash algorithm of $hash and $hexHash: it returns the hash of data.
type digest func(data []byte) []byte

// digestNamed returns an algorithm by its name; nil if there is none.
func digestNamed(name string) digest {
	switch name {
	case "md5":
		return func(data []byte) []byte { sum := md5.Sum(data); return sum[:] }
	case "sha256":
		return func(data []byte) []byte { sum := sha256.Sum256(data); return sum[:] }
	case "xxh64":
		return func(data []byte) []byte { return binary.BigEndian.AppendUint64(nil, xxhash.Sum64(data)) }
	}
	return nil
}

// digestSignature is the signature of $hash and $hexHash.
var digestSignature = &signature{
	fields:    []field{{name: "input", missing: mongoerr.IDLFailedToParse}, {name: "algorithm", missing: mongoerr.IDLFailedToParse}},
	notObject: mongoerr.FailedToParse, unknown: mongoerr.IDLUnknownField,
}

// parseDigest returns the parse function of $hash or $hexHash. result converts the bytes of the hash to the
// operator's value. The algorithm must be constant.
//
// Errors: FailedToParse, IDLFailedToParse, IDLUnknownField, TypeMismatch, BadValue.
func parseDigest(result func(*Scratch, []byte) bson.Value) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		args, err := p.namedArgs(op, digestSignature, v)
		if err != nil {
			return nil, err
		}
		algorithm, ok := IsConstant(args[1])
		name, isText := algorithm.Str()
		if !ok || !isText {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "%s requires that 'algorithm' be a constant string", op.Name)
		}
		sum := digestNamed(name)
		if sum == nil {
			return nil, mongoerr.New(mongoerr.BadValue, "%s knows the algorithms 'md5', 'sha256' and 'xxh64', not '%s'", op.Name, name)
		}
		fn := func(_ *mql.Env, s *Scratch, a []bson.Value, _ given) (bson.Value, error) {
			data, err := digestInput(op.Name, a[0])
			if err != nil || data == nil {
				return bson.Null, err
			}
			return result(s, sum(data)), nil
		}
		return p.fold(&namedCall{name: op.Name, sig: digestSignature, fn: fn, args: args})
	}
}

// digestInput returns the bytes to hash; nil for null and missing.
//
// Errors: TypeMismatch, BadValue.
func digestInput(op string, v bson.Value) ([]byte, error) {
	switch {
	case v.IsNullish():
		return nil, nil
	case v.Type == bson.TypeString:
		text, _ := v.Text()
		if !utf8.Valid(text) {
			return nil, mongoerr.New(mongoerr.BadValue, "%s requires a string of valid UTF-8", op)
		}
		return text, nil
	case v.Type == bson.TypeBinary:
		_, data, _ := v.Binary()
		return data, nil
	}
	return nil, mongoerr.New(mongoerr.TypeMismatch, "%s requires that 'input' be a string or binary data, found: %s", op, v.Type)
}

// digestBytes returns the value of $hash.
func digestBytes(s *Scratch, sum []byte) bson.Value { return s.Binary(0, sum) }

// digestText returns the value of $hexHash, in upper-case digits.
func digestText(s *Scratch, sum []byte) bson.Value {
	text := make([]byte, 0, 2*sha256.Size)
	for _, c := range sum {
		const digits = "0123456789ABCDEF"
		text = append(text, digits[c>>4], digits[c&15])
	}
	return s.StringBytes(text)
}
