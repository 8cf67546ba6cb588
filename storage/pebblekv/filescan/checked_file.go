package filescan

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// checkedBytesMin is the size in bytes from which on this package checks a block before Pebble does. If a checksum
// does not match, Pebble flips each bit of the block's first 40 KB in turn and compares again, to report which bit
// was wrong: 60 ms for a block of 8 KiB, ten seconds for an index of 256 KiB, ten minutes for a document of 16 MB,
// on every read. Its report is not used here.
const checkedBytesMin = 16 << 10

// CheckReads wraps a table file for Pebble, so that damage is reported fast: it compares the checksums of large
// blocks, and once suspect is set of all from 256 bytes on, and returns a corruption error without Pebble's search
// for the wrong bit. Pebble only reads single blocks, each with its trailer, and the footer, which is shorter than
// any block that is checked.
func CheckReads(file vfs.File, suspect *atomic.Bool) vfs.File { return checkedFile{file, suspect} }

type checkedFile struct {
	vfs.File
	checkAll *atomic.Bool
}

// checkAllBytesMin is the size in bytes below which no block is checked here. It is more than the length of a
// footer, which has no such checksum, and in smaller blocks Pebble's search for the wrong bit is fast.
const checkAllBytesMin = 256

// ReadAt implements vfs.File.
func (j checkedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := j.File.ReadAt(p, at)
	if err != nil || n < checkAllBytesMin || n < checkedBytesMin && !j.checkAll.Load() {
		return n, err
	}
	if size := n - block.TrailerLen; maskedSum(p[:size+1]) != le32(p[size+1:n]) {
		return n, fmt.Errorf("block %d/%d: %w", at, size, pebble.ErrCorruption)
	}
	return n, nil
}

// always is a suspect flag for CheckReads that is always set: all blocks from checkAllBytesMin on are checked.
var always = func() *atomic.Bool {
	b := new(atomic.Bool)
	b.Store(true)
	return b
}()
