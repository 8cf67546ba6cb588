//go:build invariants

package writebuf

// poison overwrites memory that was released, so that a later read of it shows as garbage in tests.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
