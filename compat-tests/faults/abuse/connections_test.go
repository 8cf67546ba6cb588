package abuse

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// answerMax is the maximum time for which an abusing client waits for a reply, which may never come.
const answerMax = 200 * time.Millisecond

// each calls f with the numbers 0 to n-1, on so many goroutines (workers), and waits for them.
func each(n, workers int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// connect opens a TCP connection to the server, without any message. If the server refuses it, the test fails and
// the result is nil.
func connect(t *testing.T, s *harness.Server) net.Conn {
	c, err := net.DialTimeout("tcp", s.Addr, 30*time.Second)
	if err != nil {
		t.Error(err)
		return nil
	}
	return c
}

// send writes bytes on a new connection, reads the reply for at most answerMax, and closes the connection.
func send(t *testing.T, s *harness.Server, b []byte) {
	c := connect(t, s)
	if c == nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(answerMax))
	if _, err := c.Write(b); err == nil {
		_, _ = io.CopyN(io.Discard, c, 64<<10)
	}
}

func randomFrames(t *testing.T, s *harness.Server) {
	each(size(300, 3000), 32, func(i int) {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		b := make([]byte, 16+r.IntN(4000))
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		if i%2 == 0 { // a plausible header
			binary.LittleEndian.PutUint32(b, uint32(len(b)))
			codes := []uint32{1, 2001, 2002, 2004, 2005, 2006, 2007, 2010, 2012, 2013}
			binary.LittleEndian.PutUint32(b[12:], codes[r.IntN(len(codes))])
		}
		send(t, s, b)
	})
}

// frames returns correct messages of the wire protocol, which the tests then cut and mutate.
func frames(t *testing.T) (out [][]byte) {
	for _, cmd := range []bson.D{
		{{Key: "hello", Value: 1}, {Key: "client", Value: bson.D{{Key: "driver", Value: bson.D{{Key: "name", Value: "x"}, {Key: "version", Value: "1"}}}}}},
		{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$gt", Value: 1}}}}}, {Key: "sort", Value: bson.D{{Key: "a", Value: 1}}}},
		{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: bson.A{1, "x", nil, bson.NewObjectID()}}}}}},
		{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$a"}}}}}}, {Key: "cursor", Value: bson.D{}}},
		{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "a.b", Value: 1}}}}}, {Key: "multi", Value: true}}}}},
	} {
		body := encode(t, append(cmd, bson.E{Key: "$db", Value: "abuse"}))
		b := append(make([]byte, 16+5), body...)
		harness.PutHeader(b, 1, 0, 2013)
		out = append(out, b)
	}
	return out
}

func mutatedFrames(t *testing.T, s *harness.Server) {
	whole := frames(t)
	each(size(500, 5000), 32, func(i int) {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		b := append([]byte(nil), whole[i%len(whole)]...)
		for range 1 + r.IntN(4) {
			switch at := r.IntN(len(b)); r.IntN(4) {
			case 0:
				b[at] = byte(r.Uint32())
			case 1:
				b[at] ^= 1 << r.IntN(8)
			case 2:
				b = b[:max(at, 16)]
			default:
				b = append(b[:at], append([]byte{byte(r.Uint32())}, b[at:]...)...)
			}
		}
		if r.IntN(2) == 0 {
			binary.LittleEndian.PutUint32(b, uint32(len(b)))
		}
		send(t, s, b)
	})
}

// hold opens n connections, calls begin for each, keeps them open for the duration d, and closes them.
func hold(t *testing.T, s *harness.Server, n int, begin func(i int, c net.Conn), d time.Duration) {
	conns := make([]net.Conn, n)
	each(n, 32, func(i int) {
		if c := connect(t, s); c != nil {
			conns[i] = c
			begin(i, c)
		}
	})
	time.Sleep(d)
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
}

// halfOpen opens connections that announce messages of up to 48 MB by their headers, and then send only a part.
func halfOpen(t *testing.T, s *harness.Server) {
	hold(t, s, size(200, 2000), func(i int, c net.Conn) {
		head := make([]byte, 16+i%500)
		binary.LittleEndian.PutUint32(head, uint32([]int{100, 10_000, 1_000_000, 48_000_000}[i%4]))
		binary.LittleEndian.PutUint32(head[12:], 2013)
		_, _ = c.Write(head[:1+i%len(head)])
	}, time.Duration(size(1, 10))*time.Second)
}

// slowClients opens connections that send one byte now and then, or do not read the replies, to keep buffers in
// the server.
func slowClients(t *testing.T, s *harness.Server) {
	errorCode(t, s, encode(t, bson.D{{Key: "insert", Value: "large"}, {Key: "documents", Value: bson.A{bson.D{{Key: "s", Value: string(make([]byte, 1<<20))}}}}}))
	body := encode(t, bson.D{{Key: "find", Value: "large"}, {Key: "$db", Value: "abuse"}})
	whole := append(make([]byte, 16+5), body...)
	harness.PutHeader(whole, 1, 0, 2013)
	n := size(24, 200)
	var wg sync.WaitGroup
	end := time.Now().Add(time.Duration(size(2, 20)) * time.Second)
	for i := range n {
		wg.Go(func() {
			c := connect(t, s)
			if c == nil {
				return
			}
			defer c.Close()
			if i%2 == 0 { // sends requests and does not read replies
				_ = c.SetWriteDeadline(end)
				for time.Now().Before(end) {
					if _, err := c.Write(whole); err != nil {
						break
					}
				}
				return
			}
			for _, b := range whole {
				if _, err := c.Write([]byte{b}); err != nil || time.Now().After(end) {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// idleConnections opens 500 connections that only send hello, 10,000 in a soak, or fewer if the operating system
// limits the open files, and keeps them open.
func idleConnections(t *testing.T, s *harness.Server) {
	n := size(500, 10_000)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		n = min(n, int(limit.Cur)-500)
	}
	hello := frames(t)[0]
	begun := time.Now()
	hold(t, s, n, func(_ int, c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = c.Write(hello)
		var head [16]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			t.Errorf("hello is not answered: %v", err)
		}
	}, time.Duration(size(1, 15))*time.Second)
	t.Logf("%d connections in %v", n, time.Since(begun).Round(time.Millisecond))
}

// churn opens and closes about a thousand connections a second, for some seconds.
func churn(t *testing.T, s *harness.Server) {
	hello := frames(t)[0]
	seconds := size(2, 20)
	begun := time.Now()
	n := 1000 * seconds
	each(n, 64, func(i int) {
		if ahead := time.Duration(i)*time.Millisecond - time.Since(begun); ahead > 0 {
			time.Sleep(ahead)
		}
		c := connect(t, s)
		if c == nil {
			return
		}
		if i%4 != 0 {
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			_, _ = c.Write(hello)
			var head [16]byte
			_, _ = io.ReadFull(c, head[:])
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // close by reset: otherwise closed connections would use up the ports of this machine
		}
		c.Close()
	})
	t.Logf("%.0f connections a second", float64(n)/time.Since(begun).Seconds())
}
