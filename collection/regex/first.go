package regex

import (
	"unicode/utf16"
	"unicode/utf8"
)

// anchorOf returns kindStart or kindFrom if every match of a node begins there, else kindEmpty.
func anchorOf(n *node) kind {
	switch n.kind {
	case kindStart, kindFrom:
		return n.kind
	case kindGroup, kindAtomic:
		return anchorOf(n.sub[0])
	case kindConcat:
		return anchorOf(n.sub[0])
	case kindAlt:
		first := anchorOf(n.sub[0])
		for _, s := range n.sub[1:] {
			if anchorOf(s) != first {
				return kindEmpty
			}
		}
		return first
	}
	return kindEmpty
}

// firstBytes returns the bytes with which a match may begin; nil if these are unknown, or if a match may be empty.
func firstBytes(n *node) *[256]bool {
	set := new([256]bool)
	if !addFirst(n, set) || hasVerb(n) && !oneLetter(set) {
		return nil
	}
	return set
}

// hasVerb reports whether a node contains a backtracking verb. PCRE2 skips the tries that cannot succeed, and so the
// verbs in them, only if all matches begin with one character.
func hasVerb(n *node) bool { return !n.walk(func(s *node) bool { return s.kind != kindVerb }) }

// oneLetter reports whether a set holds one byte, or the two cases of one letter.
func oneLetter(set *[256]bool) bool {
	var in []int
	for b, has := range set {
		if has {
			in = append(in, b)
		}
	}
	return len(in) == 1 || len(in) == 2 && in[0]|0x20 == in[1]
}

// addFirst adds the bytes with which a match of a node may begin. It returns false if the match may be empty, or
// if they are unknown.
func addFirst(n *node, set *[256]bool) bool {
	addRune := func(r rune) {
		var b [utf8.UTFMax]byte
		if utf16.IsSurrogate(r) {
			set[0xed] = true
			return
		}
		utf8.EncodeRune(b[:], r)
		set[b[0]] = true
		if r == utf8.RuneError { // also for bytes that are no UTF-8
			addHigh(set)
		}
	}
	switch n.kind {
	case kindChar:
		addRune(n.r)
		for _, f := range n.fold {
			addRune(f)
		}
		return true
	case kindClass:
		for r := range rune(utf8.RuneSelf) {
			if n.class.has(r) {
				set[r] = true
			}
		}
		addHigh(set)
		return true
	case kindGroup, kindAtomic:
		return addFirst(n.sub[0], set)
	case kindRepeat:
		return n.min > 0 && addFirst(n.sub[0], set)
	case kindConcat:
		for _, s := range n.sub {
			if zeroWidth(s) {
				continue
			}
			switch s.kind {
			case kindEmpty, kindWord, kindNotWord, kindLineStart, kindKeep, kindDefine, kindLook:
				continue
			case kindVerb:
				if s.verb == verbAccept {
					return false
				}
				continue
			case kindRepeat:
				if s.min == 0 && hasAccept(s) {
					return false
				}
				if s.min == 0 && addFirst(s.sub[0], set) {
					continue
				}
			}
			return !hasAccept(s) && addFirst(s, set)
		}
	case kindAlt:
		for _, s := range n.sub {
			if !addFirst(s, set) {
				return false
			}
		}
		return true
	}
	return false
}

// zeroWidth reports whether a node with several parts matches the empty text only.
func zeroWidth(n *node) bool {
	switch n.kind {
	case kindGroup, kindAtomic, kindConcat, kindAlt, kindRepeat:
		for _, s := range n.sub {
			if !zeroWidth(s) {
				return false
			}
		}
		return true
	case kindEmpty, kindWord, kindNotWord, kindLineStart, kindKeep, kindLook:
		return true
	}
	return n.kind == kindVerb && n.verb != verbAccept
}

func addHigh(set *[256]bool) {
	for b := utf8.RuneSelf; b < 256; b++ {
		set[b] = true
	}
}

// hasAccept reports whether a node contains (*ACCEPT).
func hasAccept(n *node) bool {
	return !n.walk(func(s *node) bool { return s.kind != kindVerb || s.verb != verbAccept })
}
