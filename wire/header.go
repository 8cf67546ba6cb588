package wire

import (
	"encoding/binary"
	"strconv"
)

// Sizes in bytes that server and clients share.
const (
	// HeaderSize is the length of a message header.
	HeaderSize = 16
	// MessageSizeMax is the longest message, header included.
	// Manual: reference/command/hello, maxMessageSizeBytes.
	MessageSizeMax = 48_000_000
)

// OpCode is the type of a message, which defines the bytes after the header.
type OpCode int32

// The opcodes. The server serves OpMsg, OpCompressed and, for the command hello only, OpQuery. An address of the
// server that behaves like an early version of Cosmos DB serves every command as an OpQuery, and OpGetMore and
// OpKillCursors. OpReply answers OpQuery and OpGetMore. The others have names only for logs.
const (
	OpReply       OpCode = 1
	OpUpdate      OpCode = 2001
	OpInsert      OpCode = 2002
	OpQuery       OpCode = 2004
	OpGetMore     OpCode = 2005
	OpDelete      OpCode = 2006
	OpKillCursors OpCode = 2007
	OpCompressed  OpCode = 2012
	OpMsg         OpCode = 2013
)

// String returns the name in the manual.
func (o OpCode) String() string {
	switch o {
	case OpReply:
		return "OP_REPLY"
	case OpUpdate:
		return "OP_UPDATE"
	case OpInsert:
		return "OP_INSERT"
	case OpQuery:
		return "OP_QUERY"
	case OpGetMore:
		return "OP_GET_MORE"
	case OpDelete:
		return "OP_DELETE"
	case OpKillCursors:
		return "OP_KILL_CURSORS"
	case OpCompressed:
		return "OP_COMPRESSED"
	case OpMsg:
		return "OP_MSG"
	}
	return "opcode " + strconv.Itoa(int(o))
}

// Flags are the flag bits of an OP_MSG.
type Flags uint32

// The flag bits of an OP_MSG. A receiver must refuse unknown bits among the lower 16.
const (
	ChecksumPresent Flags = 1 << 0
	MoreToCome      Flags = 1 << 1
	ExhaustAllowed  Flags = 1 << 16

	requiredBits = 0xffff
)

// Header is the head of every message.
type Header struct {
	Length     int32 // of the whole message, header included
	RequestID  int32
	ResponseTo int32
	OpCode     OpCode
}

// parseHeader reads the first HeaderSize bytes of b.
func parseHeader(b []byte) Header {
	_ = b[HeaderSize-1]
	return Header{
		Length:     int32(binary.LittleEndian.Uint32(b)),
		RequestID:  int32(binary.LittleEndian.Uint32(b[4:])),
		ResponseTo: int32(binary.LittleEndian.Uint32(b[8:])),
		OpCode:     OpCode(binary.LittleEndian.Uint32(b[12:])),
	}
}

// put writes the header over the first HeaderSize bytes of b.
func (h Header) put(b []byte) {
	_ = b[HeaderSize-1]
	binary.LittleEndian.PutUint32(b, uint32(h.Length))
	binary.LittleEndian.PutUint32(b[4:], uint32(h.RequestID))
	binary.LittleEndian.PutUint32(b[8:], uint32(h.ResponseTo))
	binary.LittleEndian.PutUint32(b[12:], uint32(h.OpCode))
}
