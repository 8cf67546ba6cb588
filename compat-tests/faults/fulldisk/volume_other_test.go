//go:build !linux

package fulldisk

import "testing"

type volume struct{ path string }

func newVolume(tb testing.TB, _ int, _ bool) *volume {
	tb.Skip("file systems are mounted on Linux only")
	return nil
}

func (*volume) data() string                             { return "" }
func (*volume) free() int64                              { return 0 }
func (*volume) stranger(testing.TB, int64) (gone func()) { return func() {} }
