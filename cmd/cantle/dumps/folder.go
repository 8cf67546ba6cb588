package dumps

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// partSuffix is added to the name of a file of documents until the file is complete.
const partSuffix = ".part"

// Folder is a Sink that writes a folder per database, and in it files per collection. Only complete files of
// documents have their final names.
type Folder struct {
	Root         string
	Gzip, Resume bool
}

// folderPart is one file of it.
type folderPart struct {
	path string // its final name, "" for a view, which has none
	file *os.File
	zip  *gzip.Writer
	w    *bufio.Writer

	after bson.Value // with n the result of Done
	n     int64
}

// Begin implements Sink.
func (s *Folder) Begin(d *Collection) (Part, error) {
	dir := folderOf(s.Root, d.DB)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	suffix := ""
	if s.Gzip {
		suffix = ".gz"
	}
	metadata := filepath.Join(dir, fileName(d.Coll)) + ".metadata.json" + suffix
	final := filepath.Join(dir, fileName(d.Data)) + ".bson" + suffix
	if s.Resume {
		look := final
		if d.Kind == "view" {
			look = metadata
		}
		if _, err := os.Stat(look); err == nil {
			return nil, nil
		}
	}
	p := &folderPart{}
	if err := s.small(metadata, d.Metadata); err != nil || d.Kind == "view" {
		return p, err
	}
	p.path = final
	flags := os.O_RDWR | os.O_CREATE
	if !s.Resume || s.Gzip || !d.ByID() { // a compressed file cannot be cut after a document
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
	if s.Gzip {
		p.zip = gzip.NewWriter(p.file)
		p.w.Reset(p.zip)
	}
	return p, nil
}

func (p *folderPart) Done() (bson.Value, int64) { return p.after, p.n }

// small writes a whole file.
func (s *Folder) small(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !s.Gzip {
		_, err = io.WriteString(f, text)
		return errors.Join(err, f.Close())
	}
	z := gzip.NewWriter(f)
	_, err = io.WriteString(z, text)
	return errors.Join(err, z.Close(), f.Close())
}

// lastID finds the last complete document in the file of an interrupted dump, which may end anywhere, and cuts off
// the rest. It returns the document's _id and the number of documents, and leaves the file's position at the end.
func lastID(f *os.File) (id bson.Value, n int64, err error) {
	r := Documents{r: bufio.NewReaderSize(f, 1<<20)}
	end := int64(0)
	for {
		doc, err := r.Next()
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

func (p *folderPart) Write(doc bson.Raw) error {
	_, err := p.w.Write(doc)
	return err
}

func (p *folderPart) End() error {
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

// documentBytesMax is the maximum length in bytes of a document in a file: that of a client's document and some room,
// because the files of mongodump contain system documents.
const documentBytesMax = 16<<20 + 64<<10

// Documents reads documents that lie one after the other.
type Documents struct {
	r   io.Reader
	buf []byte
}

// Next returns the next document of a file, which is valid until the following call.
// Errors: io.EOF at the end; io.ErrUnexpectedEOF within a document; errors of bytes that are no document.
func (d *Documents) Next() (bson.Raw, error) {
	var head [4]byte
	if _, err := io.ReadFull(d.r, head[:]); err != nil {
		return nil, err
	}
	return d.rest(head)
}

// rest reads a document whose length has been read.
func (d *Documents) rest(head [4]byte) (bson.Raw, error) {
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

// NewDocuments makes a reader of the documents of a file.
func NewDocuments(r io.Reader) *Documents { return &Documents{r: r} }

// fileName returns the name of the file or folder of a collection or database in a dump: special characters are
// escaped as in a URL, as mongodump does.
func fileName(coll string) string {
	var b strings.Builder
	for _, c := range []byte(coll) {
		if strings.IndexByte("/\\%:*?\"<>|", c) >= 0 || c < ' ' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// folderOf returns the folder of a database's files.
func folderOf(root, db string) string { return filepath.Join(root, fileName(db)) }
