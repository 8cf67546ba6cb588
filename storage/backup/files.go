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

// copyStep is how much is copied between two looks at whether to go on.
const copyStep = 1 << 20

// progress is told of bytes that are done; its error ends the work.
type progress func(n int64) error

// sumFile reads a file and returns its size and checksum.
func sumFile(ctx context.Context, path string, told progress) (size int64, sum string, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	h := sha256.New()
	size, err = pump(ctx, h, in, told, nil)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// pump copies step by step, at a pace unless that is nil.
func pump(ctx context.Context, to io.Writer, from io.Reader, told progress, pace *pace) (size int64, err error) {
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
			if err := told(int64(n)); err != nil {
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

// writeWhole writes a small file so that it is on the disk, whole, or not there.
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

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" { // which has no such thing
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// sealPrefix begins the last line of a manifest, which has the checksum of the lines before.
const sealPrefix = "\nsha256 "

// sealed puts its checksum behind a text.
func sealed(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append(append(text, sealPrefix...), hex.EncodeToString(sum[:])+"\n"...)
}

// unsealed takes it away again; ok is false where it does not fit.
func unsealed(data []byte) (text []byte, ok bool) {
	i := bytes.LastIndex(data, []byte(sealPrefix))
	if i < 0 {
		return nil, false
	}
	sum := sha256.Sum256(data[:i])
	return data[:i], string(data[i+len(sealPrefix):]) == hex.EncodeToString(sum[:])+"\n"
}
