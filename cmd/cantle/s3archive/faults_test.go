package s3archive

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/cantledb/cantle/internal/s3server"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/backup/archivetest"
)

var removal minio.RemoveObjectOptions

// TestFaults runs the tests of archives while one request of ten fails: with 500 or 503, before or after the store has
// done it, or after half of a body.
func TestFaults(t *testing.T) {
	s3server.Need(t)
	failed := int64(0)
	archivetest.Conformance(t, time.Now, func(t *testing.T) backup.Archive {
		s := s3server.Start(t)
		p := s.Interpose(t)
		p.Share.Store(10)
		t.Cleanup(func() { failed += p.Failed.Load() })
		return open(t, s, "shop", p.URL)
	})
	if t.Logf("%d requests failed", failed); failed == 0 {
		t.Error("no request failed")
	}
}

// TestExisting checks that an existing object is not replaced, whether it is sent whole or in parts.
func TestExisting(t *testing.T) {
	s := s3server.Start(t)
	a := open(t, s, "shop", s.URL)
	for _, size := range []int{10, 20 << 20} {
		for i, want := range []error{nil, fs.ErrExist} {
			w, err := a.Create(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, size)
			data[size/2] = byte(i)
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Commit(); !errors.Is(err, want) {
				t.Errorf("%d bytes, writer %d: %v", size, i+1, err)
			}
		}
		if err := a.Remove(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefused checks the errors of wrong credentials, a missing bucket, and a full one.
func TestRefused(t *testing.T) {
	s := s3server.Start(t)
	p := s.Interpose(t)
	a := open(t, s, "shop", p.URL)
	p.Full.Store(true)
	w, err := a.Create(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("a full bucket: %v", err)
	}
	p.Full.Store(false)
	if _, err := a.Size(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what did not fit: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	wrong, err := Open(s.Location("shop", s.URL))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.List(t.Context(), ""); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("wrong credentials: %v", err)
	}
	useCredentials(t)
	none := *s
	none.Bucket = "nothing"
	missing := open(t, &none, "shop", s.URL)
	if _, err := backup.Open(t.Context(), missing); err == nil || errors.Is(err, backup.ErrNoBackup) {
		t.Errorf("a missing bucket: %v", err)
	}
}
