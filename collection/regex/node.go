package regex

// kind is the kind of a node of a pattern's tree.
type kind uint8

const (
	kindEmpty      kind = iota
	kindChar            // one character: r, or one of fold
	kindClass           // one character of class
	kindAny             // any character
	kindDot             // any character that begins no line end
	kindStart           // \A, and ^ outside of multi-line mode
	kindEnd             // \z
	kindEndLine         // \Z, and $ outside of multi-line mode: the end, or before a line end at the end
	kindLineStart       // ^ in multi-line mode
	kindLineEnd         // $ in multi-line mode
	kindWord            // \b; class has the members of words
	kindNotWord         // \B
	kindFrom            // \G: where the search begins
	kindKeep            // \K
	kindGrapheme        // \X
	kindGroup           // capturing group n
	kindConcat          // sub, one after the other
	kindAlt             // one of sub
	kindRepeat          // sub[0] from min to max times
	kindAtomic          // sub[0], without a way back into it
	kindLook            // look-around; behind, negative
	kindRef             // the text of group n
	kindCall            // group n as a subroutine; 0 for the whole pattern
	kindCond            // sub[1] if the condition holds, else sub[2]
	kindDefine          // (?(DEFINE)…): only for calls
	kindVerb            // a backtracking verb
	kindScriptLine      // ^ in multi-line mode of ECMAScript, which also holds after a line end at the end
)

// condition is the kind of condition of a conditional group: a look-around in sub[0], or one of these.
type condition uint8

const (
	ifLook condition = iota
	ifGroup
	ifCall    // within any call; of group n if n is not -1
	ifHolds   // always
	ifHoldsNo // never
)

// mode is the mode of a repetition.
type mode uint8

const (
	greedy mode = iota
	lazy
	possessive
)

// node is an element of a pattern. Immutable once the pattern is parsed.
type node struct {
	kind             kind
	r                rune
	fold             []rune // other cases of r, which match too
	class            *class
	sub              []*node
	n                int // number of the group
	min, max         int // max is -1 for no limit
	mode             mode
	behind, negative bool
	caseless         bool // of a reference
	cond             condition
	verb             verb
	mark             string // of a verb
	// lo and hi are the first group within a repetition of ECMAScript and the one after the last, whose captures each
	// round resets.
	lo, hi int
}

// verb is a backtracking verb.
type verb uint8

const (
	verbFail verb = iota
	verbAccept
	verbCommit
	verbPrune
	verbSkip
	verbThen
	verbMark
)

// Newline is a choice of line ends.
type newline uint8

const (
	newlineLF newline = iota
	newlineCR
	newlineCRLF
	newlineAnyCRLF
	newlineAny
	newlineNUL
	newlineScript // of ECMAScript: LF, CR, U+2028, U+2029
)

// Tree is a parsed pattern. Immutable, safe for concurrent use.
type Tree struct {
	// Groups is the number of capturing groups.
	Groups int
	// Names are the names of groups in the order of their numbers.
	Names []GroupName

	root    *node
	newline newline
	noStart bool // (*NO_START_OPT): no search for a first character
	limit   int  // (*LIMIT_MATCH=n), -1 if there is none
	// notEmpty forbids an empty match: 1 where the search begins, 2 everywhere.
	notEmpty int
	lineChar bool // a character of the pattern is CR or LF
	script   bool // of ECMAScript
	units    bool // texts are sequences of UTF-16 code units
}

// GroupName is a named group.
type GroupName struct {
	Name   string
	Number int
}

// walk calls f for a node and all nodes below, until f returns false.
func (n *node) walk(f func(*node) bool) bool {
	if n == nil {
		return true
	}
	if !f(n) {
		return false
	}
	for _, s := range n.sub {
		if !s.walk(f) {
			return false
		}
	}
	return true
}

// single reports whether the node matches exactly one character.
func (n *node) single() bool {
	switch n.kind {
	case kindChar, kindClass, kindAny, kindDot:
		return true
	}
	return false
}

// nullable reports whether the node may match the empty text. It returns true where that is not certain.
func (n *node) nullable() bool {
	switch n.kind {
	case kindChar, kindClass, kindAny, kindDot, kindGrapheme:
		return false
	case kindGroup, kindAtomic:
		return n.sub[0].nullable()
	case kindRepeat:
		return n.min == 0 || n.sub[0].nullable()
	case kindConcat:
		for _, s := range n.sub {
			if !s.nullable() {
				return false
			}
		}
		return true
	case kindAlt:
		for _, s := range n.sub {
			if s.nullable() {
				return true
			}
		}
		return false
	}
	return true
}
