package doctor

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holder returns the program that listens on an address, such as "nginx (process 12)"; "" if it cannot be determined,
// for example because the program belongs to another user.
// Source: proc_net_tcp of the kernel's documentation.
func holder(address string) string {
	_, text, err := net.SplitHostPort(address)
	port, err2 := strconv.ParseUint(text, 10, 16)
	if err != nil || err2 != nil {
		return ""
	}
	sockets := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, _ := os.ReadFile(file)
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line) // sl local remote state … inode
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], ":"+strings.ToUpper(hex.EncodeToString([]byte{byte(port >> 8), byte(port)}))) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	open, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range open {
		if to, err := os.Readlink(link); err == nil && sockets[to] {
			pid := strings.Split(link, "/")[2]
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), pid)
		}
	}
	return ""
}
