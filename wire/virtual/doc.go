// Package virtual has collections whose documents are computed when they are read, about
// the server and its cluster, and the documents of aggregation stages about them. The
// packages of commands add the rows.
package virtual
