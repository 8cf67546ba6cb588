package expr

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// anyText converts to a string the values that $convert of older MongoDB releases cannot convert: documents and
// arrays to JSON; regular expressions, timestamps, MinKey and MaxKey to the text that the shell prints.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func anyText(env *mql.Env, s *Scratch, v bson.Value) (bson.Value, error) {
	switch v.Type {
	case bson.TypeDocument, bson.TypeArray:
		buf, err := appendJSON(env, s, s.buffer(), v)
		if err != nil {
			s.giveBuffer(buf)
			return v, err
		}
		if err := s.reserve(env, cap(buf)+len(buf)); err != nil {
			return v, err
		}
		out := s.StringBytes(buf)
		s.giveBuffer(buf)
		return out, nil
	case bson.TypeRegex, bson.TypeTimestamp, bson.TypeMinKey, bson.TypeMaxKey:
		return s.String(shellText(v)), nil
	}
	return v, unsupported(v, bson.TypeString)
}

// shellText returns a value as the shell prints it, for the types of anyText and code; else the type's name.
func shellText(v bson.Value) string {
	switch v.Type {
	case bson.TypeRegex:
		pattern, options, _ := v.Regex()
		return "/" + pattern + "/" + options
	case bson.TypeTimestamp:
		t, i, _ := v.Timestamp()
		return fmt.Sprintf("Timestamp(%d, %d)", t, i)
	case bson.TypeMinKey:
		return "MinKey"
	case bson.TypeMaxKey:
		return "MaxKey"
	case bson.TypeCode:
		code, _ := v.Code()
		return code
	}
	return v.Type.String()
}

// appendJSON appends v as JSON. A value of a type that JSON lacks is printed as a string.
func appendJSON(env *mql.Env, s *Scratch, dst []byte, v bson.Value) ([]byte, error) {
	if err := env.Tick(); err != nil {
		return dst, err
	}
	more := 0
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		more = quotedBytes * len(v.Data)
	}
	if err := s.print(env, dst, more); err != nil {
		return dst, err
	}
	switch v.Type {
	case bson.TypeDocument, bson.TypeArray:
		return appendContainer(env, s, dst, v)
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMissing:
		return append(dst, "null"...), nil
	case bson.TypeInt32, bson.TypeInt64:
		return appendText(dst, v), nil
	case bson.TypeDouble:
		if f, _ := v.Double(); f-f == 0 { // finite
			return appendText(dst, v), nil
		}
	case bson.TypeBool:
		if v.Truthy() {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case bson.TypeString, bson.TypeSymbol:
		text, _ := v.Str()
		return appendQuoted(dst, text)
	}
	text := shellText(v)
	switch v.Type {
	case bson.TypeDouble, bson.TypeDecimal128, bson.TypeDateTime, bson.TypeObjectID, bson.TypeBinary:
		printed, err := toText(env, s, v, convertOptions{format: "auto", hasFormat: true})
		if err != nil {
			return dst, err
		}
		text, _ = printed.Str()
	}
	return appendQuoted(dst, text)
}

// quotedBytes is the maximal number of bytes that a byte of text takes as an escape in JSON.
const quotedBytes = 6

// print counts the memory of more bytes that will be appended to the text dst. Appending may move the text to a
// buffer of twice the size. Short texts are not counted.
// Errors: ExceededMemoryLimit.
func (s *Scratch) print(env *mql.Env, dst []byte, more int) error {
	n := len(dst) + more
	if n > valueBytesMax {
		return tooLarge()
	}
	if n <= freeBytes/4 {
		return nil
	}
	return s.reserve(env, cap(dst)+2*n)
}

// appendContainer prints a document or an array.
func appendContainer(env *mql.Env, s *Scratch, dst []byte, v bson.Value) (_ []byte, err error) {
	open, end := byte('{'), byte('}')
	if v.Type == bson.TypeArray {
		open, end = '[', ']'
	}
	dst = append(dst, open)
	first := len(dst)
	for it := bson.Raw(v.Data).Iter(); it.Next(); {
		if len(dst) > first {
			dst = append(dst, ',')
		}
		if v.Type == bson.TypeDocument {
			if err := s.print(env, dst, quotedBytes*len(it.Name)); err != nil {
				return dst, err
			}
			if dst, err = appendQuoted(dst, string(it.Name)); err != nil {
				return dst, err
			}
			dst = append(dst, ':')
		}
		if dst, err = appendJSON(env, s, dst, it.Value); err != nil {
			return dst, err
		}
	}
	return append(dst, end), nil
}

// appendQuoted prints a JSON string.
func appendQuoted(dst []byte, text string) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}
