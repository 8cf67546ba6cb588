package filescan

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// checkedBytesMin is the size from which on blocks are checked before Pebble checks them. If a
// checksum does not match, Pebble flips each bit of the block's first 40 KB in turn and compares
// again, to report which bit was wrong: 60 ms for a block of 8 KiB, ten seconds for an index of
// 256 KiB, ten minutes for a document of 16 MB, on every read. That report is not used here.
const checkedBytesMin = 16 << 10

// CheckReads wraps a table file for Pebble. When large blocks are read, and once suspect is set all
// blocks, their checksums are compared, and a mismatch is reported as damage without that
// search. Pebble only reads single blocks, each with its trailer, and the footer, which is
// shorter than any block that is checked.
func CheckReads(file vfs.File, suspect *atomic.Bool) vfs.File { return checkedFile{file, suspect} }

type checkedFile struct {
	vfs.File
	checkAll *atomic.Bool
}

// checkAllBytesMin is more than the length of a footer. In blocks that are smaller, the search is
// fast.
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

// always checks all blocks.
var always = func() *atomic.Bool {
	b := new(atomic.Bool)
	b.Store(true)
	return b
}()
