package cosmos

import "slices"

// gridFS holds the indexes that drivers create for GridFS. Manual: core/gridfs/#gridfs-indexes.
var gridFS = [...][2]string{{"files_id", "n"}, {"filename", "uploadDate"}}

// GridFSKey returns the first field of an index of GridFS if the sort is by the second, else "". Drivers read files
// by such a sort, for one value of the first field, and so the index answers it although it begins with another
// field.
// Source: "feature-support-70": GridFS works through any driver.
func GridFSKey(fields []string, sort string) string {
	if len(fields) == 2 && fields[1] == sort && slices.Contains(gridFS[:], [2]string(fields)) {
		return fields[0]
	}
	return ""
}
