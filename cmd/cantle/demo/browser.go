package demo

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// OpenBrowser opens an address in the browser of the user, and reports whether a program for that was started. On
// systems other than Windows and macOS it does nothing without a display.
func OpenBrowser(ctx context.Context, url string) bool {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	case "darwin":
		name = "open"
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return false
		}
	}
	c := exec.CommandContext(ctx, name, args...)
	if c.Start() != nil {
		return false
	}
	go func() { _ = c.Wait() }() // releases the process
	return true
}
