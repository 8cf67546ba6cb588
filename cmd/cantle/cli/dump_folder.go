package cli

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/bson"
)

// partSuffix is added to the name of a file of documents until it is complete.
const partSuffix = ".part"

// folderSink writes a folder per database. Only complete files have their final
// names.
type folderSink struct {
	root         string
	gzip, resume bool
}

// folderPart is one file of it.
type folderPart struct {
	path string // its final name, "" for a view, which has none
	file *os.File
	zip  *gzip.Writer
	w    *bufio.Writer

	after bson.Value // what was there, see part
	n     int64
}

func (s *folderSink) begin(d *dumped) (part, error) {
	dir := folderOf(s.root, d.db)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	suffix := ""
	if s.gzip {
		suffix = ".gz"
	}
	metadata := filepath.Join(dir, fileName(d.coll)) + ".metadata.json" + suffix
	final := filepath.Join(dir, fileName(d.data)) + ".bson" + suffix
	if s.resume {
		look := final
		if d.kind == "view" {
			look = metadata
		}
		if _, err := os.Stat(look); err == nil {
			return nil, nil
		}
	}
	p := &folderPart{}
	if err := s.small(metadata, d.metadata); err != nil || d.kind == "view" {
		return p, err
	}
	p.path = final
	flags := os.O_RDWR | os.O_CREATE
	if !s.resume || s.gzip || !d.byID() { // a compressed file cannot be cut after a document
		flags |= os.O_TRUNC
	}
	var err error
	if p.file, err = os.OpenFile(p.path+partSuffix, flags, 0o644); err != nil {
		return nil, err
	}
	if p.after, p.n, err = lastID(p.file); err != nil {
		p.file.Close()
		return nil, err
	}
	p.w = bufio.NewWriterSize(p.file, 1<<20)
	if s.gzip {
		p.zip = gzip.NewWriter(p.file)
		p.w.Reset(p.zip)
	}
	return p, nil
}

func (p *folderPart) so() (bson.Value, int64) { return p.after, p.n }

// small writes a whole file.
func (s *folderSink) small(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !s.gzip {
		_, err = io.WriteString(f, text)
		return errors.Join(err, f.Close())
	}
	z := gzip.NewWriter(f)
	_, err = io.WriteString(z, text)
	return errors.Join(err, z.Close(), f.Close())
}

// lastID finds the last complete document of a file that may end anywhere, cuts
// off the rest, and leaves the file's position behind it.
func lastID(f *os.File) (id bson.Value, n int64, err error) {
	r := documentReader{r: bufio.NewReaderSize(f, 1<<20)}
	end := int64(0)
	for {
		doc, err := r.next()
		if err != nil {
			break
		}
		id = doc.Get("_id").Clone()
		end += int64(len(doc))
		n++
	}
	if err := f.Truncate(end); err != nil {
		return id, n, err
	}
	_, err = f.Seek(end, io.SeekStart)
	return id, n, err
}

func (p *folderPart) write(doc bson.Raw) error {
	_, err := p.w.Write(doc)
	return err
}

func (p *folderPart) end() error {
	if p.path == "" {
		return nil
	}
	err := p.w.Flush()
	if p.zip != nil {
		err = errors.Join(err, p.zip.Close())
	}
	if err = errors.Join(err, p.file.Sync(), p.file.Close()); err != nil {
		return err
	}
	return os.Rename(p.path+partSuffix, p.path)
}

// documentBytesMax bounds what is believed of a length in a file: the largest
// document and some room, as mongodump's files have system documents.
const documentBytesMax = 16<<20 + 64<<10

// documentReader reads documents that lie one after the other.
type documentReader struct {
	r   io.Reader
	buf []byte
}

// next returns the next document, valid until the one after. Errors: io.EOF at the end,
// io.ErrUnexpectedEOF within a document, and what is no document.
func (d *documentReader) next() (bson.Raw, error) {
	var head [4]byte
	if _, err := io.ReadFull(d.r, head[:]); err != nil {
		return nil, err
	}
	return d.rest(head)
}

// rest reads a document whose length has been read.
func (d *documentReader) rest(head [4]byte) (bson.Raw, error) {
	size := binary.LittleEndian.Uint32(head[:])
	if size < 5 || size > documentBytesMax {
		return nil, fmt.Errorf("a document of %d bytes: the file is damaged, or compressed (--gzip)", size)
	}
	if cap(d.buf) < int(size) {
		d.buf = make([]byte, max(int(size), 64<<10))
	}
	d.buf = d.buf[:size]
	copy(d.buf, head[:])
	if _, err := io.ReadFull(d.r, d.buf[4:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return bson.Parse(d.buf, bson.Limits{Depth: bson.MaxDepth})
}
