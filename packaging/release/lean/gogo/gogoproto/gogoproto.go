// Package gogoproto is imported by generated code for its side effects, of which there are
// none here.
package gogoproto
