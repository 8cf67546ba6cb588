// Package timestamppb is the type of times in Prometheus's messages.
package timestamppb

import (
	"errors"
	"time"
)

// Timestamp is a time.
type Timestamp struct {
	Seconds int64
	Nanos   int32
}

// New makes one.
func New(t time.Time) *Timestamp { return &Timestamp{t.Unix(), int32(t.Nanosecond())} }

// AsTime is the time in UTC.
func (t *Timestamp) AsTime() time.Time { return time.Unix(t.GetSeconds(), int64(t.GetNanos())).UTC() }

// GetSeconds are the seconds since 1970.
func (t *Timestamp) GetSeconds() int64 {
	if t == nil {
		return 0
	}
	return t.Seconds
}

// GetNanos are the nanoseconds of that second.
func (t *Timestamp) GetNanos() int32 {
	if t == nil {
		return 0
	}
	return t.Nanos
}

// CheckValid fails where there is no time.
func (t *Timestamp) CheckValid() error {
	if t == nil {
		return errors.New("there is no time")
	}
	return nil
}
