package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// hugePagesFolder holds Linux's settings of huge pages.
const hugePagesFolder = "/sys/kernel/mm/transparent_hugepage"

// hugePages checks the kernel's settings of transparent huge pages, which can delay memory allocations. folder has
// the files of these settings.
// Source: the kernel's admin-guide/mm/transhuge.
func hugePages(folder string) []Finding {
	enabled, defrag := chosen(filepath.Join(folder, "enabled")), chosen(filepath.Join(folder, "defrag"))
	switch {
	case runtime.GOOS != "linux" || enabled == "":
		return nil
	case enabled == "always" && defrag == "always":
		return []Finding{newFinding("huge pages", Warning, "always, with synchronous defragmentation: memory allocations wait for it").
			do("echo madvise > %s/defrag, and set transparent_hugepage_defrag=madvise in the boot loader, to defragment in the background", folder)}
	case enabled == "always":
		return []Finding{newFinding("huge pages", Note, "always: the process takes somewhat more memory than with madvise")}
	}
	return []Finding{newFinding("huge pages", Good, "%s", enabled)}
}

// chosen returns the active word of a kernel setting's file, which is the word in brackets; "" if it cannot be read.
func chosen(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), "[")
	word, _, _ := strings.Cut(after, "]")
	return word
}
