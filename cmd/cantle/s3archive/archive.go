package s3archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/cantledb/cantle/storage/backup"
)

// Limits of requests.
const (
	responseMax = 30 * time.Second // time until a response begins
	triesMax    = 8                // attempts of a request, with random times up to a second in between
	listMax     = 1000             // names in a response, the most that S3 allows
	removers    = 8                // requests at a time that delete the files of a folder
)

// archive is a backup.Archive in a bucket.
type archive struct {
	client *minio.Core
	bucket string
	prefix string // of the names of its objects, without slashes at its ends; "" = the whole bucket
	url    *url.URL
	terms  terms
	lease  atomic.Pointer[lease] // the right to write; nil = this process does not write
}

// key returns the name of the object of a file.
func (a *archive) key(name string) string { return path.Join(a.prefix, name) }

// Location implements backup.Archive.
func (a *archive) Location() string { return a.url.String() }

// Within implements backup.Archive.
func (a *archive) Within(name string) backup.Archive {
	u := *a.url
	u.Path = "/" + a.key(name)
	return &archive{client: a.client, bucket: a.bucket, prefix: a.key(name), url: &u, terms: a.terms}
}

// Request implements backup.Archive.
func (a *archive) Request(to string) (backup.Archive, error) {
	name := to
	if strings.HasPrefix(to, Scheme) {
		u, err := url.Parse(to)
		if err != nil {
			return nil, err
		}
		name = strings.Trim(path.Clean("/"+u.Path), "/")
		rest, ok := strings.CutPrefix(name+"/", a.prefix+"/")
		if a.prefix == "" {
			rest, ok = name, true
		}
		if name = strings.TrimSuffix(rest, "/"); u.Host != a.bucket || !ok {
			name = "/"
		}
	}
	switch {
	case name == "":
		return a, nil
	case strings.ContainsAny(name, "/\\\x00?#") || backup.Reserved(name):
		return nil, fmt.Errorf("%q is neither the server's place for backups, %s, nor one directly in it: leave 'to' out, or give it a name as in to: \"weekly\"", to, a.Location())
	}
	return a.Within(name), nil
}

// Prepare implements backup.Archive. The bucket must exist.
func (a *archive) Prepare(context.Context) error { return nil }

// failure returns an error of the library as one of the interface.
func (a *archive) failure(err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	switch {
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("the bucket %s does not exist, and is not created", a.bucket)
	case r.Code == "NoSuchKey" || r.Code == "NotFound" || r.Code == "NoSuchUpload" || r.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	case r.StatusCode == http.StatusPreconditionFailed || r.Code == "PreconditionFailed" || r.Code == "ConditionalRequestConflict":
		return fmt.Errorf("%w (%w)", fs.ErrExist, err)
	case r.StatusCode != 0:
		return fmt.Errorf("%s: %w", a.Location(), err)
	}
	return err
}

// List implements backup.Archive.
func (a *archive) List(ctx context.Context, dir string) (list []backup.Entry, err error) {
	prefix := a.key(dir)
	if prefix != "" {
		prefix += "/"
	}
	objects, err := a.objects(ctx, prefix, false)
	for _, o := range objects {
		name := strings.TrimPrefix(o.Key, prefix)
		if name == "" {
			continue // an object that some tools make for a folder
		}
		folder := strings.HasSuffix(name, "/")
		list = append(list, backup.Entry{Name: strings.TrimSuffix(name, "/"), Folder: folder, Size: o.Size})
	}
	return list, err
}

// objects returns the objects whose names have a prefix. Unless recursive is set, those of a folder are one, whose name
// ends with a slash.
func (a *archive) objects(ctx context.Context, prefix string, recursive bool) (list []minio.ObjectInfo, err error) {
	err = again(ctx, func() error {
		list = list[:0]
		for o := range a.client.ListObjectsIter(ctx, a.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: recursive, MaxKeys: listMax}) {
			if o.Err != nil {
				return a.failure(o.Err)
			}
			list = append(list, o)
		}
		return ctx.Err()
	})
	return list, err
}

// Size implements backup.Archive.
func (a *archive) Size(ctx context.Context, name string) (int64, error) {
	info, err := a.client.StatObject(ctx, a.bucket, a.key(name), minio.StatObjectOptions{})
	return info.Size, a.failure(err)
}

// Settle implements backup.Archive: names of objects are durable.
func (a *archive) Settle(...string) error { return nil }

// Remove implements backup.Archive.
func (a *archive) Remove(ctx context.Context, name string) error {
	return a.remove(ctx, a.key(name))
}

// remove deletes an object, if it exists.
func (a *archive) remove(ctx context.Context, key string) error {
	ctx, done, err := a.fenced(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = a.failure(a.client.RemoveObject(ctx, a.bucket, key, minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted by an earlier attempt of the request
	}
	return err
}

// RemoveAll implements backup.Archive.
func (a *archive) RemoveAll(ctx context.Context, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	keys := make(chan string)
	var group sync.WaitGroup
	for range removers {
		group.Go(func() {
			for key := range keys {
				if err := a.remove(ctx, key); err != nil {
					cancel(err)
				}
			}
		})
	}
	list, err := a.objects(ctx, a.key(dir)+"/", true)
	for _, o := range list {
		keys <- o.Key
	}
	close(keys)
	group.Wait()
	if err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Link implements backup.Archive: objects cannot be linked.
func (a *archive) Link(string, string, int64) bool { return false }

// Clean implements backup.Archive: it ends the uploads of interrupted writes, whose parts the store would keep.
func (a *archive) Clean(ctx context.Context) error {
	prefix := a.prefix
	if prefix != "" {
		prefix += "/"
	}
	err := again(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // which ends the listing
		for u := range a.client.ListIncompleteUploads(ctx, a.bucket, prefix, true) {
			if u.Err != nil {
				return a.failure(u.Err)
			}
			err := a.failure(a.client.AbortMultipartUpload(ctx, a.bucket, u.Key, u.UploadID))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.dropHolds(ctx)
}

// Open implements backup.Archive.
func (a *archive) Open(ctx context.Context, name string, from int64) (io.ReadCloser, error) {
	r := &reader{a: a, ctx: ctx, key: a.key(name), at: from}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// reader reads an object, and continues with another request if one is cut off.
type reader struct {
	a    *archive
	ctx  context.Context
	key  string
	at   int64 // position in the object
	end  int64
	etag string
	body io.ReadCloser
	cut  int // requests that were cut off since the last byte
}

// open sends the request for the object from the current position on.
func (r *reader) open() error {
	var o minio.GetObjectOptions
	if r.at > 0 {
		if err := o.SetRange(r.at, 0); err != nil {
			return err
		}
	}
	if r.etag != "" {
		if err := o.SetMatchETag(r.etag); err != nil {
			return err
		}
	}
	body, info, _, err := r.a.client.GetObject(r.ctx, r.a.bucket, r.key, o)
	if err != nil {
		return r.a.failure(err)
	}
	r.body, r.end, r.etag = body, r.at+info.Size, info.ETag
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	for {
		if r.at >= r.end {
			return 0, io.EOF
		}
		n, err := r.body.Read(b)
		r.at += int64(n)
		if n > 0 {
			r.cut = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		if r.ctx.Err() != nil {
			return 0, r.ctx.Err()
		}
		if r.cut++; r.cut >= triesMax {
			return 0, fmt.Errorf("reading %s is cut off at byte %d: %w", r.key, r.at, err)
		}
		_ = r.body.Close()
		if err := r.open(); err != nil {
			return 0, err
		}
	}
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.body.Close() }

// Hold implements backup.Archive. The folder is among the system's temporary files. The hold is an object; a reader
// without the right to write has none, and finds out only by a missing file that the archive has changed.
func (a *archive) Hold(ctx context.Context) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp("", "cantle-restore-"); err != nil {
		return "", nil, err
	}
	end := a.hold(ctx)
	return dir, func() {
		end()
		_ = os.RemoveAll(dir)
	}, nil
}
