package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// copyStep is the number of bytes that a backup copies between two checks of its context and of its rate: 1 MiB.
const copyStep = 1 << 20

// progress is a function that is called with the number of bytes or writes just done; if it returns an error, the
// work ends with it.
type progress func(n int64) error

// sumFile reads a whole file of an archive and returns its size and its SHA-256 in hexadecimal.
func sumFile(ctx context.Context, a Archive, name string, advance progress) (size int64, sum string, err error) {
	in, err := a.Open(ctx, name, 0)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	h := sha256.New()
	size, err = pump(ctx, h, in, advance, nil)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// pump copies from to to in steps of 1 MiB, and returns the number of bytes. After each step it calls advance and
// waits for pace; a nil pace has no limit.
func pump(ctx context.Context, to io.Writer, from io.Reader, advance progress, pace *pace) (size int64, err error) {
	buf := make([]byte, copyStep)
	for {
		if err := ctx.Err(); err != nil {
			return size, err
		}
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return size, err
			}
			size += int64(n)
			if err := advance(int64(n)); err != nil {
				return size, err
			}
			if err := pace.wait(ctx, int64(n)); err != nil {
				return size, err
			}
		}
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
	}
}

// writeWhole writes data to a small file at path, syncs it, and only then gives it its name, so that the file is
// complete or absent.
func writeWhole(path string, data []byte) error {
	out, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder syncs a folder, so that files created or renamed in it survive a power cut.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" { // folders cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// sealPrefix is the beginning of the last line of a checksummed text file; the SHA-256 of the lines before it
// comes after it.
const sealPrefix = "\nsha256 "

// withChecksum appends a line with the SHA-256 of a text to it.
func withChecksum(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append(append(text, sealPrefix...), hex.EncodeToString(sum[:])+"\n"...)
}

// cutChecksum removes the line of withChecksum from a text; ok is false if there is none or the checksum does
// not match.
func cutChecksum(data []byte) (text []byte, ok bool) {
	i := bytes.LastIndex(data, []byte(sealPrefix))
	if i < 0 {
		return nil, false
	}
	sum := sha256.Sum256(data[:i])
	return data[:i], string(data[i+len(sealPrefix):]) == hex.EncodeToString(sum[:])+"\n"
}
