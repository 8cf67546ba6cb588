package exec

import "os"

// TempFile creates a temporary file in a folder and removes its name, so that nothing is left behind even if the process
// dies. pattern is that of os.CreateTemp. The caller closes the file.
//
// Errors: those of the file system.
func TempFile(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
