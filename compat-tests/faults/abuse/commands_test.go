package abuse

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// errorCode sends a command on a new connection and returns the top-level error code of the reply: 0 if it has
// none, -1 if no reply came.
func errorCode(t *testing.T, s *harness.Server, cmd bson.Raw) int64 {
	c, err := harness.DialAddr(s.Addr)
	if err != nil {
		t.Error(err)
		return -1
	}
	defer c.Close()
	r, err := c.Command("abuse", cmd)
	if err != nil {
		return -1
	}
	n, _ := r.Lookup("code").AsInt64OK()
	return n
}

// refused checks that the server answers a command with an error, and does not just close the connection.
func refused(t *testing.T, s *harness.Server, what string, cmd bson.Raw) {
	if code := errorCode(t, s, cmd); code <= 0 {
		t.Errorf("%s: code %d", what, code)
	}
}

func oversized(t *testing.T, s *harness.Server) {
	docs := make(bson.A, 100_001)
	for i := range docs {
		docs[i] = bson.D{}
	}
	refused(t, s, "more documents than a batch may have", encode(t, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}}))
	refused(t, s, "a document longer than any may be", encode(t, bson.D{{Key: "insert", Value: "c"},
		{Key: "documents", Value: bson.A{bson.D{{Key: "s", Value: strings.Repeat("x", 17<<20)}}}}}))
	each(size(4, 40), 4, func(int) { // these are allowed
		doc := bson.D{{Key: "s", Value: strings.Repeat("x", 15<<20)}}
		if code := errorCode(t, s, encode(t, bson.D{{Key: "insert", Value: "big"}, {Key: "documents", Value: bson.A{doc}}})); code != 0 {
			t.Errorf("a large document: code %d", code)
		}
	})
	if code := errorCode(t, s, encode(t, bson.D{{Key: "drop", Value: "big"}})); code != 0 {
		t.Errorf("drop: code %d", code)
	}
}

// nested returns the number 1 inside depth documents of one field each, or inside as many arrays.
func nested(depth int, field string, array bool) any {
	var v any = 1
	for range depth {
		if array {
			v = bson.A{v}
		} else {
			v = bson.D{{Key: field, Value: v}}
		}
	}
	return v
}

func deepNesting(t *testing.T, s *harness.Server) {
	raw := func(depth int) bson.Raw { // the bytes of a document that is too deep for the driver's encoder
		doc := []byte{5, 0, 0, 0, 0}
		for range depth {
			n := 4 + 1 + 2 + len(doc) + 1
			outer := append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 3, 'a', 0}, doc...)
			doc = append(outer, 0)
		}
		return doc
	}
	for _, depth := range []int{101, 201, 5000, size(20_000, 40_000)} {
		if code := errorCode(t, s, raw(depth)); code == 0 {
			t.Errorf("a command nested %d deep succeeds", depth)
		}
	}
	or := any(bson.D{{Key: "a", Value: 1}})
	for range 95 {
		or = bson.D{{Key: "$or", Value: bson.A{or}}}
	}
	for what, cmd := range map[string]bson.D{
		"filter":     {{Key: "find", Value: "c"}, {Key: "filter", Value: or}},
		"expression": {{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "$expr", Value: nested(150, "$not", false)}}}},
		"arrays":     {{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: nested(190, "", true)}}}}},
		"facets": {{Key: "aggregate", Value: "c"}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$lookup",
			Value: bson.D{{Key: "from", Value: "c"}, {Key: "as", Value: "x"}, {Key: "pipeline", Value: lookups(60)}}}}}}},
		"update": {{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}, {Key: "upsert", Value: true},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: strings.Repeat("a.", 150) + "a", Value: 1}}}}}}}}},
	} {
		if code := errorCode(t, s, encode(t, cmd)); code < 0 {
			t.Errorf("%s: the connection is closed", what)
		}
	}
}

// lookups returns a pipeline of nested $lookup stages.
func lookups(depth int) bson.A {
	if depth == 0 {
		return bson.A{}
	}
	return bson.A{bson.D{{Key: "$lookup", Value: bson.D{{Key: "from", Value: "c"}, {Key: "as", Value: "x"}, {Key: "pipeline", Value: lookups(depth - 1)}}}}}
}

func giantIn(t *testing.T, s *harness.Server) {
	values := make(bson.A, size(100_000, 600_000))
	for i := range values {
		values[i] = int64(i)
	}
	cmd := encode(t, bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: values}}}}}})
	other := encode(t, bson.D{{Key: "count", Value: "c"}, {Key: "query", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$nin", Value: values}}}}}})
	each(size(4, 20), 4, func(i int) {
		if code := errorCode(t, s, [...]bson.Raw{cmd, other}[i%2]); code != 0 {
			t.Errorf("a giant $in: code %d", code)
		}
	})
}

// endless runs a command that would never end by itself, on many connections: with maxTimeMS, which must end it,
// and without, where its client soon closes the connection. After both, TestAbuse checks that nothing is left in
// the server.
func endless(t *testing.T, s *harness.Server, cmd bson.D) {
	each(size(4, 16), 4, func(int) {
		begun := time.Now()
		code := errorCode(t, s, encode(t, append(cmd[:len(cmd):len(cmd)], bson.E{Key: "maxTimeMS", Value: 300})))
		if code <= 0 || time.Since(begun) > 30*time.Second {
			t.Errorf("with a time limit: code %d after %v", code, time.Since(begun))
		}
	})
	var wg sync.WaitGroup
	for range size(4, 16) {
		wg.Go(func() {
			c, err := harness.DialAddr(s.Addr)
			if err != nil {
				t.Error(err)
				return
			}
			if err := c.Send("abuse", encode(t, cmd), 0); err != nil {
				t.Error(err)
			}
			time.Sleep(500 * time.Millisecond)
			c.Close()
		})
	}
	wg.Wait()
}

func catastrophicRegex(t *testing.T, s *harness.Server) {
	doc := bson.D{{Key: "_id", Value: "r"}, {Key: "s", Value: strings.Repeat("a", 5000) + "!"}}
	errorCode(t, s, encode(t, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{doc}}}))
	// Look-ahead requires the backtracking engine.
	for _, pattern := range []string{"^(?=a)(a+)+$", "^(?=(a|aa)+$)(a|a?)+$", "(.*)*(?<!b)x"} {
		endlessOr(t, s, bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "s", Value: bson.D{{Key: "$regex", Value: pattern}}}}}})
	}
}

// endlessOr runs a command with maxTimeMS 300 on several connections, and checks that it ends within 30 seconds.
// Unlike in endless, the server may also refuse the command or end it early.
func endlessOr(t *testing.T, s *harness.Server, cmd bson.D) {
	each(size(2, 8), 2, func(int) {
		begun := time.Now()
		errorCode(t, s, encode(t, append(cmd[:len(cmd):len(cmd)], bson.E{Key: "maxTimeMS", Value: 300})))
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("a limit of 300 ms: %v", took)
		}
	})
}

func endlessWhere(t *testing.T, s *harness.Server) {
	for _, js := range []string{"while (true) {}", "var a = []; while (true) { a.push(new Array(1000)); }", "(function f() { return f() + f(); })()"} {
		cmd := bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "$where", Value: "function() { " + js + " }"}}}}
		if errorCode(t, s, encode(t, append(cmd[:len(cmd):len(cmd)], bson.E{Key: "maxTimeMS", Value: 300}))) <= 0 {
			t.Errorf("%s ends well", js)
		}
	}
	endless(t, s, bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "$where", Value: "function() { while (true) {} }"}}}})
}

// abandonedCursors opens many cursors and neither reads them to the end nor closes them, so that the server must
// close them.
func abandonedCursors(t *testing.T, s *harness.Server) {
	var docs bson.A
	for i := range 100 {
		docs = append(docs, bson.D{{Key: "_id", Value: fmt.Sprint("cur", i)}, {Key: "s", Value: strings.Repeat("x", 1000)}})
	}
	errorCode(t, s, encode(t, bson.D{{Key: "insert", Value: "cur"}, {Key: "documents", Value: docs}}))
	find := encode(t, bson.D{{Key: "find", Value: "cur"}, {Key: "batchSize", Value: 1}})
	sorted := encode(t, bson.D{{Key: "aggregate", Value: "cur"}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1}}},
		{Key: "pipeline", Value: bson.A{bson.D{{Key: "$sort", Value: bson.D{{Key: "s", Value: 1}}}}}}})
	conns := make([]*harness.Conn, 8)
	for i := range conns {
		conns[i] = s.Dial(t)
	}
	each(len(conns), len(conns), func(i int) {
		for j := range size(200, 2000) {
			if _, err := conns[i].Command("abuse", [...]bson.Raw{find, sorted}[j%2]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, c := range conns {
		_ = c.Close()
	}
	for range 200 {
		if look(t, s).cursors == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%d cursors are still open", look(t, s).cursors)
}
