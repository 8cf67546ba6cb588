package tracing

import (
	"context"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/wire/command"
)

func TestContext(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for text, want := range map[string]string{
		`{c: "` + good + `"}`:                               "sampled",
		`{c: "checkout traceparent=` + good + `;x"}`:        "sampled",
		`{c: "10-00- traceparent='` + good + `'"}`:          "sampled",
		`{c: {traceparent: "` + good[:len(good)-1] + `0"}}`: "not sampled",
		`{c: {other: "` + good + `"}}`:                      "none",
		`{c: 5}`:                                            "none",
		`{c: ""}`:                                           "none",
		`{c: "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"}`:       "none",
		`{c: "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}`:       "none",
		`{c: "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"}`:       "none",
		`{c: "00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01"}`:       "none",
		`{c: "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"}`:       "none",
		`{c: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"}`:        "none",
		`{c: {traceparent: {$numberLong: "4"}}}`:                               "none",
		`{c: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]}`:     "none",
		`{c: {traceparent: ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f06-01"]}}`: "none",
	} {
		d := bsontest.Doc(t, text)
		p, ok := contextOf(d.Get("c"))
		got := "none"
		if ok && p.sampled {
			got = "sampled"
		} else if ok {
			got = "not sampled"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func FuzzContext(f *testing.F) {
	f.Add("x 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Fuzz(func(t *testing.T, text string) {
		b := bson.NewBuilder(nil)
		b.String("c", text)
		if p, ok := contextOf(b.Doc().Get("c")); ok && p.trace == [16]byte{} {
			t.Error("no trace")
		}
	})
}

// The queue of spans has a fixed length: spans that do not fit are dropped and counted, and no command waits.
func TestQueue(t *testing.T) {
	e, err := New(Config{Endpoint: "http://127.0.0.1:1", Ratio: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range queueMax + 7 {
		e.add(span{})
	}
	if n := e.lost.Load(); n != 7 {
		t.Errorf("%d were lost", n)
	}
	told := int64(0)
	e.Failed = func(_ error, lost int64) { told += lost }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Run(ctx) // no collector listens there
	if told != queueMax+7 {
		t.Errorf("told of %d", told)
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []Config{{Endpoint: "collector:4318"}, {Endpoint: "ftp://x"}, {Endpoint: "http://x", Ratio: 2}, {Endpoint: "http://x", Headers: "a"}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	e, err := New(Config{Endpoint: "https://x/otlp/v1/traces", Headers: "authorization=Bearer a=b, x=y"})
	if err != nil || e.url != "https://x/otlp/v1/traces" || e.headers.Get("Authorization") != "Bearer a=b" || e.headers.Get("x") != "y" {
		t.Errorf("%v %v %v", err, e.url, e.headers)
	}
}

// A command whose span is not recorded allocates no memory.
func TestAllocsNotRecorded(t *testing.T) {
	e, err := New(Config{Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	c := &command.Call{Def: &command.Def{Name: "find"}}
	if n := testing.AllocsPerRun(100, func() { e.Record(c, command.Outcome{}) }); n != 0 || len(e.queue) != 0 {
		t.Errorf("%v allocations, %d spans", n, len(e.queue))
	}
}
