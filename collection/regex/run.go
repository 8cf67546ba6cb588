package regex

// one matches an instruction that matches one character at a position, and returns the position behind.
func (m *machine) one(in *inst, pos int) (next int, ok bool) {
	var r rune
	var size int
	if in.back {
		if pos == 0 {
			return pos, false
		}
		r, size = m.decodeLast(pos)
		next = pos - size
	} else {
		if pos >= len(m.text) {
			return pos, false
		}
		r, size = m.decode(pos)
		next = pos + size
	}
	switch in.op {
	case opChar:
		ok = r == in.r
	case opFold:
		ok = r == in.r
		for _, f := range in.fold {
			ok = ok || r == f
		}
	case opClass:
		ok = in.class.has(r)
	case opAny:
		ok = true
	case opDot:
		ok = m.lineEnd(min(pos, next)) == 0
	}
	return next, ok
}

// run matches the program at a position. It returns the end of the match.
func (m *machine) run(pos int) (end int, ok bool) {
	pc := 0
	var env *frame
	for {
		if m.steps--; m.steps <= 0 && m.err == nil {
			m.err = ErrSteps
		}
		if m.steps < m.check {
			m.interrupt()
		}
		if m.err != nil {
			return 0, false
		}
		in := &m.code[pc]
		matched := true
		switch in.op {
		case opMatch:
			switch {
			case env.call() != nil:
				pc, env = m.leave(env.call())
				continue
			case m.tree.notEmpty == 2 && pos == m.keep, m.tree.notEmpty == 1 && pos == m.keep && pos == m.from:
				matched = false
			default:
				return pos, true
			}
		case opFail:
			matched = false
		case opChar, opFold, opClass, opAny, opDot:
			pos, matched = m.one(in, pos)
		case opAssert:
			matched = m.holds(in, pos)
		case opClose:
			m.close(in, pos)
			if env != nil && env.kind == frameCall && env.n == in.n && in.kind != kindVerb {
				pc, env = m.leave(env)
				continue
			}
		case opSplit:
			m.push(entry{kind: entryChoice, pc: int32(in.y), pos: pos, env: env})
			pc = in.x
			continue
		case opJump:
			pc = in.x
			continue
		case opRepeat:
			pos, matched = m.repeat(pc, in, pos, env)
		case opKeep, opCluster, opOpen, opReset, opRef, opBack:
			pos, matched = m.place(in, pos)
		case opCond:
			if !m.condition(in, env) {
				pc = in.x
				continue
			}
		default:
			pc, pos, env, matched = m.control(in, pc, pos, env)
			if matched && pc < 0 {
				return pos, true
			}
			if matched {
				continue
			}
		}
		if matched {
			pc++
			continue
		}
		var more bool
		if pc, pos, env, more = m.backtrack(); !more {
			return 0, false
		}
	}
}

// interrupt calls interrupted.
func (m *machine) interrupt() {
	if m.check = m.steps - checkSteps; m.interrupted != nil && m.err == nil {
		m.err = m.interrupted()
	}
}

// place runs an instruction that depends on the position alone, or changes captures.
func (m *machine) place(in *inst, pos int) (next int, ok bool) {
	switch in.op {
	case opKeep:
		m.push(entry{kind: entryKeep, a: m.keep})
		m.keep = pos
	case opCluster:
		return m.cluster(pos)
	case opOpen:
		m.push(entry{kind: entryOpen, pc: int32(in.n), a: m.opens[in.n]})
		m.opens[in.n] = pos
	case opReset:
		for n := in.min; n < in.max; n++ {
			if m.caps[2*n] >= 0 {
				m.setCap(n, -1, -1)
			}
		}
	case opRef:
		return m.reference(in, pos)
	case opBack:
		for range in.n {
			if pos == 0 {
				return pos, false
			}
			_, size := m.decodeLast(pos)
			pos -= size
		}
	}
	return pos, true
}

// close sets the captures of a group at its end.
func (m *machine) close(in *inst, pos int) {
	if in.back {
		m.setCap(in.n, pos, m.opens[in.n])
	} else {
		m.setCap(in.n, m.opens[in.n], pos)
	}
}

// control runs an instruction that enters or leaves a frame. It returns where to go on; pc is -1 at the end of the match.
func (m *machine) control(in *inst, pc, pos int, env *frame) (int, int, *frame, bool) {
	switch in.op {
	case opLoop:
		return pc + 1, pos, &frame{kind: frameLoop, parent: env, pos: -1}, true
	case opRound:
		return m.round(in, pc, pos, env)
	case opAtomic:
		return pc + 1, pos, &frame{kind: frameAtomic, parent: env, height: len(m.stack)}, true
	case opAtomicEnd:
		m.cut(env.height)
		return pc + 1, pos, env.parent, true
	case opLook:
		f := &frame{kind: frameLook, parent: env, pos: pos, height: len(m.stack), pc: pc}
		if in.x != 0 {
			m.push(entry{kind: entryChoice, pc: int32(in.x), pos: pos, env: env})
		}
		return pc + 1, pos, f, true
	case opLookEnd:
		m.cut(env.height)
		return pc + 1, env.pos, env.parent, true
	case opNot:
		f := &frame{kind: frameNot, parent: env, pos: pos, height: len(m.stack), pc: in.x - 1}
		m.push(entry{kind: entryChoice, pc: int32(in.x), pos: pos, env: env})
		return pc + 1, pos, f, true
	case opNotEnd:
		return m.refuse(in, env)
	case opCall:
		return m.enter(in, pc, pos, env)
	case opAltEnter:
		return pc + 1, pos, &frame{kind: frameAlt, parent: env, height: len(m.stack)}, true
	case opAltLast:
		m.push(entry{kind: entryBarrier})
		return pc + 1, pos, env, true
	case opAltLeave:
		return pc + 1, pos, env.parent, true
	case opVerb:
		if in.verb == verbAccept {
			return m.accept(pos, env)
		}
		m.push(entry{kind: entryVerb, pc: int32(pc), pos: pos, env: env})
		return pc + 1, pos, env, true
	}
	return pc, pos, env, false
}

// refuse ends a negative look-around whose pattern matched.
func (m *machine) refuse(in *inst, env *frame) (int, int, *frame, bool) {
	m.drop(env.height)
	if in.x != 0 {
		return in.x, env.pos, env.parent, true
	}
	return 0, 0, nil, false
}

// round begins a round of a repetition, or leaves it.
func (m *machine) round(in *inst, pc, pos int, f *frame) (int, int, *frame, bool) {
	again := &frame{kind: frameLoop, parent: f.parent, pos: pos, n: f.n + 1}
	switch {
	case f.n < in.min:
		return pc + 1, pos, again, true
	case f.pos == pos && m.tree.script && f.n > in.min:
		return 0, 0, nil, false
	case f.pos == pos && !m.tree.script && f.n > 0 && in.max < 0, f.n == in.max:
		return in.x, pos, f.parent, true
	case in.mode == lazy:
		// A later round begins with a frame of the same count at the instruction behind.
		m.push(entry{kind: entryChoice, pc: int32(pc + 1), pos: pos, env: again})
		return in.x, pos, f.parent, true
	}
	m.push(entry{kind: entryChoice, pc: int32(in.x), pos: pos, env: f.parent})
	return pc + 1, pos, again, true
}

// repeat matches a repetition of a single character.
func (m *machine) repeat(pc int, in *inst, pos int, env *frame) (int, bool) {
	count := 0
	for ; count < in.min; count++ {
		next, ok := m.one(in.of, pos)
		if !ok {
			return pos, false
		}
		pos = next
	}
	m.steps -= count
	if in.mode == lazy {
		if in.max != count {
			left := -1
			if in.max > 0 {
				left = in.max - count
			}
			m.push(entry{kind: entryLazy, pc: int32(pc), pos: pos, a: left, env: env})
		}
		return pos, true
	}
	least := pos
	for ; in.max < 0 || count < in.max; count++ {
		next, ok := m.one(in.of, pos)
		if !ok {
			break
		}
		pos = next
	}
	m.steps -= min(count, max(m.steps, 0))
	if m.interrupted != nil && count > checkSteps && m.err == nil {
		m.err = m.interrupted()
	}
	if pos != least && in.mode != possessive {
		left := 0
		if in.of.back {
			left = 1
		}
		m.push(entry{kind: entryGreedy, pc: int32(pc + 1), pos: pos, a: least, b: left, env: env})
	}
	return pos, true
}

// enter calls a group as a subroutine.
func (m *machine) enter(in *inst, pc, pos int, env *frame) (int, int, *frame, bool) {
	depth := 1
	for f := env.call(); f != nil; f = f.parent.call() {
		if depth == 1 {
			depth = f.depth + 1
		}
		if f.n == in.n && f.pos == pos {
			m.err = ErrRecursion
			return 0, 0, nil, false
		}
		if f.pos != pos {
			break // outer calls began elsewhere, or have been checked
		}
		m.steps--
	}
	if depth*(len(m.caps)+len(m.opens)) > savedMax {
		m.err = ErrMemory
		return 0, 0, nil, false
	}
	saved := make([]int, 0, len(m.caps)+len(m.opens))
	saved = append(append(saved, m.caps...), m.opens...)
	m.steps -= len(saved) / 4
	return in.x, pos, &frame{kind: frameCall, parent: env, pos: pos, n: in.n, pc: pc + 1, height: len(m.stack), depth: depth, saved: saved}, true
}

// leave returns from a subroutine call: the captures are those of before.
func (m *machine) leave(f *frame) (pc int, env *frame) {
	for n := 1; n < len(m.caps)/2; n++ {
		if from, to := f.saved[2*n], f.saved[2*n+1]; m.caps[2*n] != from || m.caps[2*n+1] != to {
			m.setCap(n, from, to)
		}
		if open := f.saved[len(m.caps)+n]; m.opens[n] != open {
			m.push(entry{kind: entryOpen, pc: int32(n), a: m.opens[n]})
			m.opens[n] = open
		}
	}
	return f.pc, f.parent
}

// accept ends the match, the innermost call or the innermost look-around at once.
func (m *machine) accept(pos int, env *frame) (int, int, *frame, bool) {
	for f := env; f != nil; f = f.parent {
		switch f.kind {
		case frameCall:
			pc, env := m.leave(f)
			return pc, pos, env, true
		case frameLook:
			m.cut(f.height)
			return m.endOf(f.pc), f.pos, f.parent, true
		case frameNot:
			return m.refuse(&m.code[f.pc], f)
		}
	}
	if m.tree.notEmpty == 2 && pos == m.keep || m.tree.notEmpty == 1 && pos == m.keep && pos == m.from {
		return 0, 0, nil, false
	}
	return -1, pos, nil, true
}

// endOf returns the instruction behind the look-around that begins at pc.
func (m *machine) endOf(pc int) int {
	for depth := 0; ; pc++ {
		switch m.code[pc].op {
		case opLook, opNot:
			depth++
		case opLookEnd, opNotEnd:
			if depth--; depth == 0 {
				return pc + 1
			}
		}
	}
}

// condition reports whether the condition of a conditional group holds.
func (m *machine) condition(in *inst, env *frame) bool {
	switch in.cond {
	case ifGroup:
		return m.caps[2*in.n] >= 0
	case ifCall:
		f := env.call()
		return f != nil && (in.n < 0 || f.n == in.n)
	}
	return in.cond == ifHolds
}

// reference matches the text of a group.
func (m *machine) reference(in *inst, pos int) (int, bool) {
	from, to := m.caps[2*in.n], m.caps[2*in.n+1]
	if from < 0 {
		return pos, m.tree.script
	}
	mode := foldSimple
	if m.tree.script && m.tree.units {
		mode = foldScript
	}
	m.steps -= to - from
	if in.back {
		for at := to; at > from; {
			if pos == 0 {
				return pos, false
			}
			a, size := m.decodeLast(at)
			b, width := m.decodeLast(pos)
			if a != b && !(in.caseless && sameFold(a, b, mode)) {
				return pos, false
			}
			at, pos = at-size, pos-width
		}
		return pos, true
	}
	for at := from; at < to; {
		if pos >= len(m.text) {
			return pos, false
		}
		a, size := m.decode(at)
		b, width := m.decode(pos)
		if a != b && !(in.caseless && sameFold(a, b, mode)) {
			return pos, false
		}
		at, pos = at+size, pos+width
	}
	return pos, true
}

// sameFold reports whether two characters are the same except for case.
func sameFold(a, b rune, mode foldMode) bool {
	for _, f := range otherCases(a, mode) {
		if f == b {
			return true
		}
	}
	return false
}

// holds reports whether an assertion holds at a position.
func (m *machine) holds(in *inst, pos int) bool {
	switch in.kind {
	case kindStart:
		return pos == 0
	case kindEnd:
		return pos == len(m.text)
	case kindEndLine:
		n := 0
		if pos < len(m.text) {
			n = m.lineEnd(pos)
		}
		return pos == len(m.text) || n > 0 && pos+n == len(m.text)
	case kindLineStart:
		return pos == 0 || pos < len(m.text) && m.afterLineEnd(pos)
	case kindScriptLine:
		return pos == 0 || m.afterLineEnd(pos)
	case kindLineEnd:
		return pos == len(m.text) || m.lineEnd(pos) > 0
	case kindFrom:
		return pos == m.from
	}
	before, after := false, false
	if pos > 0 {
		r, _ := m.decodeLast(pos)
		before = in.class.has(r)
	}
	if pos < len(m.text) {
		r, _ := m.decode(pos)
		after = in.class.has(r)
	}
	return (before != after) == (in.kind == kindWord)
}

// lineEnd returns the length of the line end that begins at a position, 0 if there is none.
func (m *machine) lineEnd(pos int) int {
	if pos >= len(m.text) {
		return 0
	}
	b := m.text[pos]
	pair := b == '\r' && pos+1 < len(m.text) && m.text[pos+1] == '\n'
	switch m.tree.newline {
	case newlineLF:
		return length(b == '\n', 1)
	case newlineCR:
		return length(b == '\r', 1)
	case newlineNUL:
		return length(b == 0, 1)
	case newlineCRLF:
		return length(pair, 2)
	}
	if pair && m.tree.newline != newlineScript {
		return 2
	}
	switch r, size := m.decode(pos); {
	case r == '\n' || r == '\r':
		return size
	case m.tree.newline == newlineAnyCRLF:
		return 0
	case r == 0x2028 || r == 0x2029:
		return size
	default:
		return length(m.tree.newline == newlineAny && (r == '\v' || r == '\f' || r == 0x85), size)
	}
}

func length(is bool, n int) int {
	if is {
		return n
	}
	return 0
}

// afterLineEnd reports whether a line end is before a position.
func (m *machine) afterLineEnd(pos int) bool {
	switch m.tree.newline {
	case newlineCRLF:
		return pos >= 2 && m.text[pos-2] == '\r' && m.text[pos-1] == '\n'
	case newlineLF:
		return m.text[pos-1] == '\n'
	}
	_, size := m.decodeLast(pos)
	return m.lineEnd(pos-size) > 0
}
