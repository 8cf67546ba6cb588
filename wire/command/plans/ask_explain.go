package plans

import "github.com/cantledb/cantle/wire/command"

// askExplain: what the explained command needs.
func askExplain(q *command.PrivilegeCheck) {
	if d, ok := q.Value.Doc(); ok {
		q.Nested(d)
	}
}
