//go:build invariants

package writebuf

// poison overwrites released memory, so that a read of it shows as garbage.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
