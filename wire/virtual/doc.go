// Package virtual defines virtual collections, and aggregation stages with data about the server and its cluster,
// whose documents are computed when they are read. The packages of commands add the rows.
package virtual
