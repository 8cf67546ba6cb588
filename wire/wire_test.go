package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// doc builds {name: n, $db: "test"}.
func doc(name string, n int32) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32(name, n)
	b.String("$db", "test")
	return b.Doc()
}

// big returns a document of about n bytes that compresses well.
func big(n int) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("s", strings.Repeat("wire", n/4))
	return b.Doc()
}

func read(t *testing.T, b []byte) (*Message, error) {
	t.Helper()
	m := &Message{}
	err := NewReader(bytes.NewReader(b), &Pool{}).Read(m)
	return m, err
}

func TestReadMsg(t *testing.T) {
	seq := Sequence{Name: []byte("documents")}
	for i := range 3 {
		seq.Data = append(seq.Data, doc("i", int32(i))...)
	}
	for _, f := range []Flags{0, ChecksumPresent, MoreToCome, ExhaustAllowed | ChecksumPresent, 1 << 20} {
		m, err := read(t, AppendMsg(nil, 7, f, doc("insert", 1), seq))
		if err != nil {
			t.Fatal(err)
		}
		if m.Flags != f || m.Header.RequestID != 7 || m.Database() != "test" || m.WantsReply() != (f&MoreToCome == 0) {
			t.Errorf("%+v", m)
		}
		s, ok := m.Sequence("documents")
		if !ok || s.Count != 3 {
			t.Fatalf("sequence %+v", s)
		}
		i := int64(0)
		for d := range s.Docs() {
			if n, _ := d.Get("i").Int64(); n != i {
				t.Errorf("document %d has i=%d", i, n)
			}
			i++
		}
		if docs := s.AppendDocs(nil); len(docs) != 3 || i != 3 {
			t.Errorf("%d documents, %d ranged over", len(docs), i)
		}
	}
}

// TestRefused checks that broken messages are refused: those with ErrFrame end the connection, those with a code are
// answered with an error.
func TestRefused(t *testing.T) {
	ping := doc("ping", 1)
	edit := func(b []byte, f func([]byte)) []byte { f(b); return b }
	msg := func(sections ...[]byte) []byte {
		b := append(make([]byte, HeaderSize+4), bytes.Join(sections, nil)...)
		Header{Length: int32(len(b)), OpCode: OpMsg}.put(b)
		return b
	}
	body := append([]byte{0}, ping...)
	seq := func(name string, size int, docs ...byte) []byte {
		b := binary.LittleEndian.AppendUint32([]byte{1}, uint32(size))
		return append(append(b, name+"\x00"...), docs...)
	}
	deep := ping
	for range bson.MaxDepth {
		b := bson.NewBuilder(nil)
		b.Raw("a", deep)
		deep = b.Doc()
	}
	if _, err := read(t, AppendMsg(nil, 1, 0, deep)); err != nil {
		t.Errorf("deepest: %v", err)
	}
	b := bson.NewBuilder(nil)
	b.Raw("a", deep)
	deep = b.Doc()
	cases := []struct {
		name string
		in   []byte
		code mongoerr.Code // 0: ErrFrame
	}{
		{"length below header", edit(AppendMsg(nil, 1, 0, ping), func(b []byte) { b[0], b[1] = 15, 0 }), 0},
		{"length negative", edit(AppendMsg(nil, 1, 0, ping), func(b []byte) { b[3] = 0x80 }), 0},
		{"length above limit", edit(AppendMsg(nil, 1, 0, ping), func(b []byte) { binary.LittleEndian.PutUint32(b, MessageSizeMax+1) }), 0},
		{"required flag bit", AppendMsg(nil, 1, 1<<2, ping), 0},
		{"required flag bit 15", AppendMsg(nil, 1, 1<<15, ping), 0},
		{"no flags", msg()[:HeaderSize+4-1], 0},
		{"sequence longer than message", msg(body, seq("a", 100)), 0},
		{"sequence size negative", msg(body, seq("a", -1)), 0},
		{"sequence without name end", msg(body, []byte{1, 5, 0, 0, 0, 'x'}), 0},
		{"checksum", edit(AppendMsg(nil, 1, ChecksumPresent, ping), func(b []byte) { b[len(b)-1]++ }), mongoerr.ChecksumMismatch},
		{"no body", msg(seq("a", 6)), 40587},
		{"empty", msg(), 40587},
		{"two bodies", msg(body, body), 40430},
		{"kind 2", msg(body, []byte{2}), 40432},
		{"sequence twice", msg(body, seq("a", 6), seq("a", 6)), 40431},
		{"sequence and field", msg(body, seq("ping", 9)), 40433},
		{"broken document", edit(AppendMsg(nil, 1, 0, ping), func(b []byte) { b[msgHead+4] = 0x7e }), mongoerr.InvalidBSON},
		{"broken document in sequence", msg(body, seq("a", 11, 5, 0, 0, 0, 1)), mongoerr.InvalidBSON},
		{"too deep", AppendMsg(nil, 1, 0, deep), mongoerr.Overflow},
		{"too large", AppendMsg(nil, 1, 0, big(bson.MaxInternalBytes)), mongoerr.BSONObjectTooLarge},
	}
	for _, c := range cases {
		if n := len(c.in); binary.LittleEndian.Uint32(c.in) == uint32(n)+1 {
			c.in[0]--
		}
		_, err := read(t, c.in)
		var e *mongoerr.Error
		switch {
		case c.code == 0 && !errors.Is(err, ErrFrame):
			t.Errorf("%s: %v, want ErrFrame", c.name, err)
		case c.code != 0 && (!errors.As(err, &e) || e.Code != c.code):
			t.Errorf("%s: %v, want code %d", c.name, err, c.code)
		}
	}
}

func TestEnds(t *testing.T) {
	b := AppendMsg(nil, 1, 0, doc("ping", 1))
	for n := range b {
		_, err := read(t, b[:n])
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if err != want {
			t.Fatalf("%d of %d bytes: %v, want %v", n, len(b), err, want)
		}
	}
	if _, err := read(t, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != ErrHTTP {
		t.Errorf("HTTP: %v", err)
	}
	head, text, _ := strings.Cut(HTTPAnswer, "\r\n\r\n")
	if len(text) != 84 || !strings.Contains(head, "Content-Length: 84") {
		t.Errorf("HTTP answer has %d bytes", len(text))
	}
}

func TestQuery(t *testing.T) {
	hello := doc("isMaster", 1)
	wrapped := bson.NewBuilder(nil)
	wrapped.Raw("$query", hello)
	for _, q := range []bson.Raw{hello, wrapped.Doc()} {
		m, err := read(t, AppendQuery(nil, 3, "admin.$cmd", q))
		if err != nil || !m.IsHello() || m.Database() != "admin" || !bytes.Equal(m.Body, hello) {
			t.Errorf("%+v %v", m, err)
		}
	}
	if m, err := read(t, AppendQuery(nil, 3, "admin.$cmd", doc("find", 1))); err != nil || m.IsHello() {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := read(t, AppendQuery(nil, 3, "admin.c", hello)); err != nil || m.IsHello() {
		t.Errorf("%+v %v", m, err)
	}
}

// TestReplyRoundTrip checks that the replies to each kind of request can be read back as they were written.
func TestReplyRoundTrip(t *testing.T) {
	pool := &Pool{}
	requests := map[string][]byte{
		"plain":    AppendMsg(nil, 9, 0, doc("ping", 1)),
		"checksum": AppendMsg(nil, 9, ChecksumPresent, doc("ping", 1)),
		"exhaust":  AppendMsg(nil, 9, ExhaustAllowed, doc("ping", 1)),
		"query":    AppendQuery(nil, 9, "admin.$cmd", doc("hello", 1)),
	}
	for c := Noop; c <= Zstd; c++ {
		z, err := AppendCompressed(nil, AppendMsg(nil, 9, 0, big(300_000)), c, pool)
		if err != nil {
			t.Fatal(err)
		}
		requests[c.String()] = z
	}
	for name, in := range requests {
		r := NewReply(pool)
		for _, size := range []int{10, 100_000, 3_000_000, 10} {
			m, err := read(t, in)
			if err != nil {
				t.Fatal(name, err)
			}
			r.Start(m)
			r.Body().String("dropped", "x")
			r.Restart()
			want := big(size)
			r.Body().Splice(want.Elements())
			r.More = true
			out, err := r.Finish(42, m.Header.RequestID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t, out)
			if err != nil {
				t.Fatal(name, err)
			}
			if got.Header.RequestID != 42 || got.Header.ResponseTo != 9 || !bytes.Equal(got.Body, want) {
				t.Errorf("%s: %+v", name, got.Header)
			}
			if got.Compressed != m.Compressed || got.Compressor != m.Compressor {
				t.Errorf("%s: compressed %v with %v", name, got.Compressed, got.Compressor)
			}
			if more := got.Flags&MoreToCome != 0; more != (name == "exhaust") {
				t.Errorf("%s: moreToCome %v", name, more)
			}
			if sum := got.Flags&ChecksumPresent != 0; sum != (name == "checksum") {
				t.Errorf("%s: checksum %v", name, sum)
			}
			r.Release()
		}
	}
}

// TestDecompressBounds checks that a small compressed message cannot claim much memory, and that a message is
// refused if its stated size differs from its real size.
func TestDecompressBounds(t *testing.T) {
	pool := &Pool{}
	msg := AppendMsg(nil, 1, 0, big(200_000))
	for c := Noop; c <= Zstd; c++ {
		z, err := AppendCompressed(nil, msg, c, pool)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 20, len(msg) - HeaderSize - 1, len(msg) - HeaderSize + 1, MessageSizeMax, -1} {
			b := bytes.Clone(z)
			binary.LittleEndian.PutUint32(b[HeaderSize+4:], uint32(size))
			if _, err := read(t, b); !errors.Is(err, ErrFrame) {
				t.Errorf("%v with size %d: %v", c, size, err)
			}
		}
		b := bytes.Clone(z)
		b[HeaderSize+8] = 9
		if _, err := read(t, b); !errors.Is(err, ErrFrame) {
			t.Errorf("unknown method: %v", err)
		}
		r := NewReader(bytes.NewReader(z), pool)
		r.Accept = 0
		if err := r.Read(&Message{}); !errors.Is(err, ErrFrame) {
			t.Errorf("method not agreed on: %v", err)
		}
	}
	nested, _ := AppendCompressed(nil, msg, Snappy, pool)
	nested, _ = AppendCompressed(nil, nested, Snappy, pool)
	if _, err := read(t, nested); !errors.Is(err, ErrFrame) {
		t.Errorf("nested: %v", err)
	}
}

// TestClaim checks that a header alone does not make the server allocate the memory of a whole message.
func TestClaim(t *testing.T) {
	b := AppendMsg(nil, 1, 0, doc("ping", 1))
	binary.LittleEndian.PutUint32(b, MessageSizeMax)
	r := NewReader(bytes.NewReader(b), &Pool{})
	if err := r.Read(&Message{}); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if n := cap(r.in.frame.buf); n > pieceBytes || r.large[0] != nil {
		t.Errorf("%d bytes for a message of %d", n, len(b))
	}
}

// TestAllocs checks that, in the steady state, reading a request and finishing a reply allocate nothing.
func TestAllocs(t *testing.T) {
	if invariants {
		t.Skip("released memory is overwritten")
	}
	pool := &Pool{}
	var seq Sequence
	seq.Name = []byte("documents")
	for range 200 {
		seq.Data = append(seq.Data, big(1000)...)
	}
	for name, in := range map[string][]byte{
		"small": AppendMsg(nil, 1, 0, doc("find", 1)),
		"large": AppendMsg(nil, 1, ChecksumPresent, doc("insert", 1), seq),
	} {
		src := bytes.NewReader(in)
		rd, r, m := NewReader(src, pool), NewReply(pool), &Message{}
		payload := big(len(in))
		run := func() {
			src.Reset(in)
			if err := rd.Read(m); err != nil {
				t.Fatal(err)
			}
			r.Start(m)
			r.Body().Raw("d", payload)
			if _, err := r.Finish(1, m.Header.RequestID); err != nil {
				t.Fatal(err)
			}
			r.Release()
			rd.Release()
		}
		run()
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations per request", name, n)
		}
	}
}

// TestAllocsOfGrownReply checks that a reply of many documents grows in memory from the pool, even after a small
// reply.
func TestAllocsOfGrownReply(t *testing.T) {
	if invariants {
		t.Skip("released memory is overwritten")
	}
	pool := &Pool{}
	r, payload := NewReply(pool), big(1000)
	want := make([]byte, 0, 2<<20)
	answer := func(members int) []byte {
		r.Start(&Message{Header: Header{OpCode: OpMsg}})
		r.Body().BeginArray("batch")
		for range members {
			r.Body().Raw("", payload)
		}
		b, err := r.Finish(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want[:0], b...)
		r.Release()
		return want
	}
	got := bson.Raw(answer(1000)[msgHead:])
	list, _ := got.Get("batch").Array()
	if n := list.Len(); n != 1000 || !bytes.Equal(at(list, 999), payload) {
		t.Fatalf("%d members", n)
	}
	before, after := runtime.MemStats{}, runtime.MemStats{}
	runtime.ReadMemStats(&before)
	const rounds = 50
	for range rounds {
		answer(1)
		answer(1000)
	}
	runtime.ReadMemStats(&after)
	// Some allocations are expected, because garbage collections empty the pool. Growing by append would allocate
	// five times the size of the reply.
	if n := (after.TotalAlloc - before.TotalAlloc) / rounds; n > 2<<20 {
		t.Errorf("a small reply and one of 1 MB allocate %d bytes", n)
	}
}

// at returns the document at an index of an array.
func at(list bson.Raw, i int) bson.Raw {
	d, _ := list.Get(strconv.Itoa(i)).Doc()
	return d
}

// FuzzReadMessage reads arbitrary bytes as messages. The reader must end and not panic, and an accepted OP_MSG must
// be the same after it is written and read again.
func FuzzReadMessage(f *testing.F) {
	pool := &Pool{}
	seq := Sequence{Name: []byte("documents"), Data: doc("x", 1)}
	plain := AppendMsg(nil, 1, 0, doc("ping", 1), seq)
	f.Add(plain)
	f.Add(AppendMsg(nil, 1, ChecksumPresent|ExhaustAllowed, doc("ping", 1)))
	f.Add(AppendQuery(nil, 1, "admin.$cmd", doc("isMaster", 1)))
	for c := Noop; c <= Zstd; c++ {
		z, _ := AppendCompressed(nil, plain, c, pool)
		f.Add(z)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m := &Message{}
		r := NewReader(bytes.NewReader(in), pool)
		for r.Read(m) == nil {
			if m.Header.OpCode != OpMsg {
				continue
			}
			out := AppendMsg(nil, m.Header.RequestID, m.Flags, m.Body, m.Sequences...)
			again, err := read(t, out)
			if err != nil {
				t.Fatalf("accepted, but not when written again: %v", err)
			}
			if !bytes.Equal(again.Body, m.Body) || len(again.Sequences) != len(m.Sequences) {
				t.Fatal("differs when written again")
			}
		}
	})
}
