package regex

// op is the operation of an instruction.
type op uint8

const (
	opMatch op = iota
	opFail
	opChar    // r
	opFold    // r or one of fold
	opClass   // class
	opAny     // any character
	opDot     // any character that begins no line end
	opAssert  // a position of kind; class has the members of words
	opKeep    // \K
	opCluster // \X
	opOpen    // begin of group n
	opClose   // end of group n
	opSplit   // goes on at x, later at y
	opJump    // goes on at x
	opRepeat  // the instruction of, from min to max times
	opLoop    // enters a repetition: goes on at the next instruction
	opRound   // begins a round of a repetition, or leaves to x
	opReset   // forgets the captures of the groups from min to max-1
	opAtomic  // enters a group without a way back
	opAtomicEnd
	opLook    // enters a look-around; goes on at x if it fails, if x is not 0
	opLookEnd // it holds
	opNot     // enters a negative look-around; goes on at x if it fails
	opNotEnd  // it matched: goes on at x, fails if x is 0
	opBack    // goes n characters back
	opRef     // the text of group n
	opCall    // group n as a subroutine, at x
	opCond    // goes on at x unless the condition holds
	opVerb
	opAltEnter // enters alternatives with a (*THEN)
	opAltLast  // begins the last of them
	opAltLeave
)

// inst is an instruction.
type inst struct {
	op       op
	kind     kind
	mode     mode
	cond     condition
	verb     verb
	back     bool // moves to the left
	caseless bool
	r        rune
	n        int
	x, y     int
	min, max int
	fold     []rune
	class    *class
	of       *inst
	mark     string
}

// Program is a compiled pattern. Immutable, safe for concurrent use.
type Program struct {
	tree     *Tree
	code     []inst
	groups   []int      // where groups begin, by number
	first    *[256]bool // the bytes with which a match may begin, nil if any or none
	anchored kind       // kindStart or kindFrom if every match begins there, else kindEmpty
}

// compiler makes a Program.
type compiler struct {
	*Program
	open  []int // groups around the current node, within the nearest look-around
	back  bool  // within a look-behind of ECMAScript
	calls []int // instructions whose group is still unknown
}

// Compile makes the program of a pattern.
func (t *Tree) Compile() *Program {
	c := &compiler{Program: &Program{tree: t, groups: make([]int, t.Groups+1)}}
	for i := range c.groups {
		c.groups[i] = -1
	}
	c.groups[0] = 0
	c.node(t.root)
	c.emit(inst{op: opMatch})
	for _, at := range c.calls {
		c.code[at].x = c.groups[c.code[at].n]
	}
	c.anchored = anchorOf(t.root)
	if !t.noStart {
		c.first = firstBytes(t.root)
	}
	return c.Program
}

// Groups returns the number of capturing groups.
func (p *Program) Groups() int { return p.tree.Groups }

func (c *compiler) emit(i inst) int {
	i.back = c.back
	c.code = append(c.code, i)
	return len(c.code) - 1
}

// here sets the target x of an instruction to the next one.
func (c *compiler) here(at int) { c.code[at].x = len(c.code) }

func (c *compiler) node(n *node) {
	switch n.kind {
	case kindEmpty:
	case kindChar, kindClass, kindAny, kindDot:
		c.emit(c.one(n))
	case kindKeep:
		c.emit(inst{op: opKeep})
	case kindGrapheme:
		c.emit(inst{op: opCluster})
	case kindGroup:
		c.group(n)
	case kindConcat:
		for i := range n.sub {
			if c.back {
				c.node(n.sub[len(n.sub)-1-i])
			} else {
				c.node(n.sub[i])
			}
		}
	case kindAlt:
		c.alternatives(n, nil)
	case kindRepeat:
		c.repeat(n)
	case kindAtomic:
		if sub := n.sub[0]; sub.kind == kindRepeat && sub.mode == greedy && sub.sub[0].single() && sub.max != 0 {
			one := c.one(sub.sub[0])
			c.emit(inst{op: opRepeat, of: &one, min: sub.min, max: sub.max, mode: possessive})
			return
		}
		c.emit(inst{op: opAtomic})
		c.node(n.sub[0])
		c.emit(inst{op: opAtomicEnd})
	case kindLook:
		c.look(n, n.negative, nil)
	case kindRef:
		c.emit(inst{op: opRef, n: n.n, caseless: n.caseless})
	case kindCall:
		c.calls = append(c.calls, c.emit(inst{op: opCall, n: n.n}))
	case kindCond:
		c.conditional(n)
	case kindDefine:
		over := c.emit(inst{op: opJump})
		c.node(n.sub[0])
		c.emit(inst{op: opFail})
		c.here(over)
	case kindVerb:
		c.verb(n)
	default:
		c.emit(inst{op: opAssert, kind: n.kind, class: n.class})
	}
}

// one returns the instruction of a node that matches one character.
func (c *compiler) one(n *node) inst {
	switch n.kind {
	case kindChar:
		if len(n.fold) > 0 {
			return inst{op: opFold, r: n.r, fold: n.fold, back: c.back}
		}
		return inst{op: opChar, r: n.r, back: c.back}
	case kindClass:
		return inst{op: opClass, class: n.class, back: c.back}
	case kindAny:
		return inst{op: opAny, back: c.back}
	}
	return inst{op: opDot, back: c.back}
}

func (c *compiler) group(n *node) {
	at := c.emit(inst{op: opOpen, n: n.n})
	if c.groups[n.n] < 0 {
		c.groups[n.n] = at
	}
	c.open = append(c.open, n.n)
	c.node(n.sub[0])
	c.open = c.open[:len(c.open)-1]
	c.emit(inst{op: opClose, n: n.n})
}

// alternatives compiles alternatives, with what before emits at the beginning of each.
func (c *compiler) alternatives(n *node, before func(*node)) {
	list := alternativesOf(n)
	then := len(list) > 1 && hasThen(list)
	if then {
		c.emit(inst{op: opAltEnter})
	}
	var ends []int
	for i, s := range list {
		split := -1
		switch {
		case i < len(list)-1:
			split = c.emit(inst{op: opSplit, x: len(c.code) + 1})
		case then:
			c.emit(inst{op: opAltLast})
		}
		if before != nil {
			before(s)
		}
		c.node(s)
		if then {
			c.emit(inst{op: opAltLeave})
		}
		if split >= 0 {
			ends = append(ends, c.emit(inst{op: opJump}))
			c.code[split].y = len(c.code)
		}
	}
	for _, e := range ends {
		c.here(e)
	}
}

// hasThen reports whether nodes contain (*THEN) outside of alternatives and look-arounds of their own.
func hasThen(list []*node) bool {
	for _, s := range list {
		switch {
		case s == nil || s.kind == kindAlt || s.kind == kindLook:
		case s.kind == kindVerb && s.verb == verbThen, hasThen(s.sub):
			return true
		}
	}
	return false
}

// repeat compiles a repetition.
func (c *compiler) repeat(n *node) {
	sub := n.sub[0]
	empty := sub.nullable()
	switch {
	case n.max == 0: // a subroutine call may still reach a group in it
		over := c.emit(inst{op: opJump})
		c.node(sub)
		c.emit(inst{op: opFail})
		c.here(over)
	case n.min == 1 && n.max == 1:
		c.node(sub)
	case sub.single():
		one := c.one(sub)
		c.emit(inst{op: opRepeat, of: &one, min: n.min, max: n.max, mode: n.mode})
	case n.min == 0 && n.max == 1 && !(c.tree.script && empty):
		split := c.split(n.mode)
		c.node(sub)
		c.leave(split, n.mode)
	case n.min == 0 && n.max == -1 && !empty:
		split := c.split(n.mode)
		c.reset(n)
		c.node(sub)
		c.emit(inst{op: opJump, x: split})
		c.leave(split, n.mode)
	case n.min == 1 && n.max == -1 && !empty:
		again := len(c.code)
		c.reset(n)
		c.node(sub)
		split := c.split(n.mode)
		c.leave(split, n.mode)
		if n.mode == lazy {
			c.code[split].y = again
		} else {
			c.code[split].x = again
		}
	default:
		c.emit(inst{op: opLoop})
		round := c.emit(inst{op: opRound, min: n.min, max: n.max, mode: n.mode})
		c.reset(n)
		c.node(sub)
		c.emit(inst{op: opJump, x: round})
		c.here(round)
	}
}

// split emits a choice between the next instruction and another place, which leave sets.
func (c *compiler) split(m mode) int {
	at := c.emit(inst{op: opSplit})
	if m == lazy {
		c.code[at].y = at + 1
	} else {
		c.code[at].x = at + 1
	}
	return at
}

// leave sets the other place of a choice to the next instruction.
func (c *compiler) leave(split int, m mode) {
	if m == lazy {
		c.code[split].x = len(c.code)
	} else {
		c.code[split].y = len(c.code)
	}
}

func (c *compiler) reset(n *node) {
	if n.hi > n.lo {
		c.emit(inst{op: opReset, min: n.lo, max: n.hi})
	}
}

// look compiles a look-around. otherwise is the place to go on at if it does not hold; nil to fail.
func (c *compiler) look(n *node, negative bool, otherwise *[]int) {
	open, back := c.open, c.back
	enter := opLook
	if negative {
		enter = opNot
	}
	at := c.emit(inst{op: enter})
	c.open = nil
	switch {
	case c.tree.script:
		c.back = n.behind
		c.node(n.sub[0])
	case n.behind:
		l := lengths{groups: groupsOf(c.tree)}
		c.alternatives(n.sub[0], func(branch *node) {
			l.work = 0
			size, _ := l.of(branch, 0)
			c.emit(inst{op: opBack, n: size})
		})
	default:
		c.node(n.sub[0])
	}
	c.open, c.back = open, back
	if !negative {
		c.emit(inst{op: opLookEnd})
		if otherwise != nil {
			*otherwise = append(*otherwise, at)
		}
		return
	}
	end := c.emit(inst{op: opNotEnd})
	if otherwise != nil {
		*otherwise = append(*otherwise, end)
	}
	c.here(at)
}

// groupsOf returns the first group of each number.
func groupsOf(t *Tree) map[int]*node {
	all := map[int]*node{}
	t.root.walk(func(n *node) bool {
		if n.kind == kindGroup && all[n.n] == nil {
			all[n.n] = n
		}
		return true
	})
	return all
}

func (c *compiler) conditional(n *node) {
	var otherwise []int
	if look := n.sub[0]; look != nil {
		c.look(look, look.negative, &otherwise)
	} else {
		otherwise = []int{c.emit(inst{op: opCond, cond: n.cond, n: n.n})}
	}
	c.node(n.sub[1])
	over := c.emit(inst{op: opJump})
	for _, at := range otherwise {
		c.here(at)
	}
	c.node(n.sub[2])
	c.here(over)
}

func (c *compiler) verb(n *node) {
	switch n.verb {
	case verbFail:
		c.emit(inst{op: opFail})
		return
	case verbAccept:
		for i := len(c.open) - 1; i >= 0; i-- {
			c.emit(inst{op: opClose, n: c.open[i], kind: kindVerb})
		}
	}
	c.emit(inst{op: opVerb, verb: n.verb, mark: n.mark})
}
