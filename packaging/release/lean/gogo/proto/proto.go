// Package proto is what cockroachdb/errors, a library of Pebble, names of gogo/protobuf,
// and does nothing. That library can write errors as protobuf to send them to other
// processes; nobody here does.
package proto

import (
	"errors"
	"strconv"
)

// GoGoProtoPackageIsVersion3 is asked for by generated code.
const GoGoProtoPackageIsVersion3 = true

// ErrLean is the error of what is not done here.
var ErrLean = errors.New("protobuf was left out of this program")

// Message is a message of protobuf.
type Message interface {
	Reset()
	String() string
	ProtoMessage()
}

// Marshal does nothing.
func Marshal(Message) ([]byte, error) { return nil, ErrLean }

// CompactTextString does not tell what is in a message.
func CompactTextString(Message) string { return "(a message of protobuf)" }

// EnumName is the name of a number.
func EnumName(names map[int32]string, n int32) string {
	if name, ok := names[n]; ok {
		return name
	}
	return strconv.Itoa(int(n))
}

// RegisterType does nothing.
func RegisterType(Message, string) {}

// RegisterEnum does nothing.
func RegisterEnum(string, map[int32]string, map[string]int32) {}

// RegisterFile does nothing.
func RegisterFile(string, []byte) {}

// InternalMessageInfo is how generated code would marshal.
type InternalMessageInfo struct{}

// DiscardUnknown does nothing.
func (*InternalMessageInfo) DiscardUnknown(Message) {}

// Marshal does nothing.
func (*InternalMessageInfo) Marshal([]byte, Message, bool) ([]byte, error) { return nil, ErrLean }

// Merge does nothing.
func (*InternalMessageInfo) Merge(Message, Message) {}

// Size is 0.
func (*InternalMessageInfo) Size(Message) int { return 0 }

// Unmarshal does nothing.
func (*InternalMessageInfo) Unmarshal(Message, []byte) error { return ErrLean }
