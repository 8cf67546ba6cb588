package filescan

import "github.com/cockroachdb/pebble/v2/vfs"

// Disk is the file system of the machine.
var Disk = vfs.Default

// Open reads the files of the store in a folder of the disk, lists its tables and prepares Scan. Before Verify and
// another Prepare, Scan skips damaged data blocks without marking entries as outdated. Errors: errors of the file
// system.
func Open(dir string) (*Folder, error) {
	f, err := ReadFolder(Disk, dir)
	if err != nil {
		return nil, err
	}
	if err := f.ListTables(); err != nil {
		return nil, err
	}
	f.Prepare()
	return f, nil
}
