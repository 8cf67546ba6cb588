package keystring

import "bytes"

// Text returns the text of an encoded string or symbol that has been encoded without an order; ok is false if value,
// one whole encoded value, is none. The text aliases value or buf, whose memory Text reuses; it returns buf for the next
// call.
func Text(value []byte, dir Dir, buf []byte) (text, reused []byte, ok bool) {
	if dir == Descending {
		buf = append(buf[:0], value...)
		invert(buf)
		value = buf
	}
	n := len(value) - 2 // the end of a text has two bytes
	if n < 1 || value[0] != tString {
		return nil, buf, false
	}
	text = value[1:n]
	if bytes.IndexByte(text, 0) < 0 {
		return text, buf, true
	}
	if dir == Ascending {
		buf = append(buf[:0], text...)
		text = buf
	}
	return unescape(text), buf, true
}

// unescape replaces each 00 FF of a text by 00, in place.
func unescape(text []byte) []byte {
	n := 0
	for i := 0; i < len(text); i++ {
		text[n] = text[i]
		n++
		if text[i] == 0 {
			i++
		}
	}
	return text[:n]
}
