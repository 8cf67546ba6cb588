package wire

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// insertOf returns a message of about n bytes.
func insertOf(n int, f Flags) []byte {
	return AppendMsg(nil, 7, f, doc("insert", 1), Sequence{Name: []byte("documents"), Data: big(n)})
}

// connected returns a Reader, and the client's end of the connection from which it reads.
func connected(p *Pool) (*Reader, net.Conn) {
	client, server := net.Pipe()
	r := NewReader(server, p)
	r.Cut = func() { _ = server.SetReadDeadline(time.Unix(1, 0)) }
	return r, client
}

// Memory for a large message, but not for a small one, is counted from the reading of the message until its release;
// for a compressed one, the memory of the unpacked message.
func TestLargeMessagesAreCounted(t *testing.T) {
	m := ratelimit.NewMemory(64 << 20)
	p := &Pool{Messages: m}
	for _, b := range [][]byte{insertOf(10_000, 0), insertOf(1<<20, 0)} {
		r := NewReader(bytes.NewReader(b), p)
		if err := r.Read(&Message{}); err != nil {
			t.Fatal(err)
		}
		if got, want := m.Stats().Used, roomFor(len(b)); got != want {
			t.Errorf("a message of %d bytes takes %d, want %d", len(b), got, want)
		}
		r.Release()
	}
	zipped, err := AppendCompressed(nil, insertOf(1<<20, 0), Zstd, p)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(bytes.NewReader(zipped), p)
	if err := r.Read(&Message{}); err != nil {
		t.Fatal(err)
	}
	if got := m.Stats().Used; got != 2<<20 {
		t.Errorf("unpacked, a message of 1 MB takes %d bytes", got)
	}
	r.Release()
	if got := m.Stats().Used; got != 0 {
		t.Errorf("%d bytes are counted at the end", got)
	}
}

// A large message for which there is no memory waits until other messages release theirs, and is then run.
func TestMessageWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ratelimit.NewMemory(2 << 20)
		p := &Pool{Messages: m}
		m.Force(2 << 20)
		r, client := connected(p)
		go client.Write(insertOf(1<<20, 0))
		time.AfterFunc(3*time.Second, func() { m.Give(2 << 20) })
		begun := time.Now()
		if err := r.Read(&Message{}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begun); waited < 3*time.Second || waited > 4*time.Second {
			t.Errorf("waited %v", waited)
		}
		r.Release()
		client.Close()
	})
}

// A message that gets no memory in time is read to its end and refused; the connection stays
// open.
func TestMessageIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ratelimit.NewMemory(2 << 20)
		p := &Pool{Messages: m}
		m.Force(2 << 20)
		r, client := connected(p)
		go func() {
			client.Write(insertOf(1<<20, MoreToCome))
			client.Write(AppendMsg(nil, 8, 0, doc("ping", 1)))
		}()
		var msg Message
		err := r.Read(&msg)
		var told *mongoerr.Error
		if !errors.As(err, &told) || told.Code != mongoerr.ExceededMemoryLimit || msg.Header.RequestID != 7 || msg.WantsReply() {
			t.Errorf("%v, message %+v", err, msg.Header)
		}
		if err := r.Read(&msg); err != nil || msg.Header.RequestID != 8 {
			t.Errorf("the next message: %v, %+v", err, msg.Header)
		}
		client.Close()
	})
}

// A slow sender loses its connection when another message waits for memory, and not before.
func TestSlowSenderYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ratelimit.NewMemory(2 << 20)
		p := &Pool{Messages: m}
		slow, slowEnd := connected(p)
		b := insertOf(1<<20, 0)
		go func() {
			for len(b) > 0 {
				n := min(len(b), 80<<10)
				if _, err := slowEnd.Write(b[:n]); err != nil {
					return
				}
				b = b[n:]
				time.Sleep(time.Minute)
			}
		}()
		ended := make(chan error)
		go func() { ended <- slow.Read(&Message{}) }()
		time.Sleep(3 * time.Minute)
		select {
		case err := <-ended:
			t.Fatalf("nobody waits, and yet: %v", err)
		default:
		}
		quick, quickEnd := connected(p)
		go quickEnd.Write(insertOf(1<<20+1<<19, 0))
		done := make(chan error)
		go func() { done <- quick.Read(&Message{}) }()
		if err := <-ended; err != ErrTooSlow {
			t.Errorf("the slow one: %v", err)
		}
		slow.Release()
		if err := <-done; err != nil {
			t.Errorf("who waited: %v", err)
		}
		quick.Release()
		slowEnd.Close()
		quickEnd.Close()
		time.Sleep(time.Minute) // until the sender notices
		if got := m.Stats().Used; got != 0 {
			t.Errorf("%d bytes are counted at the end", got)
		}
	})
}

// sending starts to receive a message of n bytes from a user. The channel in gets the result of Read. When the
// caller closes done, the memory of the message is released and the connection ends.
func sending(p *Pool, user string, n int) (in chan error, done chan struct{}) {
	in, done = make(chan error, 1), make(chan struct{})
	r, client := connected(p)
	go client.Write(insertOf(n, 0))
	go func() {
		r.ChargeTo(user)
		in <- r.Read(&Message{})
		<-done
		r.Release()
		r.ChargeTo("")
		client.Close()
	}()
	synctest.Wait()
	return in, done
}

// If the messages of one user take all memory that they can get, and more of them wait, messages of another user
// still get memory, without waiting behind them.
func TestUsersShareTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ratelimit.NewMemory(9 << 20)
		p := &Pool{Messages: m}
		var greedy []chan struct{}
		for range 20 {
			_, done := sending(p, "greedy", 900<<10)
			greedy = append(greedy, done)
		}
		if used := m.Stats().Used; used != 6<<20 {
			t.Errorf("the greedy one has %d bytes", used)
		}
		small, done := sending(p, "modest", 900<<10)
		if len(small) == 0 {
			t.Error("the modest one waits")
		}
		close(done)
		synctest.Wait()
		// A message that is too large for the free memory waits until the greedy user releases some. The greedy user
		// gets no more memory meanwhile, however often it releases some.
		large, largeDone := sending(p, "modest", 3<<20)
		given := 0
		for ; len(large) == 0 && given < len(greedy); given++ {
			close(greedy[given])
			time.Sleep(2 * pollEvery)
		}
		if err := <-large; err != nil || given > 6 {
			t.Errorf("the large one: %v, after %d of the greedy one", err, given)
		}
		close(largeDone)
		for _, done := range greedy[given:] {
			close(done)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if used, users := m.Stats().Used, len(p.largeMessages.senders); used != 0 || users != 0 {
			t.Errorf("%d bytes and %d users are counted at the end", used, users)
		}
	})
}

// Replies get less room while other replies use much memory, and each reply is charged until its memory is released.
func TestRepliesShareMemory(t *testing.T) {
	m := ratelimit.NewMemory(20 << 20)
	p := &Pool{Replies: m}
	a, b := NewReply(p), NewReply(p)
	for _, r := range []*Reply{a, b} {
		r.Start(&Message{Header: Header{OpCode: OpMsg}})
	}
	if n := a.Room(16 << 20); n != 16<<20 {
		t.Errorf("the first has room for %d", n)
	}
	if n := b.Room(16 << 20); n != 4<<20 {
		t.Errorf("the second has room for %d", n)
	}
	a.Body().Raw("a", big(1<<20))
	if _, err := a.Finish(1, 1); err != nil {
		t.Fatal(err)
	}
	if used := m.Stats().Used; used < 5<<20 || used > 5<<20+1<<10 {
		t.Errorf("%d bytes are counted, want those of a reply of 1 MB and room for 4", used)
	}
	b.ReleaseMemory()
	a.Release()
	b.Release()
	if used := m.Stats().Used; used != 0 {
		t.Errorf("%d bytes are counted at the end", used)
	}
	m.Force(20 << 20)
	if n := b.Room(16 << 20); n != roomMin {
		t.Errorf("without memory there is room for %d", n)
	}
}
