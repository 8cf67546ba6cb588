package s3archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/minio/minio-go/v7"

	"github.com/cantledb/cantle/storage/backup"
)

// partBytes is the size of a part of an upload in bytes: a writer holds one part in memory. An upload has at most
// 10,000 parts, so a file has at most 156 GiB.
const partBytes = 16 << 20

// writer writes an object that does not exist. A small one is sent by Commit, in one request.
type writer struct {
	a      *archive
	ctx    context.Context
	key    string
	part   bytes.Buffer
	upload string // ID of the upload in parts; "" = none yet
	parts  []minio.CompletePart
	sum    hash.Hash // of the parts sent
	size   int64
}

// Create implements backup.Archive.
func (a *archive) Create(ctx context.Context, name string) (backup.Writer, error) {
	return &writer{a: a, ctx: ctx, key: a.key(name), sum: sha256.New()}, nil
}

// Local implements backup.Writer.
func (w *writer) Local() string { return "" }

// Write implements io.Writer.
func (w *writer) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		k := min(len(b), partBytes-w.part.Len())
		w.part.Write(b[:k])
		b, n, w.size = b[k:], n+k, w.size+int64(k)
		if w.part.Len() == partBytes {
			if err := w.send(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// checksum returns the SHA-256 of a body, also in hexadecimal, with which the request is signed; the store compares it.
func checksum(body []byte) (sum [sha256.Size]byte, text string) {
	sum = sha256.Sum256(body)
	return sum, hex.EncodeToString(sum[:])
}

// send uploads the collected part.
func (w *writer) send() error {
	ctx, done, err := w.a.fenced(w.ctx)
	if err != nil {
		return err
	}
	defer done()
	if w.upload == "" {
		err := again(ctx, func() (err error) {
			w.upload, err = w.a.client.NewMultipartUpload(ctx, w.a.bucket, w.key, minio.PutObjectOptions{})
			return err
		})
		if err != nil {
			return w.a.failure(err)
		}
	}
	number := len(w.parts) + 1
	body := w.part.Bytes()
	_, signed := checksum(body)
	o := minio.PutObjectPartOptions{Sha256Hex: signed, DisableContentSha256: true}
	p, err := w.a.client.PutObjectPart(ctx, w.a.bucket, w.key, w.upload, number, bytes.NewReader(body), int64(len(body)), o)
	if err != nil {
		return w.a.failure(err)
	}
	w.parts = append(w.parts, minio.CompletePart{PartNumber: number, ETag: p.ETag})
	w.sum.Write(body)
	w.part.Reset()
	return nil
}

// Commit implements backup.Writer. Errors: fs.ErrExist if the object exists with another content.
func (w *writer) Commit() error {
	err := w.commit()
	if err != nil {
		w.abort()
	}
	return err
}

func (w *writer) commit() error {
	if w.upload == "" {
		ctx, done, err := w.a.fenced(w.ctx)
		if err != nil {
			return err
		}
		defer done()
		_, err = w.a.put(ctx, w.key, w.part.Bytes(), func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
		return err
	}
	if w.part.Len() > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	ctx, done, err := w.a.fenced(w.ctx)
	if err != nil {
		return err
	}
	defer done()
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	err = again(ctx, func() error {
		_, err := w.a.client.CompleteMultipartUpload(ctx, w.a.bucket, w.key, w.upload, w.parts, o)
		return err
	})
	if err = w.a.failure(err); errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return w.a.settled(ctx, w.key, w.size, w.sum.Sum(nil), err)
	}
	return err
}

// put writes a small object by one request under a condition, and returns its entity tag. Errors: fs.ErrExist if the
// condition fails.
func (a *archive) put(ctx context.Context, key string, body []byte, condition func(*minio.PutObjectOptions)) (etag string, err error) {
	o := minio.PutObjectOptions{DisableContentSha256: true} // of parts of the body; that of the whole is given
	condition(&o)
	sum, signed := checksum(body)
	info, err := a.client.PutObject(ctx, a.bucket, key, bytes.NewReader(body), int64(len(body)), "", signed, o)
	if err = a.failure(err); errors.Is(err, fs.ErrExist) {
		if err := a.settled(ctx, key, int64(len(body)), sum[:], err); err != nil {
			return "", err
		}
		now, err := a.client.StatObject(ctx, a.bucket, key, minio.StatObjectOptions{})
		return now.ETag, a.failure(err)
	}
	return info.ETag, err
}

// settled returns nil if an object has a content already: then an earlier attempt of the request succeeded and its
// response was lost. Otherwise it returns the error of the request, failed.
func (a *archive) settled(ctx context.Context, key string, size int64, sum []byte, failed error) error {
	info, err := a.client.StatObject(ctx, a.bucket, key, minio.StatObjectOptions{})
	if err != nil || info.Size != size {
		return failed
	}
	r := &reader{a: a, ctx: ctx, key: key}
	if err := r.open(); err != nil {
		return failed
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil || !bytes.Equal(h.Sum(nil), sum) {
		return fmt.Errorf("%s exists with another content: %w", key, failed)
	}
	return nil
}

// Abandon implements backup.Writer.
func (w *writer) Abandon() { w.abort() }

// abort ends an upload in parts, so that the store deletes the parts. If that fails, Clean does it.
func (w *writer) abort() {
	if w.upload != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), responseMax)
		defer cancel()
		_ = w.a.client.AbortMultipartUpload(ctx, w.a.bucket, w.key, w.upload)
	}
}
