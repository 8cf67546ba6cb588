// Package protoreflect has the names of types that generated code needs.
package protoreflect

// ProtoMessage is a message of protobuf.
type ProtoMessage interface{ ProtoReflect() Message }

// Message would tell what is in a message.
type Message any

// EnumNumber is a value of an enumeration.
type EnumNumber int32

// EnumDescriptor would describe an enumeration.
type EnumDescriptor any

// EnumType would make values of an enumeration.
type EnumType any

// FileDescriptor would describe a file.
type FileDescriptor any
