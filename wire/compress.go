package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Compressor is the id of a compression method in OP_COMPRESSED.
// Spec: compression/OP_COMPRESSED.
type Compressor uint8

// The methods.
const (
	Noop   Compressor = 0
	Snappy Compressor = 1
	Zlib   Compressor = 2
	Zstd   Compressor = 3
)

// compressedHead is the number of bytes between the header and the compressed bytes:
// original opcode, uncompressed size, method.
const compressedHead = 9

// String returns the name of the method in the handshake; "noop" for no compression, "unknown" for an id without a
// method.
func (c Compressor) String() string {
	switch c {
	case Noop:
		return "noop"
	case Snappy:
		return "snappy"
	case Zlib:
		return "zlib"
	case Zstd:
		return "zstd"
	}
	return "unknown"
}

// CompressorByName returns the method of a name in the handshake; ok is false for an unknown name.
func CompressorByName(name string) (c Compressor, ok bool) {
	switch name {
	case "noop":
		return Noop, true
	case "snappy":
		return Snappy, true
	case "zlib":
		return Zlib, true
	case "zstd":
		return Zstd, true
	}
	return Noop, false
}

// Compressors is a set of methods.
type Compressors uint8

// AllCompressors is the set of all methods.
const AllCompressors = Compressors(1<<Noop | 1<<Snappy | 1<<Zlib | 1<<Zstd)

// Has reports whether c is in the set.
func (s Compressors) Has(c Compressor) bool { return c <= Zstd && s&(1<<c) != 0 }

// With returns the set with c.
func (s Compressors) With(c Compressor) Compressors { return s | 1<<c }

// codecs holds the encoders and decoders of the compression methods, so that connections reuse them. Safe for
// concurrent use.
type codecs struct {
	zlibWriters sync.Pool // *zlib.Writer
	zlibReaders sync.Pool // io.ReadCloser that is a zlib.Resetter

	zstdOnce sync.Once
	encoder  *zstd.Encoder
	decoder  *zstd.Decoder
}

// zstd returns the encoder and the decoder for zstd. The first call creates them, because they hold much memory that
// a server without such clients does not need.
func (k *codecs) zstd() (*zstd.Encoder, *zstd.Decoder) {
	k.zstdOnce.Do(func() {
		// The constructors return errors only for bad options. One encoder and one decoder, without state between
		// calls, serve all connections.
		k.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true))
		k.decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(MessageSizeMax), zstd.WithDecodeAllCapLimit(true))
	})
	return k.encoder, k.decoder
}

// compress appends the compressed form of src to dst.
func (k *codecs) compress(dst, src []byte, c Compressor) ([]byte, error) {
	switch c {
	case Noop:
		return append(dst, src...), nil
	case Snappy:
		n := snappy.MaxEncodedLen(len(src))
		if n < 0 {
			return dst, broken("%d bytes are too many for snappy", len(src))
		}
		start := len(dst)
		if cap(dst)-start < n {
			dst = append(make([]byte, 0, start+n), dst...)
		}
		out := snappy.Encode(dst[start:start+n], src)
		return dst[:start+len(out)], nil
	case Zlib:
		b := bytes.NewBuffer(dst)
		w, _ := k.zlibWriters.Get().(*zlib.Writer)
		if w == nil {
			w = zlib.NewWriter(b)
		} else {
			w.Reset(b)
		}
		defer k.zlibWriters.Put(w)
		if _, err := w.Write(src); err != nil {
			return dst, err
		}
		if err := w.Close(); err != nil {
			return dst, err
		}
		return b.Bytes(), nil
	case Zstd:
		e, _ := k.zstd()
		return e.EncodeAll(src, dst), nil
	}
	return dst, broken("compression method %d is unknown", c)
}

// decompress decompresses src into dst, and returns an error unless the result has exactly len(dst) bytes. It never
// produces more than len(dst) bytes, whatever length src claims, so a small message cannot claim much memory.
// Errors: ErrFrame.
func (k *codecs) decompress(dst, src []byte, c Compressor) error {
	switch c {
	case Noop:
		if len(src) != len(dst) {
			return broken("noop body has %d bytes, stated %d", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case Snappy:
		n, err := snappy.DecodedLen(src)
		if err != nil || n != len(dst) {
			return broken("snappy body of %d bytes, stated %d", n, len(dst))
		}
		if _, err := snappy.Decode(dst, src); err != nil {
			return broken("%v", err)
		}
		return nil
	case Zlib:
		return k.inflate(dst, src)
	case Zstd:
		_, d := k.zstd()
		out, err := d.DecodeAll(src, dst[:0:len(dst)])
		if err != nil {
			return broken("%v", err)
		}
		if len(out) != len(dst) {
			return broken("zstd body of %d bytes, stated %d", len(out), len(dst))
		}
		return nil
	}
	return broken("compression method %d is unknown", c)
}

// inflate is decompress for zlib.
func (k *codecs) inflate(dst, src []byte) error {
	in := bytes.NewReader(src)
	r, _ := k.zlibReaders.Get().(io.ReadCloser)
	if r == nil {
		var err error
		if r, err = zlib.NewReader(in); err != nil {
			return broken("%v", err)
		}
	} else if err := r.(zlib.Resetter).Reset(in, nil); err != nil {
		return broken("%v", err)
	}
	defer k.zlibReaders.Put(r)
	if _, err := io.ReadFull(r, dst); err != nil {
		return broken("%v", err)
	}
	var more [1]byte
	if n, err := io.ReadFull(r, more[:]); n != 0 || err != io.EOF {
		return broken("zlib body is longer than the stated %d bytes, or damaged", len(dst))
	}
	return nil
}

// parseCompressedHead splits the body of an OP_COMPRESSED.
// Errors: ErrFrame.
func parseCompressedHead(b []byte) (op OpCode, size int, c Compressor, rest []byte, err error) {
	if len(b) < compressedHead {
		return 0, 0, 0, nil, broken("OP_COMPRESSED of %d bytes", len(b))
	}
	op = OpCode(binary.LittleEndian.Uint32(b))
	size = int(int32(binary.LittleEndian.Uint32(b[4:])))
	if op == OpCompressed {
		return 0, 0, 0, nil, broken("OP_COMPRESSED inside OP_COMPRESSED")
	}
	if size < 0 || size > MessageSizeMax-HeaderSize {
		return 0, 0, 0, nil, broken("uncompressed size %d", size)
	}
	return op, size, Compressor(b[8]), b[compressedHead:], nil
}
