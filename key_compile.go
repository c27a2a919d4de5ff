package httplimit

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/httplimit/httplimit/internal/keyenc"
)

// ruleKeys makes the Charge.Key of the requests that one rule counts. Safe for concurrent use.
type ruleKeys struct {
	key, noKey compiledKey
	peer       *addressKey // key, if it is the peer's address alone
	nobody     string      // the key of requests without either identity
	warnings   *addressWarnings
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
	c := keyCompiler{warnings: newAddressWarnings(warn)}
	k := &ruleKeys{
		key:      c.compile(field, key, "", builders),
		noKey:    c.compile(noKeyField, noKey, keyenc.MarkNoKey, builders),
		warnings: c.warnings,
	}
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	if k.peer, _ = k.key.single.(*addressKey); k.peer != nil && k.peer.header != "" {
		k.peer = nil // the header decides, not the peer
	}
	b := builders.Get()
	b.Mark(keyenc.MarkNobody)
	k.nobody = b.Key(false)
	builders.Release(b)
	return k, nil
}

// find returns the Charge.Key of a request. skip is true if the key said [ErrSkip]. cause is why NoKey decided,
// where that was another error than [ErrNoKey]; it is for the log, never for clients.
func (k *ruleKeys) find(r Request) (key string, skip bool, cause error) {
	if k.peer != nil {
		if key, ok := k.peer.plainPeer(r); ok {
			return key, false, nil
		}
	}
	key, err := k.key.find(r)
	if err == nil {
		return key, false, nil
	}
	if errors.Is(err, ErrSkip) {
		return "", true, nil
	}
	cause = unexpected(err)
	key, err = k.noKey.find(r)
	if err == nil {
		return key, false, cause
	}
	if errors.Is(err, ErrSkip) {
		return "", true, nil
	}
	return k.nobody, false, errors.Join(cause, unexpected(err))
}

func unexpected(err error) error {
	if errors.Is(err, ErrNoKey) {
		return nil
	}
	return err
}

// of returns the Charge.Key for identities that were found elsewhere: before escaping or hashing, in the order of
// Compose. FirstOf takes its first key, Everyone no part. An address stands for its bucket.
func (k *ruleKeys) of(parts []string) (string, error) {
	if want := k.key.root.parts(); want != len(parts) {
		return "", fmt.Errorf("got %d parts, want %d: one for each identity that its Key looks for", len(parts), want)
	}
	b := k.key.builders.Get()
	defer k.key.builders.Release(b)
	if _, err := k.key.root.fill(b, parts, false); err != nil {
		return "", err
	}
	return b.Key(k.key.secret), nil
}

// compiledKey is the compiled Key or NoKey of a rule.
type compiledKey struct {
	root     keyNode
	single   keyLeaf // root, if what it finds may be all of the key; else nil
	mark     string  // before all else; "" for none
	secret   bool    // always hashed
	builders *keyenc.Pool
}

func (k *compiledKey) find(r Request) (string, error) {
	if k.single == nil {
		return k.build(r)
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

func (k *compiledKey) build(r Request) (string, error) {
	b := k.builders.Get()
	defer k.builders.Release(b)
	if k.mark != "" {
		b.Mark(k.mark)
	}
	if err := k.root.collect(b, r, false); err != nil {
		return "", err
	}
	return b.Key(k.secret), nil
}

// keyCompiler turns the Keys of one rule into their nodes.
type keyCompiler struct {
	faults   []*ConfigError
	warnings *addressWarnings
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

// allNodes are the nodes of a Compose.
type allNodes []keyNode

func (n allNodes) collect(b *keyenc.Builder, r Request, _ bool) error {
	for _, node := range n {
		if err := node.collect(b, r, true); err != nil {
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
		if err := node.collect(b, r, composed); err == nil || !errors.Is(err, ErrNoKey) {
			return err
		}
	}
	return ErrNoKey
}

func (n firstNode) fill(b *keyenc.Builder, parts []string, composed bool) ([]string, error) {
	b.Mark(n.marks[0])
	return n.nodes[0].fill(b, parts, composed)
}

func (n firstNode) parts() int { return n.nodes[0].parts() }
