package httplimit

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/httplimit/httplimit/internal/keyenc"
)

// ruleKeys makes the Charge.Key of the requests that one rule counts. Safe for concurrent use.
type ruleKeys struct {
	key, noKey compiledKey
	peer       *addressKey // key, if it is the peer's address alone
	nobody     constantKey // of requests without either identity
	ambiguous  constantKey // of requests whose identity is not clear
	warnings   *keyWarnings
}

// compileKey checks the Key and the NoKey of a rule and compiles them. field and noKeyField are their paths in
// the Config. warn may be called from any goroutine, at most once per code.
func compileKey(
	field, noKeyField string, key, noKey Key, keySecret []byte, warn func(code, message string),
) (*ruleKeys, []*ConfigError) {
	if noKey == nil {
		noKey = ClientIP()
	}
	builders := keyenc.NewPool(keySecret)
	c := keyCompiler{warnings: newKeyWarnings(warn)}
	k := &ruleKeys{
		key:       c.compile(field, key, "", builders),
		noKey:     c.compile(noKeyField, noKey, keyenc.MarkNoKey, builders),
		nobody:    newConstantKey(keyenc.MarkNobody, builders),
		ambiguous: newConstantKey(keyenc.MarkAmbiguous, builders),
		warnings:  c.warnings,
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	if k.peer, _ = k.key.single.(*addressKey); k.peer != nil && k.peer.header != "" {
		k.peer = nil // the header decides, not the peer
	}
	return k, nil
}

// foundKey is what the keys of a rule found in a request.
type foundKey struct {
	key   string // the Charge.Key
	kind  keyKind
	skip  bool  // the rule does not apply: the key said [ErrSkip]
	cause error // for the log, never for clients: why it is not the Key's own, where that was another error than ErrNoKey
}

// keyKind says whose key a foundKey is.
type keyKind uint8

const (
	ownKey       keyKind = iota // what Key has found
	otherKey                    // what NoKey has found, or nobody's
	ambiguousKey                // that of all requests whose identity is not clear
)

// message returns what the log says where there is a cause.
func (k keyKind) message() string {
	if k == ambiguousKey {
		return "the identity of a request is ambiguous, all such requests share one bucket"
	}
	return "Key failed, NoKey decides"
}

// find returns the key of a request. Preflights have keys of their own.
func (k *ruleKeys) find(r Request, preflight bool) foundKey {
	if k.peer != nil && !preflight {
		if key, ok := k.peer.plainPeer(r); ok {
			return foundKey{key: key}
		}
	}
	key, err := k.key.find(r, preflight)
	if err == nil {
		return foundKey{key: key}
	}
	if errors.Is(err, ErrSkip) {
		return foundKey{skip: true}
	}
	if ambiguous := asAmbiguous(err); ambiguous != nil {
		return k.shared(ambiguous, preflight)
	}
	return k.findOther(r, preflight, unexpected(err))
}

// shared returns the key of all requests whose identity is not clear.
func (k *ruleKeys) shared(err *ambiguousError, preflight bool) foundKey {
	return foundKey{key: k.ambiguous.of(preflight), kind: ambiguousKey, cause: err.toLog()}
}

// findOther is find for requests without the identity that Key looks for.
func (k *ruleKeys) findOther(r Request, preflight bool, cause error) foundKey {
	key, err := k.noKey.find(r, preflight)
	if err == nil {
		return foundKey{key: key, kind: otherKey, cause: cause}
	}
	if errors.Is(err, ErrSkip) {
		return foundKey{skip: true}
	}
	if ambiguous := asAmbiguous(err); ambiguous != nil {
		return k.shared(ambiguous, preflight)
	}
	return foundKey{key: k.nobody.of(preflight), kind: otherKey, cause: errors.Join(cause, unexpected(err))}
}

func unexpected(err error) error {
	if errors.Is(err, ErrNoKey) {
		return nil
	}
	return err
}

// of returns the Charge.Key, that of preflights or of all other requests, for identities that were found elsewhere:
// before escaping or hashing, in the order of Compose. FirstOf takes its first key, Everyone no part. An address stands
// for its bucket. Identities that are all empty are none: ErrNoKey.
func (k *ruleKeys) of(parts []string, preflight bool) (string, error) {
	if want := k.key.root.parts(); want != len(parts) {
		return "", fmt.Errorf("got %d parts, want %d: one for each identity that its Key looks for", len(parts), want)
	}
	b := k.key.builders.Get()
	defer k.key.builders.Release(b)
	if preflight {
		b.Mark(keyenc.MarkPreflight)
	}
	if _, err := k.key.root.fill(b, parts, false); err != nil {
		return "", err
	}
	if b.Empty(0) {
		return "", fmt.Errorf("the identity is empty: %w", ErrNoKey)
	}
	return b.Key(k.key.secret), nil
}

// constantKey is a key that all requests of a kind share: that of preflights, and that of all others.
type constantKey [2]string

func newConstantKey(mark string, builders *keyenc.Pool) (k constantKey) {
	b := builders.Get()
	defer builders.Release(b)
	b.Mark(mark)
	k[0] = b.Key(false)
	b.Truncate(0)
	b.Mark(keyenc.MarkPreflight)
	b.Mark(mark)
	k[1] = b.Key(false)
	return k
}

func (k *constantKey) of(preflight bool) string {
	if preflight {
		return k[1]
	}
	return k[0]
}

// compiledKey is the compiled Key or NoKey of a rule.
type compiledKey struct {
	root     keyNode
	single   keyLeaf // root, if what it finds may be all of the key; else nil
	mark     string  // before all identities; "" for none
	secret   bool    // always hashed
	builders *keyenc.Pool
}

func (k *compiledKey) find(r Request, preflight bool) (string, error) {
	if k.single == nil || preflight {
		return k.build(r, preflight)
	}
	// Most keys are one identity that stands as it is: they need no Builder and no new string.
	text, isKey, err := k.single.find(r)
	if err != nil || isKey {
		return text, err
	}
	b := k.builders.Get()
	b.Text(text, false)
	text = b.Key(false)
	k.builders.Release(b)
	return text, nil
}

func (k *compiledKey) build(r Request, preflight bool) (string, error) {
	b := k.builders.Get()
	defer k.builders.Release(b)
	if preflight {
		b.Mark(keyenc.MarkPreflight)
	}
	if k.mark != "" {
		b.Mark(k.mark)
	}
	if err := k.root.collect(b, r, false); err != nil {
		return "", err
	}
	if b.Empty(0) {
		return "", ErrNoKey
	}
	return b.Key(k.secret), nil
}

// keyCompiler turns the Keys of one rule into their nodes.
type keyCompiler struct {
	faults   []*ConfigError
	warnings *keyWarnings
	secret   bool // there is a Secret among the keys
}

// extractor is implemented by every kind of Key. compile returns the node of the key and reports its faults to c.
//
// The method is not part of Key, so that a struct that embeds a Key, perhaps a nil one, does not have it.
type extractor interface {
	compile(c *keyCompiler, field string) keyNode
}

func (c *keyCompiler) compile(field string, key Key, mark string, builders *keyenc.Pool) compiledKey {
	c.secret = false
	k := compiledKey{root: c.node(field, key), mark: mark, secret: c.secret, builders: builders}
	if mark == "" && !k.secret && !builders.Keyed() {
		k.single, _ = k.root.(keyLeaf)
	}
	return k
}

func (c *keyCompiler) node(field string, key Key) keyNode {
	if key == nil {
		c.fault(field, "it is nil, want a Key")
		return nil
	}
	k, ok := key.(extractor)
	if v := reflect.ValueOf(key); !ok || v.Kind() == reflect.Pointer && v.IsNil() {
		// A nil *KeyFunc has the methods of a KeyFunc, which panic.
		c.fault(field, "it is a %T, want a Key made by this package, or a KeyFunc", key)
		return nil
	}
	return k.compile(c, field)
}

// nodes compiles the keys of a Compose or FirstOf.
func (c *keyCompiler) nodes(field string, keys []Key) []keyNode {
	if len(keys) == 0 {
		c.fault(field, "it has no keys, want at least one")
	}
	nodes := make([]keyNode, len(keys))
	for i, key := range keys {
		nodes[i] = c.node(fmt.Sprintf("%s[%d]", field, i), key)
	}
	return nodes
}

func (c *keyCompiler) fault(field, format string, args ...any) {
	c.faults = append(c.faults, &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// keyNode is a compiled Key: a leaf, or several nodes combined. composed is true below a Compose. Safe for concurrent
// use.
type keyNode interface {
	// collect adds what is found in r to b. The first error ends it.
	collect(b *keyenc.Builder, r Request, composed bool) error
	// fill is collect for identities found elsewhere: it takes as many parts as it needs and returns the rest.
	fill(b *keyenc.Builder, parts []string, composed bool) (rest []string, err error)
	// parts returns how many parts fill needs.
	parts() int
	// ambiguity returns the error of a header of r that is ambiguous. It calls no function that the team wrote.
	ambiguity(r Request) error
}

// keyLeaf is the node of a Key that looks at the request itself.
type keyLeaf interface {
	keyNode
	// find returns the text of the identity in r. isKey is true if the text is a key as it stands.
	find(r Request) (text string, isKey bool, err error)
}

// textKey is the leaf of a Key whose identities are texts: the function that finds them.
type textKey func(r Request) (string, error)

func (find textKey) find(r Request) (text string, isKey bool, err error) {
	text, err = find(r)
	if err == nil && text == "" {
		err = ErrNoKey
	}
	return text, keyenc.IsKey(text), err
}

func (find textKey) collect(b *keyenc.Builder, r Request, composed bool) error {
	text, err := find(r)
	b.Text(text, composed)
	return err
}

func (textKey) fill(b *keyenc.Builder, parts []string, composed bool) ([]string, error) {
	b.Text(parts[0], composed)
	return parts[1:], nil
}

func (textKey) parts() int { return 1 }

func (textKey) ambiguity(Request) error { return nil }

// allNodes are the nodes of a Compose.
type allNodes []keyNode

func (n allNodes) collect(b *keyenc.Builder, r Request, _ bool) error {
	for i, node := range n {
		if err := node.collect(b, r, true); err != nil {
			if errors.Is(err, ErrSkip) || asAmbiguous(err) != nil {
				return err
			}
			// NoKey is not asked where an identity is ambiguous, in whatever order the parts stand.
			return cmp.Or(n[i+1:].ambiguity(r), err)
		}
	}
	return nil
}

func (n allNodes) ambiguity(r Request) error { return ambiguityOf(n, r) }

func ambiguityOf(nodes []keyNode, r Request) error {
	for _, node := range nodes {
		if err := node.ambiguity(r); err != nil {
			return err
		}
	}
	return nil
}

func (n allNodes) fill(b *keyenc.Builder, parts []string, _ bool) (rest []string, err error) {
	for _, node := range n {
		if parts, err = node.fill(b, parts, true); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

func (n allNodes) parts() int {
	sum := 0
	for _, node := range n {
		sum += node.parts()
	}
	return sum
}

// firstNode is the nodes of a FirstOf, and the mark of each.
type firstNode struct {
	nodes []keyNode
	marks []string
}

func (n firstNode) collect(b *keyenc.Builder, r Request, composed bool) error {
	before := b.Len()
	for i, node := range n.nodes {
		b.Truncate(before)
		b.Mark(n.marks[i])
		err := node.collect(b, r, composed)
		if err == nil && b.Empty(before) {
			err = ErrNoKey
		}
		if err == nil || !errors.Is(err, ErrNoKey) {
			return err
		}
	}
	return ErrNoKey
}

func (n firstNode) ambiguity(r Request) error { return ambiguityOf(n.nodes, r) }

func (n firstNode) fill(b *keyenc.Builder, parts []string, composed bool) ([]string, error) {
	b.Mark(n.marks[0])
	return n.nodes[0].fill(b, parts, composed)
}

func (n firstNode) parts() int { return n.nodes[0].parts() }
