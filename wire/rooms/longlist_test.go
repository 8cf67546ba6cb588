package rooms

import (
	"fmt"
	"strings"
	"testing"
)

// TestListTooLong checks that a list, here of users, which does not fit into a reply fails with error 10334, and that
// a shorter list is returned.
func TestListTooLong(t *testing.T) {
	c := newWorld(t, nil).dial()
	text := strings.Repeat("x", 16_000)
	for i := range 1100 {
		c.ok(fmt.Sprintf(`{createUser: "u%d", roles: [], customData: {s: %q}, $db: "$external"}`, i, text))
	}
	for command, want := range map[string]int64{
		`{usersInfo: 1, $db: "$external"}`:                          10334,
		`{usersInfo: {forAllDBs: true}}`:                            10334,
		`{usersInfo: 1, showCustomData: false, $db: "$external"}`:   0,
		`{usersInfo: 1, filter: {user: /1$/}, $db: "$external"}`:    0,
		`{usersInfo: "u7", showPrivileges: true, $db: "$external"}`: 0,
	} {
		if got := c.code(command); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}

// TestFiltersAreBounded checks that the index filters of a server hold at most 16 MB, and that removing some makes
// room for others.
func TestFiltersAreBounded(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "c"}`)
	set := func(field string) string {
		return fmt.Sprintf(`{planCacheSetFilter: "c", query: {%s: 1}, sort: {x: 1}, indexes: [%q]}`, field, strings.Repeat("x", 1<<20))
	}
	n := 0
	for n < 40 && c.code(set(fmt.Sprint("a", n))) == 0 {
		n++
	}
	if n < 10 || n > 16 {
		t.Errorf("%d filters of a megabyte are kept", n)
	}
	c.ok(`{planCacheListFilters: "c"}`)
	c.ok(`{planCacheClearFilters: "c"}`)
	c.ok(set("b"))
}
