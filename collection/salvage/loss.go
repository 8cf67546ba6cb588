package salvage

import (
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// Loss returns a text for operators: how many documents of damaged files were found in the change log, how much is
// permanently lost, and how many documents were set aside in the folder aside, if any were.
func (r *Report) Loss(aside string) (text string) {
	var lost, found, older int64
	known, of := true, map[string]int64{} // damages of one file share its lost entries
	for _, d := range r.Damages {
		if d.Kind == storage.DamagedManifest {
			continue // the tables were found without it
		}
		known = known && d.Kind == storage.DamagedTable && d.Entries >= 0
		lost += max(d.Entries-of[d.File], 0)
		of[d.File] = max(of[d.File], d.Entries)
	}
	for _, c := range r.Collections {
		found, older = found+c.Found, older+c.Older
	}
	if found > 0 {
		text = documents(found, "was", "were") + " found in the change log though their files are damaged. "
	}
	switch lost -= found; {
	case !known:
		text += "All other data in the damaged parts is lost."
	case lost <= 0:
		text += "No document is lost."
	default:
		text += "At most " + documents(lost, "is", "are") + " lost."
	}
	if older > 0 {
		text += fmt.Sprintf("\n%s written to %s: changes or deletions that came later may be missing, so review before you restore.", documents(older, "was", "were"), aside)
	}
	return text
}

// documents returns a number of documents with the verb that follows it in singular or plural.
func documents(n int64, one, many string) string {
	if n == 1 {
		return "1 document " + one
	}
	return fmt.Sprintf("%d documents %s", n, many)
}
