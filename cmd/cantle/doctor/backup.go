package doctor

import (
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
)

// coveredMax is the maximum age of the newest moment that can be restored, if the server makes backups by itself. An
// older one is a finding.
const coveredMax = 10 * time.Minute

// Backups reports the state of backups, from the section backup of a server's reply to serverStatus.
func Backups(b bson.Raw, now time.Time) Finding {
	x := Finding{Check: "backup", State: Good}
	policy, _ := b.Get("policy").Doc()
	every, _ := policy.Get("intervalSeconds").AsFloat()
	automatic := every > 0
	seconds, _, covered := b.Get("coveredTo").Timestamp()
	where, _ := b.Get("lastTo").Str()
	age := now.Sub(time.Unix(int64(seconds), 0)).Round(time.Second)
	switch why, failed := b.Get("error").Str(); {
	case failed:
		x.State, x.Found, x.Advice = Fault, "the last backup failed: "+why, "remove the cause; with --backup-to the server retries every minute"
	case !covered && automatic:
		to, _ := policy.Get("to").Str()
		x.State, x.Found = Note, "the first backup is being written to "+to
	case !covered:
		x.State, x.Found, x.Advice = Note, "there are no automatic backups, and none was made since the server started", "start it with --backup-to FOLDER: every moment can then be restored"
	case automatic && age > coveredMax:
		x.State, x.Found, x.Advice = Warning, fmt.Sprintf("the newest moment that can be restored is %s old, from %s", age, where), "look in the server's log for the cause of the delay"
	default:
		x.Found = fmt.Sprintf("moments up to %s ago can be restored, from %s", max(age, 0), where)
	}
	return x
}
