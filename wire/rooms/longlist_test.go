package rooms

import (
	"fmt"
	"strings"
	"testing"
)

// TestListTooLong: what lists all that there is ends where a reply does, and says so; what lists less is answered.
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
