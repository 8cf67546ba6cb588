package regex

import (
	"strconv"
	"strings"
)

// startVerbs reads the verbs at the beginning of a pattern that change the meaning of the whole of it.
func (p *parser) startVerbs() {
	for strings.HasPrefix(p.in, "(*") {
		end := strings.IndexByte(p.in, ')')
		if end < 0 {
			return
		}
		verb, value, valued := strings.Cut(p.in[2:end], "=")
		switch {
		case valued:
			n, err := strconv.ParseUint(value, 10, 32)
			switch {
			case verb != "LIMIT_MATCH" && verb != "LIMIT_DEPTH" && verb != "LIMIT_HEAP" && verb != "LIMIT_RECURSION":
				return
			case err != nil:
				fail("(*VERB) not recognized or malformed: (*" + p.in[2:end] + ")")
			case verb == "LIMIT_MATCH":
				p.tree.limit = int(n)
			}
		case verb == "UTF8", verb == "UTF", verb == "NO_AUTO_POSSESS", verb == "NO_DOTSTAR_ANCHOR", verb == "NO_JIT":
		case verb == "NO_START_OPT":
			p.tree.noStart = true
		case verb == "UCP":
			p.ucp = true
		case verb == "NOTEMPTY":
			p.tree.notEmpty = 2
		case verb == "NOTEMPTY_ATSTART":
			p.tree.notEmpty = 1
		case verb == "BSR_ANYCRLF":
			p.anyCR = true
		case verb == "BSR_UNICODE":
			p.anyCR = false
		default:
			n, ok := map[string]newline{"LF": newlineLF, "CR": newlineCR, "CRLF": newlineCRLF, "ANYCRLF": newlineAnyCRLF, "ANY": newlineAny, "NUL": newlineNUL}[verb]
			if !ok {
				return
			}
			p.tree.newline = n
		}
		p.in = p.in[end+1:]
	}
}

// backtrackingVerbs are the verbs within a pattern.
var backtrackingVerbs = map[string]verb{
	"FAIL": verbFail, "F": verbFail, "ACCEPT": verbAccept, "COMMIT": verbCommit, "PRUNE": verbPrune, "SKIP": verbSkip, "THEN": verbThen, "MARK": verbMark, "": verbMark,
}

// verb reads an element that begins with (*: a backtracking verb, or a group with a word for its kind.
func (p *parser) verb() *node {
	p.pos++
	i := strings.IndexAny(p.in[p.pos:], ":)")
	if i < 0 {
		fail("missing closing parenthesis")
	}
	word := p.in[p.pos : p.pos+i]
	p.pos += i + 1
	named := p.in[p.pos-1] == ':'
	if named {
		switch word {
		case "pla", "positive_lookahead":
			return p.look(false, false)
		case "nla", "negative_lookahead":
			return p.look(false, true)
		case "plb", "positive_lookbehind":
			return p.look(true, false)
		case "nlb", "negative_lookbehind":
			return p.look(true, true)
		case "atomic":
			return p.atomic()
		case "napla", "naplb", "non_atomic_positive_lookahead", "non_atomic_positive_lookbehind":
			fail("non-atomic look-around (*" + word + ":…) is not supported")
		case "sr", "asr", "script_run", "atomic_script_run":
			fail("a script run (*" + word + ":…) is not supported")
		}
	}
	v, ok := backtrackingVerbs[word]
	if !ok {
		fail("(*VERB) not recognized or malformed: (*" + word + ")")
	}
	n := &node{kind: kindVerb, verb: v}
	if named {
		end := strings.IndexByte(p.in[p.pos:], ')')
		if end < 0 {
			fail("missing closing parenthesis")
		}
		n.mark = p.in[p.pos : p.pos+end]
		p.pos += end + 1
	}
	if v == verbMark && n.mark == "" {
		fail("(*MARK) must have an argument")
	}
	if p.looks > 0 && v != verbFail && v != verbAccept && v != verbMark {
		fail("(*" + word + ") within a look-around is not supported")
	}
	return n
}
