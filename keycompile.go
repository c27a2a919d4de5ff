package httplimit

import (
	"fmt"
	"reflect"
	"strconv"
)

// source is a Key that looks at the request itself, unlike those that combine others.
type source interface {
	Key
	// prepare reports faults to c and returns what looks at the requests of one middleware.
	prepare(c *keyCompiler, field string) finder
}

// finder finds an identity in a request. Safe for concurrent use.
type finder interface {
	find(r Request) (identity, error)
}

// keyCompiler turns the Keys of one rule into their nodes.
type keyCompiler struct {
	faults   []*ConfigError
	warnings *addressWarnings
	secret   bool // there is a Secret among the keys
}

func (c *keyCompiler) fault(field, format string, args ...any) {
	c.faults = append(c.faults, &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// node switches over the types themselves and not over a method of Key: a struct that embeds a Key has the method
// too, also where the Key in it is nil.
func (c *keyCompiler) node(field string, key Key, below bool) keyNode {
	switch key := key.(type) {
	case nil:
		c.fault(field, "it is nil, want a Key")
		return keyNode{}
	case secret:
		c.secret = true
		return c.node(field, key.of, below)
	case composed:
		return keyNode{all: c.children(field+".Compose", key, true)}
	case firstOf:
		return c.alternatives(field+".FirstOf", key, below)
	case source:
		if v := reflect.ValueOf(key); v.Kind() == reflect.Pointer && v.IsNil() {
			break // a *KeyFunc has the methods of a KeyFunc, and panics in them
		}
		return keyNode{leaf: key.prepare(c, field), composed: below}
	}
	c.fault(field, "it is a %T, want a Key made by this package, or a KeyFunc", key)
	return keyNode{}
}

func (c *keyCompiler) children(field string, keys []Key, below bool) []keyNode {
	if len(keys) == 0 {
		c.fault(field, "it has no keys, want at least one")
	}
	nodes := make([]keyNode, len(keys))
	for i, key := range keys {
		nodes[i] = c.node(fmt.Sprintf("%s[%d]", field, i), key, below)
	}
	return nodes
}

func (c *keyCompiler) alternatives(field string, keys []Key, below bool) keyNode {
	nodes := c.children(field, keys, below)
	branches := make([]keyBranch, len(nodes))
	for i, node := range nodes {
		branches[i] = keyBranch{mark: markBranch + strconv.Itoa(i+1) + markEnd, keyNode: node}
	}
	return keyNode{first: branches}
}
