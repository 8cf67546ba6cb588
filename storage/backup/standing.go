package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// standingName is the file of a data folder with its Standing.
const standingName = "TERM"

// States of a Standing.
const (
	Promoting = "promoting" // the promotion is recorded, and perhaps begun in the archive
	Primary   = "primary"   // the server was promoted
	Deposed   = "deposed"   // another server was promoted in its place
	Restored  = "restored"  // the data were restored from the archive, whose newest term it was
)

// Standing records, in a data folder, the term that concerns it last. A folder without one belongs to a server that was
// never promoted or deposed.
type Standing struct {
	State   string `json:"state"`
	Archive string `json:"archive"` // location
	Term    Term   `json:"of"`
	// RolledBack reports that the writes of a deposed server which do not count are in rollback files.
	RolledBack bool `json:"rolledBack,omitempty"`
}

// ReadStanding reads the standing of a data folder; nil if it has none. Errors: a damaged file; errors of the file system.
func ReadStanding(data string) (*Standing, error) {
	path := filepath.Join(data, standingName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // the start reports a folder that cannot be made
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Standing{}
	text, ok := cutChecksum(text)
	if !ok {
		return nil, fmt.Errorf("%s is damaged", path)
	}
	return s, json.Unmarshal(text, s)
}

// Save stores the standing of a data folder durably.
func (s *Standing) Save(data string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(data, standingName), withChecksum(text))
}

// EndStanding makes a data folder one without a standing.
func EndStanding(data string) error {
	err := os.Remove(filepath.Join(data, standingName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, syncFolder(data))
}
