// Package bundle collects the state of a server into one zip file for a bug report, for cantle debug zip. The file has
// names of databases, collections, fields and indexes, and no values of documents: what can hold values passes
// through the functions of redact.go, which copy only what they list.
package bundle
