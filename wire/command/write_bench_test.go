//go:build unix

package command

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/wire"
)

// BenchmarkWrite measures retryable writes of one document of 1 KB, durable, with 64
// clients: all that a server does but the network. Judge by cpu-µs/op, which hardly
// depends on what else the machine does.
func BenchmarkWrite(b *testing.B) {
	b.Run("insert", func(b *testing.B) {
		writeDurably(b, func(m *bson.Builder, i int64) {
			m.String("insert", "c")
			m.BeginArray("documents")
			m.BeginDoc("")
			appendDocument(m, i)
			m.End()
			m.End()
		})
	})
	b.Run("update", func(b *testing.B) {
		writeDurably(b, func(m *bson.Builder, i int64) {
			m.String("update", "c")
			m.BeginArray("updates")
			m.BeginDoc("")
			m.BeginDoc("q")
			m.Int64("_id", -1-i*7919%1000)
			m.End()
			m.BeginDoc("u")
			m.BeginDoc("$set")
			m.Int64("field3", i)
			m.End()
			m.End()
			m.End()
			m.End()
		})
	})
}

// appendDocument adds the fields of a document.
func appendDocument(m *bson.Builder, id int64) {
	m.Int64("_id", id)
	for f := range 10 {
		m.String(fmt.Sprintf("field%d", f), "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl")
	}
}

// writeDurably runs b.N commands, numbered from 0, on 64 connections.
func writeDurably(b *testing.B, command func(m *bson.Builder, i int64)) {
	store, err := pebblekv.Open(b.TempDir(), pebblekv.Options{ReserveBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(b, store)
	b.Cleanup(func() { closeStore(b, store) })
	var group sync.WaitGroup
	var next atomic.Int64
	c := w.dial()
	for i := range int64(1000) {
		m := bson.NewBuilder(nil)
		m.String("insert", "c")
		m.BeginArray("documents")
		m.BeginDoc("")
		appendDocument(m, -1-i)
		m.End()
		m.End()
		m.String("$db", "test")
		c.handle(b, m.Doc(), &wire.Message{}, wire.NewReply(&c.pool))
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	for n := range 64 {
		c := w.dial()
		group.Go(func() {
			out := wire.NewReply(&c.pool)
			m := bson.NewBuilder(nil)
			var message wire.Message
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				m.Reset(m.Since(0)[:0])
				command(m, i)
				m.BeginDoc("lsid")
				m.Binary("id", 4, fmt.Appendf(nil, "%016d", n))
				m.End()
				m.Int64("txnNumber", i)
				m.String("$db", "test")
				c.handle(b, m.Doc(), &message, out)
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

// handle runs a command that must succeed.
func (c *client) handle(b *testing.B, doc bson.Raw, m *wire.Message, out *wire.Reply) {
	*m = wire.Message{Header: wire.Header{OpCode: wire.OpMsg, RequestID: 1}, Body: doc}
	out.Start(m)
	if err := c.w.Handle(context.Background(), c, m, out); err != nil {
		b.Error(err)
		return
	}
	reply, err := out.Finish(1, 1)
	if err != nil {
		b.Error(err)
	} else if r := bson.Raw(reply[wire.HeaderSize+5:]); !r.Get("ok").Truthy() || r.Get("n").String() != "1" {
		b.Error(r)
	}
}

func closeStore(b *testing.B, s storage.Store) {
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

// cpuTime is the user and system time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
