// Package s3archive keeps backups in an object store with the protocol of Amazon S3. A server that is embedded in another
// program omits it, because it requires a client library.
//
// An archive is a prefix of names in one bucket, with the same files as a backup folder (storage/backup). Each file is
// one object, written whole: small ones by one request, larger ones in parts. The store compares a checksum of each
// request's body, and refuses to replace an existing object (If-None-Match). Only one process writes into an archive:
// see lease.go. Failed requests are repeated by the library, after random times.
package s3archive
