package rooms

import (
	"fmt"
	"testing"
)

// TestHotKeys checks that GetPartitions lists the shard key values with the highest charge and those with the most
// bytes written.
func TestHotKeys(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{shardCollection: "test.c", key: {region: "hashed"}, numInitialChunks: 3, $db: "admin"}`)
	for i := range 20 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, region: "r%d"}]}`, i, i))
	}
	hottest := func(list string) (key string, ru float64, bytes int64) {
		t.Helper()
		parts, _ := c.ok(`{customAction: "GetPartitions", collection: "c"}`).Get("partitions").Array()
		for v := range parts.Values() {
			d, _ := v.Doc()
			hot, ok := at(d, list+".0").Doc()
			if !ok {
				continue
			}
			n, _ := hot.Get("ru").Double()
			m := number(hot.Get("bytes"))
			if n > ru || m > bytes {
				key, ru, bytes = text(at(hot, "key.region")), n, m
			}
		}
		return key, ru, bytes
	}
	for range 30 {
		c.ok(`{find: "c", filter: {region: "r7"}}`)
	}
	if key, ru, _ := hottest("hottestByRU"); key != "r7" || ru < 30 {
		t.Errorf("reads: %q cost %v", key, ru)
	}
	c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: "x", region: "r3", s: "%02000d"}]}`, 0))
	if key, _, bytes := hottest("hottestByBytes"); key != "r3" || bytes < 2000 {
		t.Errorf("writes: %q wrote %v", key, bytes)
	}
	for range 100 {
		c.ok(`{update: "c", updates: [{q: {_id: 5, region: "r5"}, u: {$inc: {n: 1}}}]}`)
	}
	if key, _, _ := hottest("hottestByRU"); key != "r5" {
		t.Errorf("updates: %q", key)
	}
	many := ""
	for i := range 1000 {
		region := "big"
		if i%5 == 0 {
			region = fmt.Sprint("other", i)
		}
		many += fmt.Sprintf(`{region: "%s", s: "%0100d"}, `, region, i)
	}
	c.ok(`{insert: "c", documents: [` + many + `{region: "big"}]}`)
	if key, _, bytes := hottest("hottestByBytes"); key != "big" || bytes < 60_000 || bytes > 200_000 {
		t.Errorf("a batch: %q wrote %v", key, bytes)
	}
}
