package backup_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/backup/archivetest"
)

// TestFolder runs the tests of archives with a folder.
func TestFolder(t *testing.T) {
	archivetest.Conformance(t, time.Now, func(t *testing.T) backup.Archive { return backup.InFolder(filepath.Join(t.TempDir(), "backups")) })
}
