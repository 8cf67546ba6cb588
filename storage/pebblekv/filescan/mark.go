package filescan

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markName is the name of the file that records how far the write-ahead log was synced.
const markName = "SYNCED"

// markMagic is the start of the mark file, by which it is recognized.
const markMagic = "cantle\x00\x01"

// Mark is a small file beside the write-ahead log with the sequence number after the last write that was synced,
// and perhaps acknowledged. It is written after each sync of the log and never synced itself, so it may be too low
// but is never too high. Without it, a log that has lost its end by damage looks like one cut off by a crash. One
// goroutine at a time calls Set.
type Mark struct {
	file vfs.File
	last uint64
	buf  []byte
}

// OpenMark opens or creates the mark file in the folder of a store, for writing. Errors: errors of the file
// system.
func OpenMark(fs vfs.FS, dir string) (*Mark, error) {
	file, err := fs.OpenReadWrite(fs.PathJoin(dir, markName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &Mark{file: file}, nil
}

// Set writes seq into the mark file, without a sync. A failure is harmless: the old mark is still true.
func (m *Mark) Set(seq uint64) {
	if m == nil || seq == m.last {
		return
	}
	m.buf = binary.LittleEndian.AppendUint64(append(m.buf[:0], markMagic...), seq)
	m.buf = binary.LittleEndian.AppendUint32(m.buf, maskedSum(m.buf))
	if _, err := m.file.WriteAt(m.buf, 0); err == nil {
		m.last = seq
	}
}

// Close closes the file.
func (m *Mark) Close() error {
	if m == nil {
		return nil
	}
	return m.file.Close()
}

// readMark returns the sequence number in the mark file at path, 0 if there is no valid one.
func readMark(fs vfs.FS, path string) uint64 {
	file, err := fs.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	const size = len(markMagic) + 8 + 4
	b := make([]byte, size)
	if n, _ := file.ReadAt(b, 0); n != size || string(b[:len(markMagic)]) != markMagic {
		return 0
	}
	if binary.LittleEndian.Uint32(b[size-4:]) != maskedSum(b[:size-4]) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[len(markMagic):])
}
