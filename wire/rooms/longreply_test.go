package rooms

import (
	"fmt"
	"strings"
	"testing"
)

// TestReplyTooLong checks that a command, here an explain, whose reply would exceed the size of a message is answered
// with an error, and that the connection stays open.
func TestReplyTooLong(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a_1"}]}`)
	var values []string
	for i := range 15 {
		values = append(values, fmt.Sprintf(`"%d%s"`, i, strings.Repeat("x", 1<<20)))
	}
	find := `{find: "c", filter: {a: {$in: [` + strings.Join(values, ", ") + `]}}}`
	if got := c.code(`{explain: ` + find + `}`); got != 10334 {
		t.Errorf("an explanation that is too long: %d", got)
	}
	if got := c.code(find); got != 0 {
		t.Errorf("what it explains: %d", got)
	}
}

// TestInsertsCounted checks that serverStatus does not count the documents of an ordered insert that come after the
// failed one.
func TestInsertsCounted(t *testing.T) {
	c := newWorld(t, nil).dial()
	counted := func() int64 { return number(at(c.ok(`{serverStatus: 1}`), "opcounters.insert")) }
	for _, x := range []struct {
		ordered string
		want    int64
	}{{"true", 2}, {"false", 4}} {
		before := counted()
		c.ok(`{insert: "c` + x.ordered + `", documents: [{_id: 1}, {_id: 1}, {_id: 2}, {_id: 3}], ordered: ` + x.ordered + `}`)
		if got := counted() - before; got != x.want {
			t.Errorf("ordered %s: %d inserts counted, want %d", x.ordered, got, x.want)
		}
	}
}
