package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTransactions checks that successive commands share a transaction, that a command which may not be in it
// finds it committed, and that a failing command takes back nothing of those before it.
func TestTransactions(t *testing.T) {
	dir := t.TempDir()
	text := `run
{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}]}
{find: "c", batchSize: 2}
more
{count: "c"}
{insert: "c", documents: [{_id: 4}]}
{find: "c", filter: {$none: 1}}
{find: "c", filter: {_id: 4}}
{insert: "c", documents: [{_id: 5}, {_id: 4}]}
{count: "c"}
only: n, cursor, writeErrors
----
{"n":3,"ok":1.0}
{"cursor":{"firstBatch":2,"id":1,"ns":"test.c"},"ok":1.0}
  {"_id":1}
  {"_id":2}
{"cursor":{"nextBatch":1,"id":0,"ns":"test.c"},"ok":1.0}
  {"_id":3}
{"n":3,"ok":1.0}
{"n":1,"ok":1.0}
error 2 BadValue
{"cursor":{"firstBatch":1,"id":0,"ns":"test.c"},"ok":1.0}
  {"_id":4}
{"n":1,"writeErrors":[{"index":1,"code":11000,"keyPattern":{"_id":1},"keyValue":{"_id":4},"errmsg":"E11000 duplicate key error collection: test.c index: _id_ dup key: { _id: 4 }"}],"ok":1.0}
{"n":5,"ok":1.0}
`
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Config{Name: "intxn", InTxn: true}
	RunCases(t, dir, c)
	if c.Held != 6 {
		t.Errorf("%d commands were in transactions, want 6", c.Held)
	}
}
