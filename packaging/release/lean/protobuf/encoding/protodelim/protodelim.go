// Package protodelim is what Prometheus's libraries name of it: the server answers with
// text, whatever it is asked for.
package protodelim

import (
	"errors"
	"io"

	"google.golang.org/protobuf/proto"
)

var errLean = errors.New("protobuf was left out of this program")

// Reader is what messages would be read from.
type Reader interface {
	io.Reader
	io.ByteReader
}

// MarshalTo does nothing.
func MarshalTo(io.Writer, proto.Message) (int, error) { return 0, errLean }

// UnmarshalOptions say how messages would be read.
type UnmarshalOptions struct{ MaxSize int64 }

// UnmarshalFrom does nothing.
func (UnmarshalOptions) UnmarshalFrom(Reader, proto.Message) error { return errLean }
