// Package types is what cockroachdb/errors names of the types of gogo/protobuf; see package
// proto.
package types

import "github.com/gogo/protobuf/proto"

// Any would be a message of any type.
type Any struct{ TypeUrl string }

// Size is 0.
func (*Any) Size() int { return 0 }

// MarshalToSizedBuffer does nothing.
func (*Any) MarshalToSizedBuffer([]byte) (int, error) { return 0, proto.ErrLean }

// Unmarshal does nothing.
func (*Any) Unmarshal([]byte) error { return proto.ErrLean }

// DynamicAny would hold the message of an Any.
type DynamicAny struct{ proto.Message }

// MarshalAny does nothing.
func MarshalAny(proto.Message) (*Any, error) { return nil, proto.ErrLean }

// UnmarshalAny does nothing.
func UnmarshalAny(*Any, *DynamicAny) error { return proto.ErrLean }
