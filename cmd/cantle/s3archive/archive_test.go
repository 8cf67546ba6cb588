package s3archive

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/s3server"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/backup/archivetest"
)

// useCredentials sets the environment variables of a server's credentials.
func useCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", s3server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3server.SecretKey)
}

// open returns the archive at a path in the bucket of a server.
func open(t *testing.T, s *s3server.Server, path, endpoint string) *archive {
	t.Helper()
	useCredentials(t)
	a, err := Open(s.Location(path, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	return a.(*archive)
}

// TestConformance runs the tests of archives with an object store, in a bucket of its own and below a path.
func TestConformance(t *testing.T) {
	s3server.Need(t)
	for _, path := range []string{"", "shop/backups"} {
		t.Run("/"+path, func(t *testing.T) {
			archivetest.Conformance(t, time.Now, func(t *testing.T) backup.Archive {
				s := s3server.Start(t)
				return open(t, s, path, s.URL)
			})
		})
	}
}
