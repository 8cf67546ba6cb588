// Package s3server starts, for tests, a server with the protocol of Amazon S3 that keeps its objects in files: the
// program versitygw, which checks signatures and checksums, and has uploads in parts and conditional writes. It is built
// once from the module in the folder gateway, and kept in .cache.
package s3server
