package backup

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// Source is an open store with files.
type Source interface {
	// Checkpoint is that of storage.Store.
	Checkpoint(ctx context.Context, dir string) error
	// Folder returns the folder of its files.
	Folder() string
	// KeepWrites, Keeping, EndKeeping, MarkPlace, Writes and DropWrites are those of pebblekv.
	KeepWrites() (folder string, err error)
	Keeping() (folder string, on bool)
	EndKeeping() error
	MarkPlace(ctx context.Context) (before uint64, behind pebblekv.Place, err error)
	Writes(ctx context.Context, from, upTo uint64, visit func(pebblekv.Write) error) error
	DropWrites(before uint64) error
}

// identity holds what a data folder stores about its backups. It is a file beside the kept logs. Backups do
// not contain it, so a restored folder has another timeline.
type identity struct {
	Timeline string  `json:"timeline"`
	Places   []place `json:"places"` // the newest last
	path     string
}

// place is a backup folder that the data folder was backed up to.
type place struct {
	ID   string `json:"id"`
	Path string `json:"path,omitempty"` // its path then
	// Nonces are those of the last segment and of the one that was about to follow. If the backup folder ends
	// with another segment, a copy of this data folder has written to it.
	Nonces [2]uint64 `json:"nonces"`
}

// placesMax is the maximum number of places stored.
const placesMax = 16

// readIdentity reads the file, or creates a timeline.
func readIdentity(folder string) (*identity, error) {
	id := &identity{path: filepath.Join(folder, "TIMELINE")}
	data, err := os.ReadFile(id.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, ok := unsealed(data); ok && json.Unmarshal(text, id) == nil && id.Timeline != "" {
		return id, nil
	}
	id.begin()
	return id, id.save()
}

// begin creates a new timeline.
func (id *identity) begin() {
	id.Timeline, id.Places = hex.EncodeToString(random()), nil
}

// random returns eight random bytes.
func random() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return b
}

// fits reports whether the last segment of a timeline in a backup folder was written from this data folder.
func (id *identity) fits(dir string, last *Segment) bool {
	i := slices.IndexFunc(id.Places, func(p place) bool { return p.ID == dir })
	return i >= 0 && slices.Contains(id.Places[i].Nonces[:], last.Nonce)
}

// follow records that a segment is about to be written, and returns its nonce.
func (id *identity) follow(f *Folder, last *Segment) (nonce uint64, err error) {
	p := place{ID: f.ID, Path: f.Dir}
	id.Places = slices.DeleteFunc(id.Places, func(p place) bool { return p.ID == f.ID || p.Path == f.Dir })
	if last != nil {
		p.Nonces[0] = last.Nonce
	}
	nonce = binary.BigEndian.Uint64(random())
	p.Nonces[1] = nonce
	id.Places = append(id.Places, p)
	if n := len(id.Places); n > placesMax {
		id.Places = id.Places[n-placesMax:]
	}
	return nonce, id.save()
}

func (id *identity) save() error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return writeWhole(id.path, sealed(text))
}

// Span is a range of moments that can be restored.
type Span struct{ From, To storage.Timestamp }

// Holds reports whether a moment lies in the span.
func (s Span) Holds(ts storage.Timestamp) bool { return s.From <= ts && ts <= s.To }

// left refuses a folder that had backups of this data folder and now is no backup folder at all: likely a
// disk is not mounted, and the folder is the mount point. Errors: ErrGone.
func (id *identity) left(dir string) error {
	if !slices.ContainsFunc(id.Places, func(p place) bool { return p.Path == dir }) || isFolder(dir) {
		return nil
	}
	return fmt.Errorf("the folder %s: %w", dir, ErrGone)
}
