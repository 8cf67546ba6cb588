package wreck

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// judgedBytes is the size from which on blocks are judged before Pebble does. Where a
// checksum does not fit, Pebble turns round each bit of the block's first 40 KB and
// compares again, to say which bit it was: 60 ms for a block of 8 KiB, ten seconds for an index
// of 256 KiB, ten minutes for a document of 16 MB, at every read. Nobody asks for that bit.
const judgedBytes = 16 << 10

// Judged is a table file for Pebble to read: large blocks, and once suspect is set all
// blocks, are compared with their checksums where they are read, and those that fail are damaged
// without a search. Pebble reads nothing but single blocks, each with its trailer, and the
// footer, which is shorter than what is compared.
func Judged(file vfs.File, suspect *atomic.Bool) vfs.File { return judged{file, suspect} }

type judged struct {
	vfs.File
	suspect *atomic.Bool
}

// smallestJudged is more than the length of a footer. Searching less costs nothing.
const smallestJudged = 256

// ReadAt implements vfs.File.
func (j judged) ReadAt(p []byte, at int64) (int, error) {
	n, err := j.File.ReadAt(p, at)
	if err != nil || n < smallestJudged || n < judgedBytes && !j.suspect.Load() {
		return n, err
	}
	if size := n - block.TrailerLen; maskedSum(p[:size+1]) != le32(p[size+1:n]) {
		return n, fmt.Errorf("block %d/%d: %w", at, size, pebble.ErrCorruption)
	}
	return n, nil
}

// always judges all blocks.
var always = func() *atomic.Bool {
	b := new(atomic.Bool)
	b.Store(true)
	return b
}()
