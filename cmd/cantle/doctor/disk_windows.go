package doctor

import "golang.org/x/sys/windows"

// permissions reports that the mode of a folder does not restrict access to the folder on this system, so that the
// doctor does not check it.
const permissions = false

// diskOf returns the statistics of a folder's volume.
func diskOf(folder string) (disk, error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return disk{}, err
	}
	var d disk
	if err := windows.GetDiskFreeSpaceEx(path, &d.free, &d.total, nil); err != nil {
		return disk{}, err
	}
	if windows.GetDriveType(volumeOf(folder)) == windows.DRIVE_REMOTE {
		d.kind = "a drive of another machine"
	}
	return d, nil
}

// volumeOf returns the root of the volume on which a folder lies, nil if it cannot be determined.
func volumeOf(folder string) *uint16 {
	path, err := windows.UTF16PtrFromString(folder)
	root := make([]uint16, windows.MAX_PATH+1)
	if err != nil || windows.GetVolumePathName(path, &root[0], uint32(len(root))) != nil {
		return nil
	}
	return &root[0]
}
