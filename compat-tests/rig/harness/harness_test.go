package harness

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestRender(t *testing.T) {
	for _, tc := range []struct {
		reply    bson.D
		messages bool
		want     string
	}{
		{bson.D{{Key: "n", Value: 2}, {Key: "ok", Value: 1.0}, {Key: "operationTime", Value: bson.Timestamp{T: 1}}}, false, `{"n":2,"ok":1.0}`},
		{bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "no"}, {Key: "code", Value: 2}, {Key: "codeName", Value: "BadValue"}}, false, "error 2 BadValue"},
		{bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: "no"}, {Key: "code", Value: 112}, {Key: "codeName", Value: "WriteConflict"},
			{Key: "errorLabels", Value: bson.A{"TransientTransactionError"}}}, true, "error 112 WriteConflict +TransientTransactionError: no"},
		{bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: bson.A{bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}}},
			{Key: "id", Value: int64(77)}, {Key: "ns", Value: "test.c"}}}, {Key: "ok", Value: 1.0}}, false,
			"{\"cursor\":{\"firstBatch\":2,\"id\":1,\"ns\":\"test.c\"},\"ok\":1.0}\n  {\"_id\":1}\n  {\"_id\":2}"},
	} {
		if got := Render(mustMarshal(tc.reply), tc.messages); got != tc.want {
			t.Errorf("got\n%s\nwant\n%s", got, tc.want)
		}
	}
}

func TestSameUnordered(t *testing.T) {
	want := "{\"n\":1}\n{\"cursor\":1}\n  a\n  b"
	commands := []string{"{insert: 1}", "{find: 1}"}
	for _, tc := range []struct {
		replies []string
		same    bool
	}{
		{[]string{"{\"n\":1}", "{\"cursor\":1}\n  b\n  a"}, true},
		{[]string{"{\"n\":2}", "{\"cursor\":1}\n  b\n  a"}, false},
		{[]string{"{\"n\":1}", "{\"cursor\":1}\n  b\n  b"}, false},
		{[]string{"{\"n\":1}"}, false},
	} {
		if got := sameUnordered(commands, tc.replies, want); got != tc.same {
			t.Errorf("%q: %v", tc.replies, got)
		}
	}
	if sameUnordered([]string{"", "{find: 1, sort: {a: 1}}"}, []string{"{\"n\":1}", "{\"cursor\":1}\n  b\n  a"}, want) {
		t.Error("a sorted result may come in another order")
	}
}

func TestParseConfig(t *testing.T) {
	c, err := parseConfig("configs/some.txt", "# why\ndisk: yes\nshards: 7\nflag: --x=1\nindex: {a: 1}\nskip: a/b.txt because of that\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "some" || !c.Disk || c.Shards != 7 || len(c.Flags) != 1 || len(c.Indexes) != 1 || c.Skips["a/b.txt"] != "because of that" {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		"skip: a/b.txt\n": "some.txt:1: skip of \"a/b.txt\" without a reason",
		"\nspeed: 3\n":    "some.txt:2: unknown key",
		"disk: maybe\n":   "expected yes or no",
	} {
		if _, err := parseConfig("some.txt", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestPick checks that names with dots select fields of embedded documents and of documents in arrays.
func TestPick(t *testing.T) {
	doc := mustMarshal(bson.D{{Key: "a", Value: 1}, {Key: "b", Value: bson.D{{Key: "c", Value: 2}, {Key: "d", Value: 3}}},
		{Key: "e", Value: bson.A{bson.D{{Key: "f", Value: 4}, {Key: "g", Value: 5}}, 6}}, {Key: "h", Value: 7}, {Key: "ok", Value: 1.0}})
	for names, want := range map[string]string{
		"a":       `{"a":1,"ok":1.0}`,
		"b.d":     `{"b":{"d":3},"ok":1.0}`,
		"e.g b.c": `{"b":{"c":2},"e":[{"g":5}],"ok":1.0}`,
		"b b.c":   `{"b":{"c":2,"d":3},"ok":1.0}`,
		"a.x x.a": `{"ok":1.0}`,
	} {
		if got := Text(fieldsOf(doc, strings.Fields(names))); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}
