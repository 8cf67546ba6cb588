package keyspace

import (
	"fmt"
	"strconv"
)

// Pretty formats a key for people, in logs and the inspect command. Parts that only a keystring decoder can read
// are printed in hexadecimal.
func Pretty(key []byte) string {
	if kind, name, ok := SplitMeta(key); ok {
		return fmt.Sprintf("m/%c/%s", kind, printable(name))
	}
	if c, h, id, ok := SplitRecord(key); ok {
		return fmt.Sprintf("r/%d/%s/%x", c, h, id)
	}
	if c, ix, p, ok := EntryOwner(key); ok {
		return fmt.Sprintf("i/%d/%d/%d/%x", c, ix, p, key[entryValuesAt:])
	}
	return fmt.Sprintf("?/%x", key)
}

// printable returns a name as quoted text, or in hexadecimal if it has other bytes than printable ASCII.
func printable(b []byte) string {
	for _, c := range b {
		if c < 0x20 || c > 0x7E {
			return fmt.Sprintf("%x", b)
		}
	}
	return strconv.Quote(string(b))
}
