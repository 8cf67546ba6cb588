package cli

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
)

// backupsJSON returns the backups of a folder, the moments that can be restored, and findings of verify, for programs.
// covered reports whether any moment can be restored. checked means that the files were read.
func backupsJSON(folder *backup.Folder, checked bool, findings []backup.Finding) (doc bson.Raw, covered bool) {
	backups, spans, found := bson.A{}, bson.A{}, bson.A{}
	for _, line := range folder.Timelines {
		for _, b := range line.Bases {
			backups = append(backups, bson.D{{"timeline", line.ID}, {"number", b.Number}, {"made", b.Ended.UTC().Format(time.RFC3339)},
				{"files", len(b.Files)}, {"bytes", b.Bytes()}, {"newBytes", b.Copied}, {"program", b.Program}})
		}
		for _, s := range line.Covered() {
			spans = append(spans, bson.D{{"timeline", line.ID}, {"from", momentJSON(s.From)}, {"to", momentJSON(s.To)}})
		}
	}
	for _, x := range findings {
		found = append(found, bson.D{{"kind", x.Kind}, {"file", x.Where}, {"what", x.What}, {"harmless", x.Harmless()}})
	}
	out := bson.D{{"backups", backups}, {"restorable", spans}}
	if checked {
		out = append(out, bson.E{"findings", found})
	}
	return out.Doc(), len(spans) > 0
}

// momentJSON returns a moment in the form of a timestamp that --at of cantle restore accepts, and its time.
func momentJSON(ts storage.Timestamp) bson.D {
	return bson.D{{"time", time.Unix(int64(ts.Seconds()), 0).UTC().Format(time.RFC3339)}, {"seconds", int64(ts.Seconds())}, {"increment", int64(ts.Increment())}}
}
