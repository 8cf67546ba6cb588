package expr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// toText converts a value other than null and missing to a string, like $toString.
//
// Errors: ConversionFailure; 18537 for a year outside of 0 to 9999; 4341115 for binary data without a format; 16493 for
// a string that does not fit into a document; ExceededMemoryLimit.
func toText(env *mql.Env, s *Scratch, v bson.Value, o convertOptions) (bson.Value, error) {
	switch v.Type {
	case bson.TypeString:
		return v, nil
	case bson.TypeBool:
		if v.Data[0] != 0 {
			return s.String("true"), nil
		}
		return s.String("false"), nil
	case bson.TypeDouble, bson.TypeDecimal128, bson.TypeInt32, bson.TypeInt64:
		if o.base != 0 {
			return printInBase(s, v, o.base)
		}
		var buf [48]byte
		return s.StringBytes(appendText(buf[:0], v)), nil
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		if c := civilOf(ms); c.year < 0 || c.year > 9999 {
			return v, mongoerr.New(18537, "Could not convert date to string: date component was outside the supported range of 0-9999: %d", c.year)
		}
		var buf [48]byte
		return s.StringBytes(appendISO(buf[:0], ms)), nil
	case bson.TypeObjectID:
		var buf [24]byte
		hex.Encode(buf[:], v.Data)
		return s.StringBytes(buf[:]), nil
	case bson.TypeBinary:
		return binaryText(env, s, v, o)
	}
	if env.Release.Has(release.EveryTypeToText) {
		return anyText(env, s, v)
	}
	return v, unsupported(v, bson.TypeString)
}

func binaryText(env *mql.Env, s *Scratch, v bson.Value, o convertOptions) (bson.Value, error) {
	sub, b, _ := v.Binary()
	if !o.hasFormat {
		return v, mongoerr.New(4341115, "Format must be specified when converting from 'binData' to 'string'")
	}
	format := o.format
	if format == "auto" {
		if format = "base64"; sub == 4 && len(b) == 16 {
			format = "uuid"
		}
	}
	n := len(b)
	switch format {
	case "uuid":
		if sub != 4 || len(b) != 16 {
			return v, failed("The uuid format is only allowed with the UUID binData subtype")
		}
		n = 36
	case "hex":
		n *= 2
	case "base64":
		n = base64.StdEncoding.EncodedLen(n)
	case "base64url":
		n = base64.RawURLEncoding.EncodedLen(n)
	case "utf8":
		if !utf8.Valid(b) {
			return v, failed("BinData does not represent a valid UTF-8 string")
		}
	}
	if n >= bson.MaxDocumentBytes && format != "utf8" {
		return v, failed("Resulting %s string would be too long", format)
	}
	out, text, err := s.newText(env, "$convert", n)
	if err != nil {
		return v, err
	}
	switch format {
	case "uuid":
		appendUUID(text[:0], b)
	case "hex":
		for i, c := range b {
			const digits = "0123456789ABCDEF"
			text[2*i], text[2*i+1] = digits[c>>4], digits[c&15]
		}
	case "base64":
		base64.StdEncoding.Encode(text, b)
	case "base64url":
		base64.RawURLEncoding.Encode(text, b)
	case "utf8":
		copy(text, b)
	}
	return out, nil
}

// appendUUID prints 16 bytes in groups of 8-4-4-4-12 digits.
func appendUUID(dst, b []byte) []byte {
	for i, n := range [5]int{4, 2, 2, 2, 6} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[:n])
		b = b[n:]
	}
	return dst
}

// parseUUID is the inverse of appendUUID.
func parseUUID(text string) (b []byte, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return nil, false
	}
	b, err := hex.DecodeString(text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:])
	return b, err == nil
}

func toObjectID(s *Scratch, v bson.Value) (bson.Value, error) {
	switch v.Type {
	case bson.TypeObjectID:
		return v, nil
	case bson.TypeString:
		text, _ := v.Text()
		var id [12]byte
		if len(text) != 24 {
			return v, failed("Failed to parse objectId %s: Invalid string length for parsing to OID, expected 24 but found %d", show(v), len(text))
		}
		if _, err := hex.Decode(id[:], text); err != nil {
			return v, failed("Failed to parse objectId %s: Invalid character found in hex string", show(v))
		}
		return s.ObjectID(id), nil
	}
	return v, unsupported(v, bson.TypeObjectID)
}

func toBinary(s *Scratch, v bson.Value, t target, o convertOptions) (bson.Value, error) {
	var buf [8]byte
	switch v.Type {
	case bson.TypeBinary:
		if sub, _, _ := v.Binary(); sub != t.subtype {
			return v, failed("Conversions between different binData subtypes are not supported")
		}
		return v, nil
	case bson.TypeInt32:
		n, _ := v.Int32()
		if o.bigEndian {
			binary.BigEndian.PutUint32(buf[:], uint32(n))
		} else {
			binary.LittleEndian.PutUint32(buf[:], uint32(n))
		}
		return s.Binary(t.subtype, buf[:4]), nil
	case bson.TypeInt64, bson.TypeDouble:
		n := binary.LittleEndian.Uint64(v.Data)
		if o.bigEndian {
			binary.BigEndian.PutUint64(buf[:], n)
		} else {
			binary.LittleEndian.PutUint64(buf[:], n)
		}
		return s.Binary(t.subtype, buf[:]), nil
	case bson.TypeString:
		return textBinary(s, v, t, o)
	}
	return v, unsupported(v, bson.TypeBinary)
}

func textBinary(s *Scratch, v bson.Value, t target, o convertOptions) (bson.Value, error) {
	if !o.hasFormat {
		return v, mongoerr.New(4341115, "Format must be specified when converting from 'string' to 'binData'")
	}
	text, _ := v.Str()
	if (o.format == "uuid") != (t.subtype == 4) {
		return v, failed("Only the UUID format is allowed with the UUID binData subtype, and the other way round")
	}
	var b []byte
	var err error
	ok := true
	switch o.format {
	case "uuid":
		b, ok = parseUUID(text)
	case "hex":
		b, err = hex.DecodeString(text)
	case "base64":
		b, err = base64.StdEncoding.Strict().DecodeString(text)
	case "base64url":
		b, err = base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
	case "utf8":
		b = []byte(text)
	default:
		return v, failed("Format '%s' is not supported when converting from 'string' to 'binData'", o.format)
	}
	if err != nil || !ok || strings.ContainsAny(text, "\r\n") && o.format != "utf8" {
		return v, failed("Input string is not in the %s format", o.format)
	}
	return s.Binary(t.subtype, b), nil
}

func toDate(s *Scratch, v bson.Value, _ convertOptions) (bson.Value, error) {
	switch v.Type {
	case bson.TypeDateTime:
		return v, nil
	case bson.TypeDouble, bson.TypeDecimal128, bson.TypeInt64:
		n, err := toInteger(s, v, bson.TypeInt64, convertOptions{})
		if err != nil {
			return v, err
		}
		ms, _ := n.Int64()
		return s.DateTime(ms), nil
	case bson.TypeTimestamp, bson.TypeObjectID:
		ms, _ := dateOfValue(v)
		return s.DateTime(ms), nil
	case bson.TypeString:
		text, _ := v.Str()
		ms, err := parseDate(text, nil)
		if err != nil {
			return v, err
		}
		return s.DateTime(ms), nil
	}
	return v, unsupported(v, bson.TypeDateTime)
}
