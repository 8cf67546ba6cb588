// Package protoimpl is what the code generated for Prometheus's messages builds upon.
// Nothing is registered and nothing reflected.
package protoimpl

import (
	"encoding/json"
	"errors"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Versions and ways that generated code asks for.
const (
	MinVersion    = 20
	MaxVersion    = 20
	UnsafeEnabled = false
)

// EnforceVersion is a version that must not be negative.
type EnforceVersion uint

// SizeCache is a field of each message.
type SizeCache = struct{}

// UnknownFields is a field of each message.
type UnknownFields = struct{}

// MessageState is a field of each message.
type MessageState struct{}

// StoreMessageInfo does nothing.
func (*MessageState) StoreMessageInfo(*MessageInfo) {}

// LoadMessageInfo returns nothing.
func (*MessageState) LoadMessageInfo() *MessageInfo { return nil }

// MessageInfo would describe a message.
type MessageInfo struct {
	Exporter      any
	OneofWrappers []any
}

// MessageOf returns nothing.
func (*MessageInfo) MessageOf(any) protoreflect.Message { return nil }

// EnumInfo would describe an enumeration.
type EnumInfo struct{}

// Descriptor returns nothing.
func (*EnumInfo) Descriptor() protoreflect.EnumDescriptor { return nil }

// DescBuilder has what is known of a file.
type DescBuilder struct {
	GoPackagePath                                     string
	RawDescriptor                                     []byte
	NumEnums, NumMessages, NumExtensions, NumServices int32
}

// TypeBuilder has what is known of the types of a file.
type TypeBuilder struct {
	File              DescBuilder
	GoTypes           []any
	DependencyIndexes []int32
	EnumInfos         []EnumInfo
	MessageInfos      []MessageInfo
}

// Built is what generated code takes from what was built.
type Built struct{ File protoreflect.FileDescriptor }

// Build builds nothing.
func (TypeBuilder) Build() Built { return Built{} }

// Pointer is where a message is.
type Pointer any

// X has what generated code calls.
var X export

type export struct{}

// CompressGZIP returns nothing.
func (export) CompressGZIP([]byte) []byte { return nil }

// MessageStateOf is not called, as UnsafeEnabled says.
func (export) MessageStateOf(Pointer) *MessageState { return &MessageState{} }

// EnumStringOf prints a value as a number.
func (export) EnumStringOf(_ protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	return strconv.Itoa(int(n))
}

// UnmarshalJSONEnum fails.
func (export) UnmarshalJSONEnum(protoreflect.EnumDescriptor, []byte) (protoreflect.EnumNumber, error) {
	return 0, errors.New("protobuf was left out of this program")
}

// MessageStringOf prints a message, which messages of errors do.
func (export) MessageStringOf(m any) string {
	text, _ := json.Marshal(m)
	return string(text)
}
