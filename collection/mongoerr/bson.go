package mongoerr

import (
	"encoding/binary"
	"math"
)

// typeDouble and the others are BSON type bytes. This package imports no other package of the project, so it writes
// the few elements of errors itself.
const (
	typeDouble = 0x01
	typeString = 0x02
	typeDoc    = 0x03
	typeArray  = 0x04
	typeInt32  = 0x10
)

// AppendTo appends the elements of an error reply to an open document: ok, errmsg, code,
// codeName, errorLabels if any, then Fields.
func (e *Error) AppendTo(dst []byte) []byte {
	dst = appendHead(dst, typeDouble, "ok")
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(0))
	dst = appendString(dst, "errmsg", e.Msg)
	dst = e.appendCode(dst)
	dst = e.Labels.AppendTo(dst)
	return append(dst, e.Fields...)
}

// AppendDoc appends a complete error reply document.
func (e *Error) AppendDoc(dst []byte) []byte {
	start := len(dst)
	dst = e.AppendTo(append(dst, 0, 0, 0, 0))
	return closeDoc(dst, start)
}

// AppendTo appends the elements of one member of writeErrors in the reply of a bulk write to an open document:
// index, code, Fields (keyPattern, keyValue, errInfo), errmsg.
func (w WriteError) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, "index", w.Index)
	dst = appendInt32(dst, "code", int32(w.Err.Code))
	dst = append(dst, w.Err.Fields...)
	return appendString(dst, "errmsg", w.Err.Msg)
}

// AppendWriteConcernError appends the elements of a writeConcernError subdocument to an
// open document: code, codeName, errmsg, Fields (errInfo).
func (e *Error) AppendWriteConcernError(dst []byte) []byte {
	dst = e.appendCode(dst)
	dst = appendString(dst, "errmsg", e.Msg)
	return append(dst, e.Fields...)
}

// AppendTo appends the element errorLabels of an error reply to an open document; nothing without labels.
func (l Labels) AppendTo(dst []byte) []byte {
	if l == 0 {
		return dst
	}
	dst = appendHead(dst, typeArray, "errorLabels")
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for i, n := 0, byte('0'); i < len(labelNames); i++ {
		if l&(1<<i) != 0 {
			dst = appendString(dst, string(n), labelNames[i])
			n++
		}
	}
	return closeDoc(dst, start)
}

// appendCode appends code and codeName.
func (e *Error) appendCode(dst []byte) []byte {
	dst = appendInt32(dst, "code", int32(e.Code))
	return appendString(dst, "codeName", e.Code.String())
}

// appendHead appends an element's type and name.
func appendHead(dst []byte, t byte, name string) []byte {
	dst = append(append(dst, t), name...)
	return append(dst, 0)
}

func appendString(dst []byte, name, s string) []byte {
	dst = appendHead(dst, typeString, name)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)+1))
	return append(append(dst, s...), 0)
}

func appendInt32(dst []byte, name string, n int32) []byte {
	dst = appendHead(dst, typeInt32, name)
	return binary.LittleEndian.AppendUint32(dst, uint32(n))
}

// appendRaw appends a complete document.
func appendRaw(dst []byte, name string, doc []byte) []byte {
	return append(appendHead(dst, typeDoc, name), doc...)
}

// closeDoc ends the BSON document that begins at start in dst, and sets its length.
func closeDoc(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}
