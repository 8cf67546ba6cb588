package doctor

import "golang.org/x/sys/unix"

// permissions reports that the mode of a folder restricts access to the folder on this system, so that the doctor
// checks it.
const permissions = true

// kinds names the file systems that need a finding.
var kinds = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9p", unix.CEPH_SUPER_MAGIC: "CephFS", unix.AFS_SUPER_MAGIC: "AFS",
}

// diskOf returns the statistics of a folder's file system.
func diskOf(folder string) (disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return disk{}, err
	}
	block := uint64(s.Bsize)
	d := disk{total: s.Blocks * block, free: s.Bavail * block, files: s.Files, unused: s.Ffree, kind: kinds[int64(s.Type)]}
	if int64(s.Type) == unix.TMPFS_MAGIC || int64(s.Type) == unix.RAMFS_MAGIC {
		d.kind, d.volatile = "tmpfs", true
	}
	return d, nil
}
