package s3archive

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/minio/minio-go/v7"
)

// holdPrefix begins the names of the objects by which restores hold an archive.
const holdPrefix = "restore-"

// Times of holds. The clocks of this machine and of the store are compared, which S3 requires to differ by at most 15
// minutes.
const (
	holdEvery  = 5 * time.Minute
	holdMax    = 30 * time.Minute // a hold that was not renewed for so long counts no more
	holdForget = 24 * time.Hour   // and is deleted after this time
)

// hold writes an object that holds the archive, and renews it until end is called. Without the right to write there is
// no hold.
func (a *archive) hold(ctx context.Context) (end func()) {
	key := a.key(holdPrefix + rand.Text())
	write := func(ctx context.Context) error {
		_, err := a.put(ctx, key, nil, func(*minio.PutObjectOptions) {})
		return err
	}
	if write(ctx) != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(holdEvery):
				_ = write(ctx) // the next attempt is soon enough
			}
		}
	}()
	return func() {
		cancel()
		<-done
		ctx, cancel := context.WithTimeout(context.Background(), responseMax)
		defer cancel()
		_ = a.client.RemoveObject(ctx, a.bucket, key, minio.RemoveObjectOptions{}) // otherwise Clean does it
	}
}

// Held implements backup.Archive.
func (a *archive) Held(ctx context.Context) (bool, error) {
	list, err := a.objects(ctx, a.key(holdPrefix), false)
	for _, o := range list {
		if time.Since(o.LastModified) < holdMax {
			return true, nil
		}
	}
	return false, err
}

// dropHolds deletes the holds of restores that were killed.
func (a *archive) dropHolds(ctx context.Context) error {
	list, err := a.objects(ctx, a.key(holdPrefix), false)
	for _, o := range list {
		if time.Since(o.LastModified) > holdForget {
			if err := a.remove(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	return err
}
