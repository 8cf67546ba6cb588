package dumps

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"sync"

	"github.com/cantledb/cantle/bson"
)

// archiveMagic begins an archive, which is, as mongodump writes it:
//
//	magic
//	{concurrent_collections, version, server_version, tool_version}
//	{db, collection, metadata, size, type} for every collection, terminator
//	blocks: {db, collection, EOF, CRC}, documents, terminator
//
// The block with EOF has no documents; CRC is the CRC-64 (ECMA) of all documents of
// that collection. Observed: archives of mongodump 100.
const archiveMagic = 0x8199e26d

var (
	archiveTerminator = []byte{0xff, 0xff, 0xff, 0xff}
	archiveCRC        = crc64.MakeTable(crc64.ECMA)
)

// ArchiveWriter takes blocks of several collections at once.
type ArchiveWriter struct {
	zip *gzip.Writer

	mu sync.Mutex
	w  *bufio.Writer
}

// archiveBlockBytes is the length in bytes from which collected documents are written as a block.
const archiveBlockBytes = 1 << 20

// archivePart collects the blocks of one collection.
type archivePart struct {
	a   *ArchiveWriter
	d   *Collection
	crc hash.Hash64
	buf []byte
}

// NewArchiveWriter makes a writer of an archive, and writes its head up to the first block: the metadata of all
// collections in list. version is that of the dumped server, parallel the number of collections written at once.
func NewArchiveWriter(out io.Writer, version string, compress bool, parallel int, list []*Collection) (*ArchiveWriter, error) {
	a := &ArchiveWriter{}
	if compress {
		a.zip = gzip.NewWriter(out)
		out = a.zip
	}
	a.w = bufio.NewWriterSize(out, 1<<20)
	_ = binary.Write(a.w, binary.LittleEndian, uint32(archiveMagic)) // errors stay in a.w
	a.w.Write(bson.D{{"concurrent_collections", int32(parallel)}, {"version", "0.1"}, {"server_version", version}, {"tool_version", "cantle"}}.Doc())
	for _, d := range list {
		a.w.Write(bson.D{{"db", d.DB}, {"collection", d.Coll}, {"metadata", d.Metadata}, {"size", 0}, {"type", d.Kind}}.Doc())
	}
	_, err := a.w.Write(archiveTerminator)
	return a, err
}

// Begin implements Sink.
func (a *ArchiveWriter) Begin(d *Collection) (Part, error) {
	return &archivePart{a: a, d: d, crc: crc64.New(archiveCRC)}, nil
}

// Done implements Part: an archive is not continued.
func (p *archivePart) Done() (bson.Value, int64) { return bson.Value{}, 0 }

func (p *archivePart) Write(doc bson.Raw) error {
	p.buf = append(p.buf, doc...)
	if len(p.buf) < archiveBlockBytes {
		return nil
	}
	return p.flush()
}

// flush writes a block of the collected documents.
func (p *archivePart) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	p.crc.Write(p.buf)
	err := p.block(false, 0)
	p.buf = p.buf[:0]
	return err
}

func (p *archivePart) block(eof bool, crc uint64) error {
	head := bson.D{{"db", p.d.DB}, {"collection", p.d.Data}, {"EOF", eof}, {"CRC", int64(crc)}}
	p.a.mu.Lock()
	defer p.a.mu.Unlock()
	p.a.w.Write(head.Doc()) // errors stay in a.w
	p.a.w.Write(p.buf)
	_, err := p.a.w.Write(archiveTerminator)
	return err
}

// End writes the closing block of a collection, the one with EOF and the checksum. Views have one too: mongorestore
// waits for it.
func (p *archivePart) End() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.block(true, p.crc.Sum64())
}

// Close writes the rest of the archive. The file stays open.
func (a *ArchiveWriter) Close() error {
	err := a.w.Flush()
	if a.zip != nil {
		err = errors.Join(err, a.zip.Close())
	}
	return err
}

// ArchiveReader reads an archive.
type ArchiveReader struct {
	docs Documents
	List []*Collection
	crcs map[string]hash.Hash64
}

// NewArchiveReader makes a reader of an archive, and reads its head up to the first block: the metadata of all
// collections.
func NewArchiveReader(in io.Reader, compressed bool) (*ArchiveReader, error) {
	if compressed {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = z
	}
	a := &ArchiveReader{docs: Documents{r: bufio.NewReaderSize(in, 1<<20)}, crcs: map[string]hash.Hash64{}}
	var magic uint32
	if err := binary.Read(a.docs.r, binary.LittleEndian, &magic); err != nil || magic != archiveMagic {
		return nil, errors.New("this is not an archive of mongodump or cantle dump, or it is compressed (--gzip)")
	}
	if _, err := a.docs.Next(); err != nil {
		return nil, err
	}
	for {
		doc, err := a.next()
		if err != nil {
			return nil, err
		}
		if doc == nil {
			return a, nil
		}
		d := &Collection{Kind: "collection"}
		d.DB, _ = doc.Get("db").Str()
		d.Coll, _ = doc.Get("collection").Str()
		d.Metadata, _ = doc.Get("metadata").Str()
		if kind, ok := doc.Get("type").Str(); ok && kind != "" {
			d.Kind = kind
		}
		a.List = append(a.List, d)
	}
}

// next returns the next document, or nil at a terminator.
func (a *ArchiveReader) next() (bson.Raw, error) {
	var head [4]byte
	if _, err := io.ReadFull(a.docs.r, head[:]); err != nil {
		return nil, err
	}
	if [4]byte(archiveTerminator) == head {
		return nil, nil
	}
	return a.docs.rest(head)
}

// Each calls emit with each document of the archive, in the order of the archive, in which blocks of several
// collections alternate, and checks the checksum of each collection. It calls ended when a collection is complete.
func (a *ArchiveReader) Each(emit func(db, coll string, doc bson.Raw) error, ended func(db, coll string) error) error {
	for {
		head, err := a.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head == nil {
			return errors.New("the archive is damaged: a terminator instead of a block")
		}
		db, _ := head.Get("db").Str()
		coll, _ := head.Get("collection").Str()
		ns := db + "." + coll
		if a.crcs[ns] == nil {
			a.crcs[ns] = crc64.New(archiveCRC)
		}
		eof := head.Get("EOF").Truthy()
		want, _ := head.Get("CRC").Int64()
		for {
			doc, err := a.next()
			if err != nil {
				return fmt.Errorf("%s: the archive ends early: %w", ns, err)
			}
			if doc == nil {
				break
			}
			a.crcs[ns].Write(doc)
			if err := emit(db, coll, doc); err != nil {
				return err
			}
		}
		if eof {
			if got := a.crcs[ns].Sum64(); got != uint64(want) {
				return fmt.Errorf("%s: the archive is damaged: its checksum is %x instead of %x", ns, got, uint64(want))
			}
			if err := ended(db, coll); err != nil {
				return err
			}
		}
	}
}
