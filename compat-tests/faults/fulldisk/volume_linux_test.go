package fulldisk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// volume is a file system of its own.
type volume struct{ path string }

// newVolume mounts a small file system of so many megabytes: in memory, or ext4 in a file. It skips the test if
// the process may not mount.
func newVolume(tb testing.TB, megabytes int, ext4 bool) *volume {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("only root may mount a file system")
	}
	v := &volume{filepath.Join(tb.TempDir(), "volume")}
	if err := os.Mkdir(v.path, 0o700); err != nil {
		tb.Fatal(err)
	}
	if ext4 {
		file := filepath.Join(tb.TempDir(), "image")
		for _, cmd := range [][]string{{"truncate", "-s", fmt.Sprintf("%dM", megabytes), file}, {"mkfs.ext4", "-q", "-m", "0", file}, {"mount", "-o", "loop", file, v.path}} {
			if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
				tb.Skipf("no file system in a file: %s: %v\n%s", cmd[0], err, out)
			}
		}
	} else if err := syscall.Mount("cantle", v.path, "tmpfs", 0, fmt.Sprintf("size=%dM", megabytes)); err != nil {
		tb.Skip("no file system can be mounted here: ", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(v.path, 0); err != nil {
			_ = syscall.Unmount(v.path, syscall.MNT_DETACH)
			tb.Errorf("the file system is still in use: %v", err)
		}
	})
	return v
}

// data returns the folder of the server.
func (v *volume) data() string { return filepath.Join(v.path, "data") }

// free returns the number of free bytes.
func (v *volume) free() int64 {
	var st syscall.Statfs_t
	if err := syscall.Statfs(v.path, &st); err != nil {
		return 0
	}
	return int64(st.Bavail) * st.Bsize
}

// stranger writes a file of so many bytes to the volume, as another program would, or as many as fit. gone removes
// the file.
func (v *volume) stranger(tb testing.TB, bytes int64) (gone func()) {
	tb.Helper()
	path := filepath.Join(v.path, "stranger")
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	noise := make([]byte, 1<<20)
	for ; bytes > 0; bytes -= int64(len(noise)) {
		if _, err := file.Write(noise); err != nil {
			break
		}
	}
	return func() { _ = os.Remove(path) }
}
