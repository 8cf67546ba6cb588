package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"
	"strings"
)

// kindsByEnding maps endings of files to the kinds of their contents, as --type names them.
var kindsByEnding = map[string]string{".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "tsv"}

// kindOfFile returns the kind of a file's contents by the ending of its name, before .gz if it has that; "" for other
// endings.
func kindOfFile(name string) string {
	return kindsByEnding[filepath.Ext(strings.TrimSuffix(strings.ToLower(name), ".gz"))]
}

// gzipMagic are the first bytes of compressed data. No JSON, CSV or TSV begins with them.
var gzipMagic = []byte{0x1f, 0x8b}

// decompressed returns a reader of the text of in, which may be compressed by gzip.
// Errors: broken compressed data.
func decompressed(in *bufio.Reader) (*bufio.Reader, error) {
	if head, _ := in.Peek(len(gzipMagic)); !bytes.Equal(head, gzipMagic) {
		return in, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("the compressed input: %w", err)
	}
	return bufio.NewReaderSize(z, 1<<20), nil
}
